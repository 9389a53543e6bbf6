//! Payments of programs: verified per second, beside the bare recovery of their signatures, and the
//! time to settle one beside the time between two blocks.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use gateway::{
    asset::{Network, address::evm},
    payout::transfer::address_bytes,
    x402::{
        authorization::{Authorization, spelt},
        eip712::{Domain, KeySignature},
    },
};
use k256::ecdsa::SigningKey;
use rand::RngExt;
use serde_json::{Value, json};
use support::{
    node::anvil::{Anvil, Call, address_word, call_data, word},
    server::installation::Installation,
};
use tokio::sync::Mutex;

use crate::{
    endpoint::{Caller, free, post},
    report::{Goal, Report, Rounds, percentile},
    world::{World, per_second, with_world},
};

const VERIFY: &str = "x402: POST /v1/x402/verify, 64 connections";
const NEW: &str = "x402: the same, each payment new to the node";
const SETTLE: &str = "x402: settled, p50 at a block a second";
const CONNECTIONS: usize = 64;
/// Requests of one round.
const REQUESTS: usize = 6_000;
/// Payments that are asked about again and again, as while an answer of the chain is kept.
const PAYMENTS: usize = 64;
const SETTLED: usize = 20;
/// Milliseconds between two blocks.
const BLOCK: u64 = 1_000;
const CHAIN_ID: u64 = 137;
const USDC: &str = "0x3c499c542cef5e3811e1192ce70d8cc03d5c3359";
const SUPPLY: &str = "ffffffffffffffff";
const CENT: u128 = 10_000;
const LIMIT: Duration = Duration::from_secs(60);

pub async fn run(report: &mut Report) {
    if report.wants(VERIFY) || report.wants(NEW) {
        verified(report).await;
    }
    if report.wants(SETTLE) {
        settled(report).await;
    }
}

async fn verified(report: &mut Report) {
    let (mut again, mut new) = (Rounds::default(), Rounds::default());
    let count = report.rounds;
    let anvil = node().await;
    let settings = settings(anvil.url());
    with_world(&borrowed(&settings), |world| async move {
        let api = world.installation.start_api().await;
        api.ready().await;
        let shop = Shop::open(&world, &anvil).await;
        for round in 0..=count {
            let nonce = |number: usize| (round * REQUESTS + number) as u128;
            let signed: Vec<_> = (0..REQUESTS).map(|number| shop.sign(nonce(number))).collect();
            let requests: Vec<_> = signed.iter().map(|one| shop.verify(one)).collect();
            let each = call(&world, &requests, REQUESTS).await;
            let few = call(&world, &requests[..PAYMENTS], REQUESTS).await;
            let bare = recover(signed).await;
            if round > 0 {
                again.add(few, bare);
                new.add_alone(each);
            }
        }
        let limit = Some("recovery of the same signatures by a bare loop on as many threads");
        report.value(VERIFY, "/s", limit, Goal::AtLeast(2_000.0), again);
        report.figure(NEW, "/s", new);
    })
    .await;
}

async fn settled(report: &mut Report) {
    let mut rounds = Rounds::default();
    let count = report.rounds;
    let anvil = node().await;
    let settings = settings(anvil.url());
    with_world(&borrowed(&settings), |world| async move {
        let api = world.installation.start_api().await;
        api.ready().await;
        let role = world.installation.start_workers(&["x402-settlement"]).await;
        role.ready_within(LIMIT).await;
        let shop = Shop::open(&world, &anvil).await;
        anvil.rpc("evm_setIntervalMining", json!([BLOCK / 1_000])).await.unwrap();
        let mut caller = Caller::open(world.installation.api).await;
        for round in 0..count {
            world.refresh_rates().await;
            let mut took = Vec::new();
            for number in 0..SETTLED {
                // At any moment between two blocks: the answer before came with one.
                let pause = rand::rng().random_range(0..BLOCK);
                tokio::time::sleep(Duration::from_millis(pause)).await;
                let request = shop.settle(&shop.sign((round * SETTLED + number) as u128));
                let started = Instant::now();
                assert_eq!(caller.send(&request).await, 200);
                took.push(started.elapsed().as_secs_f64() * 1000.0);
            }
            rounds.add(percentile(&mut took, 0.5), BLOCK as f64);
        }
        let done = world.until(
            "select count(*) from x402_settlement where answered_hash is null",
            0,
            LIMIT,
        );
        done.await;
        let limit = Some("the time between two blocks");
        report.value(SETTLE, "ms", limit, Goal::AtMost(1_200.0), rounds);
    })
    .await;
}

/// A node with USDC where every client expects it.
async fn node() -> Anvil {
    let anvil = Anvil::start(CHAIN_ID).await.unwrap();
    let token = anvil.deploy("Authorized").await.unwrap();
    anvil.place_token(&token, USDC, SUPPLY).await.unwrap();
    anvil
}

/// Settings of programs that follow Polygon alone, on that node.
fn settings(url: &str) -> Vec<(String, String)> {
    let own = [
        ("GATEWAY_X402__ENABLED", "true"),
        ("GATEWAY_X402__REQUESTS_PER_SECOND", "1000000"),
        ("GATEWAY_X402__GAS_HOUR_USD_MAX", "1000000"),
        ("GATEWAY_X402__GAS_DAY_USD_MAX", "1000000"),
        ("GATEWAY_CHAINS__POLYGON__SOURCE", "node"),
        ("GATEWAY_CHAINS__POLYGON__RPC_URL", url),
    ];
    let others = Network::ALL.into_iter().filter(|network| *network != Network::Polygon);
    let off = others.map(|network| {
        let name = network.name().to_uppercase();
        (format!("GATEWAY_CHAINS__{name}__SOURCE"), "off".to_owned())
    });
    own.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().chain(off).collect()
}

