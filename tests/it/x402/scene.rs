//! A gateway whose Polygon is a node of the test, with USDC where every client expects it, a
//! merchant who sells, and payers: keys, and contracts with a key behind them.
//!
//! The token is Circle's own code ([`usdc`](support::node::usdc)), except where a test has it lie.

use std::{sync::Arc, time::Duration};

use gateway::{
    asset::Network,
    x402::{
        Word,
        authorization::{Authorization, spelt},
        eip712::Domain,
    },
};
use k256::ecdsa::SigningKey;
use serde_json::{Value, json};
use support::{
    node::{
        anvil::{Anvil, Call, address_word, call_data, word},
        usdc::place_usdc,
    },
    server::{
        broker::eventually,
        stack::{Merchant, Stack, with_configured_stack},
    },
};

/// The network's own: clients know its USDC.
pub const CHAIN_ID: u64 = 137;
pub const CONFIRMATIONS: u64 = 2;
pub const USDC: &str = "0x3c499c542cef5e3811e1192ce70d8cc03d5c3359";
const SUPPLY: &str = "ffffffffffffffff";
/// A cent, in base units.
pub const CENT: u128 = 10_000;

pub struct Scene {
    pub stack: Arc<Stack>,
    pub anvil: Arc<Anvil>,
    pub merchant: Merchant,
    /// The wallet that pays the gas.
    pub gas: String,
}

/// A payer with a key of his own.
pub struct Payer {
    key: SigningKey,
    pub address: String,
}

impl Payer {
    /// Payer number `n`: a key that no other part of the tests has.
    pub fn new(n: u8) -> Self {
        let key = SigningKey::from_slice(&[n; 32]).unwrap();
        let public = k256::PublicKey::from(key.verifying_key());
        let address = gateway::asset::address::evm::address(&public).to_lowercase();
        Self { key, address }
    }

    /// Signs an authorization as a wallet does.
    pub fn sign(&self, domain: &Domain, authorization: &Authorization) -> String {
        let digest = domain.digest(authorization);
        let (signature, recovery) = self.key.sign_prehash_recoverable(&digest);
        let mut bytes = signature.to_bytes().to_vec();
        bytes.push(27 + u8::from(recovery.is_y_odd()));
        format!("0x{}", hex::encode(bytes))
    }
}

#[derive(Clone, Copy)]
pub enum Lie {
    No,
    MovesNothing,
    LogsNothing,
}

pub fn domain() -> Domain {
    let token = gateway::payout::transfer::address_bytes(USDC).unwrap();
    Domain { name: "USD Coin".into(), version: "2".into(), chain_id: CHAIN_ID, token }
}

pub async fn node() -> Arc<Anvil> {
    let anvil = Anvil::start(CHAIN_ID).await.unwrap();
    place_usdc(&anvil, USDC, SUPPLY).await.unwrap();
    Arc::new(anvil)
}

/// A node with a token of ours in the place of USDC, which can be told to lie.
async fn lying_node() -> Arc<Anvil> {
    let anvil = Anvil::start(CHAIN_ID).await.unwrap();
    let token = anvil.deploy("Authorized").await.unwrap();
    anvil.place_token(&token, USDC, SUPPLY).await.unwrap();
    Arc::new(anvil)
}

/// Settings of a gateway that follows Polygon alone, on that node.
pub fn settings(url: &str) -> String {
    let mut toml = format!(
        "[x402]\nenabled = true\nsettle_wait_seconds = 8\nminimum_usd_default = \"0.001\"\n\
         gas_transaction_usd_max = 1000\ngas_hour_usd_max = 10000\ngas_day_usd_max = 10000\n\
         [chains.polygon]\nsource = \"node\"\nrpc_url = {url:?}\nconfirmations = {CONFIRMATIONS}\npoll_ms = 50\n"
    );
    for network in Network::ALL.map(Network::name).into_iter().filter(|name| *name != "polygon") {
        toml.push_str(&format!("[chains.{network}]\nsource = \"off\"\n"));
    }
    toml
}

pub async fn with_scene<F: Future<Output = ()>>(test: impl FnOnce(Scene) -> F) {
    with_scene_set(&[], test).await;
}