fn borrowed(settings: &[(String, String)]) -> Vec<(&str, &str)> {
    settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// A payer with tokens, and what a merchant's resource asks of him.
struct Shop {
    api_key: String,
    accepts: Value,
    key: SigningKey,
    payer: [u8; 20],
    domain: Domain,
}

/// An authorization with its signature.
struct Signed(Authorization, Vec<u8>);

impl Shop {
    async fn open(world: &World, anvil: &Anvil) -> Self {
        let merchant = world.merchants(1).await.remove(0);
        let api_key = merchant.api_key.reveal().to_owned();
        let gas = world.gateway.x402_gas_address().unwrap();
        anvil.set_coins(&gas, 10_u128.pow(21)).await.unwrap();
        let key = SigningKey::from_slice(&[7; 32]).unwrap();
        let payer = evm::address(&k256::PublicKey::from(key.verifying_key())).to_lowercase();
        let words = [address_word(&payer), word("ffffffffffff")];
        let data = call_data("transfer(address,uint256)", &words);
        let call = Call { to: Some(USDC), value: "0x0".into(), data };
        anvil.send(anvil.deployer(), &call).await.unwrap();
        anvil.mine().await.unwrap();
        let accepts = resource(&world.installation, &api_key).await;
        let token = address_bytes(USDC).unwrap();
        let domain =
            Domain { name: "USD Coin".into(), version: "2".into(), chain_id: CHAIN_ID, token };
        Self { api_key, accepts, key, payer: address_bytes(&payer).unwrap(), domain }
    }

    /// A cent, by an authorization that ends in 2096.
    fn sign(&self, nonce: u128) -> Signed {
        let authorization = Authorization {
            from: self.payer,
            to: address_bytes(self.accepts["payTo"].as_str().unwrap()).unwrap(),
            value: CENT.into(),
            valid_after: 0_u64.into(),
            valid_before: 4_000_000_000_u64.into(),
            nonce: nonce.into(),
        };
        let digest = self.domain.digest(&authorization);
        let (signature, recovery) = self.key.sign_prehash_recoverable(&digest);
        let mut bytes = signature.to_bytes().to_vec();
        bytes.push(27 + u8::from(recovery.is_y_odd()));
        Signed(authorization, bytes)
    }

    fn verify(&self, signed: &Signed) -> Vec<u8> {
        self.request("/v1/x402/verify", signed)
    }

    fn settle(&self, signed: &Signed) -> Vec<u8> {
        self.request("/v1/x402/settle", signed)
    }

    fn request(&self, path: &str, Signed(authorization, signature): &Signed) -> Vec<u8> {
        let Authorization { from, to, nonce, .. } = authorization;
        let body = json!({
            "x402Version": 2,
            "paymentPayload": {
                "x402Version": 2,
                "accepted": self.accepts,
                "payload": {
                    "signature": format!("0x{}", hex::encode(signature)),
                    "authorization": {
                        "from": spelt(from), "to": spelt(to), "value": CENT.to_string(), "validAfter": "0",
                        "validBefore": "4000000000", "nonce": format!("0x{}", hex::encode(nonce.bytes())),
                    },
                },
            },
            "paymentRequirements": self.accepts,
        });
        post(path, &[("x-api-key", &self.api_key)], &body.to_string())
    }
}

/// What a resource for a cent asks for.
async fn resource(installation: &Installation, api_key: &str) -> Value {
    let fields =
        json!({ "url": "https://api.example/a", "price_amount": "0.01", "networks": ["polygon"] });
    let created = installation.client(api_key).post("/v1/x402/resources", &fields).await;
    assert_eq!(created.status, 201, "{}", created.body);
    created.json()["accepts"][0].clone()
}

/// Sends `count` requests, `requests` over and over; returns the number of answers per second.
async fn call(world: &World, requests: &[Vec<u8>], count: usize) -> f64 {
    let mut callers = Vec::new();
    for _ in 0..CONNECTIONS {
        callers.push(Mutex::new(Caller::open(world.installation.api).await));
    }
    let (requests, callers) = (Arc::new(requests.to_vec()), Arc::new(callers));
    per_second(count, CONNECTIONS, move |number| {
        let (requests, callers) = (requests.clone(), callers.clone());
        async move {
            let mut caller = free(&callers, number).await;
            assert_eq!(caller.send(&requests[number % requests.len()]).await, 200);
        }
    })
    .await
}

/// The bare work of a verification: whose key signed.
async fn recover(signed: Vec<Signed>) -> f64 {
    let domain = Domain {
        name: "USD Coin".into(),
        version: "2".into(),
        chain_id: CHAIN_ID,
        token: address_bytes(USDC).unwrap(),
    };
    let (signed, domain) = (Arc::new(signed), Arc::new(domain));
    per_second(signed.len(), CONNECTIONS, move |number| {
        let (signed, domain) = (signed.clone(), domain.clone());
        async move {
            let Signed(authorization, bytes) = &signed[number];
            let signature = KeySignature::read(bytes).unwrap();
            let signer = domain.signer(authorization, &signature);
            assert_eq!(signer, Some(authorization.from));
        }
    })
    .await
}