/// The same with other values of some [`settings`]: what stands there, and what takes its place.
pub async fn with_scene_set<F: Future<Output = ()>>(
    changes: &[(&str, &str)],
    test: impl FnOnce(Scene) -> F,
) {
    let anvil = node().await;
    let mut toml = settings(anvil.url());
    for (before, after) in changes {
        assert!(toml.contains(before), "{before}");
        toml = toml.replace(before, after);
    }
    on_node(anvil, &toml, test).await;
}

/// The same with a token that can be told to lie ([`Scene::lie`]).
pub async fn with_lying_scene<F: Future<Output = ()>>(test: impl FnOnce(Scene) -> F) {
    let anvil = lying_node().await;
    let toml = settings(anvil.url());
    on_node(anvil, &toml, test).await;
}

async fn on_node<F: Future<Output = ()>>(
    anvil: Arc<Anvil>,
    toml: &str,
    test: impl FnOnce(Scene) -> F,
) {
    with_configured_stack(toml, |stack| async move {
        stack.start_all();
        stack.lift_rate_limits().await;
        let merchant = stack.merchant().await;
        let gas = stack.gateway.x402_gas_address().unwrap().to_lowercase();
        anvil.set_coins(&gas, 10_u128.pow(18)).await.unwrap();
        // A test that uses one field of the scene captures that field alone: without this, the node
        // would end before it.
        let _node = anvil.clone();
        let scene = Scene { stack, anvil, merchant, gas };
        scene.until_watched().await;
        test(scene).await;
    })
    .await;
}

impl Scene {
    async fn until_watched(&self) {
        eventually("the watcher's first look", async || {
            let looked = "select count(*) from chain_cursor where watched_through is not null";
            self.number(looked).await.checked_sub(1)
        })
        .await;
    }

    /// One whole number out of the database, at most 128 bits.
    pub async fn number(&self, query: &str) -> u128 {
        let mut connection = self.stack.database.connect().await;
        let text: Option<String> =
            sqlx::query_scalar(sqlx::AssertSqlSafe(format!("select ({query})::text")))
                .fetch_one(&mut connection)
                .await
                .unwrap();
        text.map_or(0, |text| text.parse().unwrap())
    }

    /// A resource for a cent.
    pub async fn resource(&self) -> Value {
        let body = json!({
            "url": "https://api.example/weather", "description": "The weather of tomorrow",
            "price_amount": "0.01", "networks": ["polygon"], "listed": true,
        });
        let created = self.merchant.client.post("/v1/x402/resources", &body).await;
        assert_eq!(created.status, 201, "{}", created.body);
        created.json()
    }

    /// Clients spend a dollar at most by themselves; invoices of so little are below the minimum.
    pub async fn allow_small_invoices(&self) {
        self.stack
            .sql("insert into currency_setting (token_id, min_usd) values ('usdcmatic@polygon', 0.01)")
            .await;
        // The market is kept for a second.
        eventually("the minimum is known", async || {
            let asked = self.stack.anybody().get("/v1/min-amount?currency_to=usdcmatic").await;
            let market = self.stack.gateway.market().await.unwrap();
            let offer = market.offer("usdcmatic@polygon")?;
            (asked.status == 200 && offer.min_usd < rust_decimal::Decimal::ONE).then_some(())
        })
        .await;
    }

    /// A payer who owns so many base units.
    pub async fn payer(&self, n: u8, units: u128) -> Payer {
        let payer = Payer::new(n);
        self.give(&payer.address, units).await;
        payer
    }

    pub async fn give(&self, address: &str, units: u128) {
        let words = [address_word(address), word(&format!("{units:x}"))];
        self.call_token(&call_data("transfer(address,uint256)", &words)).await;
    }

    /// A call of the token by its owner, in a block of its own.
    pub async fn call_token(&self, data: &str) {
        let call = Call { to: Some(USDC), value: "0x0".into(), data: data.into() };
        let hash = self.anvil.send(self.anvil.deployer(), &call).await.unwrap();
        self.anvil.mine().await.unwrap();
        let receipt = self.anvil.receipt(&hash).await.unwrap();
        assert_eq!(receipt["status"], "0x1");
    }

    /// What the token of a lying scene does: all that it is asked for; nothing, with success; or
    /// all, without a log of it.
    pub async fn lie(&self, how: Lie) {
        let how = word(match how {
            Lie::No => "0",
            Lie::MovesNothing => "1",
            Lie::LogsNothing => "2",
        });
        self.call_token(&call_data("lie(uint8)", &[how])).await;
    }

    pub async fn tokens(&self, address: &str) -> u128 {
        self.anvil.balance_of(USDC, address).await.unwrap()
    }

    /// The time of the newest block: authorizations are compared with it and with the database's.
    pub async fn now(&self) -> u64 {
        u64::try_from(self.number("select extract(epoch from now())::bigint").await).unwrap()
    }

    /// The request of a client of version 2 for the first of `accepts`.
    pub async fn request(&self, payer: &Payer, accepts: &Value, nonce: u128) -> Value {
        let authorization = self.authorization(payer, accepts, nonce).await;
        body(accepts, &authorization, &payer.sign(&domain(), &authorization))
    }

    pub async fn authorization(
        &self,
        payer: &Payer,
        accepts: &Value,
        nonce: u128,
    ) -> Authorization {
        let bytes = |text: &str| gateway::payout::transfer::address_bytes(text).unwrap();
        Authorization {
            from: bytes(&payer.address),
            to: bytes(accepts["payTo"].as_str().unwrap()),
            value: Word::parse(accepts["amount"].as_str().unwrap()).unwrap(),
            valid_after: 0_u64.into(),
            valid_before: (self.now().await + 3_000).into(),
            nonce: nonce.into(),
        }
    }

    pub async fn verify(&self, request: &Value) -> Value {
        let answer = self.merchant.client.post("/v1/x402/verify", request).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    /// Settles while blocks come.
    pub async fn settle(&self, request: &Value) -> Value {
        let asked = self.merchant.client.post("/v1/x402/settle", request);
        let answer = self.while_mining(asked).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    /// Settles all at once. Blocks come at the pace of one miner: each moves the chain's clock on.
    pub async fn settle_all(&self, requests: &[Value]) -> Vec<Value> {
        let asked = requests.iter().map(|one| self.merchant.client.post("/v1/x402/settle", one));
        let answers = self.while_mining(futures_util::future::join_all(asked)).await;
        answers.iter().map(|answer| answer.json()).collect()
    }

    /// Hands a payment in and leaves it: nobody waits for the answer, and no block comes.
    pub async fn hand_in(&self, merchant: &Merchant, request: &Value) {
        let known = self.number("select count(*) from x402_settlement").await;
        let asked = merchant.client.post("/v1/x402/settle", request);
        let stored = eventually("the payment is stored", async || {
            let count = self.number("select count(*) from x402_settlement").await;
            (count > known).then_some(())
        });
        tokio::select! {
            answer = asked => panic!("{}", answer.body),
            () = stored => {}
        }
    }

    /// Waits, without a block, until the query counts so many.
    pub async fn until_without_a_block(&self, what: &str, query: &str, count: u128) {
        eventually(what, async || (self.number(query).await == count).then_some(())).await;
    }

    /// Mines a block now and then until `work` is done.
    pub async fn while_mining<T>(&self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                answer = &mut work => return answer,
                () = tokio::time::sleep(Duration::from_millis(150)) => {
                    self.anvil.mine().await.unwrap();
                }
            }
        }
    }

    /// Mines until the query counts so many.
    pub async fn until(&self, what: &str, query: &str, count: u128) {
        eventually(what, async || {
            self.anvil.mine().await.unwrap();
            (self.number(query).await == count).then_some(())
        })
        .await;
    }

    /// The merchant's part of the books in USDC.
    pub async fn booked(&self) -> u128 {
        let account = format!("merchant:{}", self.merchant.new.id);
        let query = format!(
            "select coalesce(sum(case when credit = '{account}' then amount else -amount end), 0) from ledger_entry \
             where '{account}' in (credit, debit) and asset = 'usdcmatic@polygon'"
        );
        self.number(&query).await
    }
}

/// The facilitator's request about one payment, in version 2.
pub fn body(accepts: &Value, authorization: &Authorization, signature: &str) -> Value {
    let Authorization { from, to, value, valid_after, valid_before, nonce } = authorization;
    let digits = |word: &Word| word.to_u128().unwrap().to_string();
    json!({
        "x402Version": 2,
        "paymentPayload": {
            "x402Version": 2,
            "accepted": accepts,
            "payload": {
                "signature": signature,
                "authorization": {
                    "from": spelt(from), "to": spelt(to), "value": digits(value), "validAfter": digits(valid_after),
                    "validBefore": digits(valid_before), "nonce": format!("0x{}", hex::encode(nonce.bytes())),
                },
            },
        },
        "paymentRequirements": accepts,
    })
}
