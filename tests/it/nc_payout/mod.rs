//! Non-custodial payouts on a real EVM node, signed by third-party code: anvil's own wallet.

mod forged;
mod journey;
mod killed;
mod refused;
mod sandbox;
mod utxo;
mod witness;

use std::{sync::Arc, time::Duration};

use gateway::asset::Network;
use gateway_workers::Role;
use serde_json::{Value, json};
use sha3::{Digest, Keccak256};
use support::{
    client::Answer,
    node::anvil::{Anvil, address_word, word},
    server::{
        broker::eventually,
        stack::{Merchant, Stack, with_configured_stack},
    },
    shop::payouts::evm_address,
};

const PATH: &str = "/v1/nc-payout";
const CHAIN_ID: u64 = 313_373;
const CONFIRMATIONS: u64 = 2;
/// The contract of USDT in the catalogue.
const USDT: &str = "0xc2132d05d31c914a87c6611c10748aeb04b58e8f";
/// PUSH1 0, PUSH1 0, REVERT.
const REVERTS: &str = "0x60006000fd";
/// A tenth of a coin, in wei.
const TENTH: u128 = 10_u128.pow(17);

/// A gateway whose Polygon is a node of this test, and a merchant with an account there.
struct Scene {
    stack: Arc<Stack>,
    anvil: Arc<Anvil>,
    merchant: Merchant,
    /// Owns coins and all tokens.
    from: String,
}

async fn node() -> Arc<Anvil> {
    let anvil = Anvil::start(CHAIN_ID).await.unwrap();
    let token = anvil.deploy("Token").await.unwrap();
    let code = anvil.rpc("eth_getCode", json!([token, "latest"])).await.unwrap();
    anvil.rpc("anvil_setCode", json!([USDT, code])).await.unwrap();
    let supply = format!("0x{}", word("ffffffffffff"));
    let slot = token_slot(anvil.deployer());
    anvil.rpc("anvil_setStorageAt", json!([USDT, slot, supply])).await.unwrap();
    Arc::new(anvil)
}

/// Solidity keeps an entry of the mapping in slot 0 at the hash of its key and the slot.
fn token_slot(owner: &str) -> String {
    let key = hex::decode(format!("{}{}", address_word(owner), word("0"))).unwrap();
    format!("0x{}", hex::encode(Keccak256::digest(key)))
}

fn settings(url: &str) -> String {
    let mut toml = format!(
        "[chains.polygon]\nsource = \"node\"\nrpc_url = {url:?}\nchain_id = {CHAIN_ID}\n\
         confirmations = {CONFIRMATIONS}\npoll_ms = 50\n"
    );
    for network in Network::ALL.map(Network::name).into_iter().filter(|name| *name != "polygon") {
        toml.push_str(&format!("[chains.{network}]\nsource = \"off\"\n"));
    }
    toml
}

async fn with_node<F: Future<Output = ()>>(test: impl FnOnce(Scene) -> F) {
    let anvil = node().await;
    let toml = settings(anvil.url());
    with_scene(anvil, &toml, test).await;
}

/// Runs `test` over that node, with `toml` as the gateway's settings.
async fn with_scene<F: Future<Output = ()>>(
    anvil: Arc<Anvil>,
    toml: &str,
    test: impl FnOnce(Scene) -> F,
) {
    with_configured_stack(toml, |stack| async move {
        stack.start(&[Role::ChainWatcher]);
        stack.lift_rate_limits().await;
        let merchant = stack.merchant().await;
        let from = anvil.deployer().to_owned();
        test(Scene { stack, anvil, merchant, from }).await;
    })
    .await;
}

impl Scene {
    /// A payout of the network's coin, a tenth of one to each of `recipients`.
    fn coins(&self, recipients: &[String]) -> Value {
        let output = |address: &String| json!({ "address": address, "amount": "0.1" });
        let outputs: Vec<_> = recipients.iter().map(output).collect();
        json!({
            "network": "polygon", "currency": "pol", "fromAddress": self.from, "outputs": outputs,
        })
    }

    async fn create(&self, body: &Value) -> Value {
        let created = self.merchant.client.post(PATH, body).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let payout = created.json()["data"].clone();
        assert_eq!(payout["state"], "awaiting_signature");
        payout
    }

    async fn post(&self, payout: &Value, operation: &str, body: &Value) -> Answer {
        let path = format!("{PATH}/{}/{operation}", payout["id"].as_str().unwrap());
        self.merchant.client.post(&path, body).await
    }

    async fn submit(&self, payout: &Value, signed: &[String]) -> Answer {
        self.post(payout, "submit", &json!({ "signed": signed })).await
    }

    /// The payout as its merchant reads it.
    async fn read(&self, payout: &Value) -> Value {
        let path = format!("{PATH}/{}", payout["id"].as_str().unwrap());
        self.merchant.client.get(&path).await.json()["data"].clone()
    }

    /// Mines until the payout is in `state`.
    async fn becomes(&self, payout: &Value, state: &str) -> Value {
        for _ in 0..200 {
            let read = self.read(payout).await;
            if read["state"] == state {
                return read;
            }
            self.anvil.mine().await.unwrap();
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
        panic!("it is not {state} after 200 blocks: {}", self.read(payout).await);
    }

    /// Waits until the watcher has read the chain as it is.
    async fn is_read(&self) {
        let head = i64::try_from(self.anvil.height().await.unwrap()).unwrap();
        let mut connection = self.stack.database.connect().await;
        let read = "select count(*) from chain_cursor where network = 'polygon' and height >= $1";
        eventually("the watcher has read the chain", async || {
            let count = sqlx::query_scalar::<_, i64>(read).bind(head);
            (count.fetch_one(&mut connection).await.unwrap() > 0).then_some(())
        })
        .await;
    }

    async fn balance(&self, address: &str) -> u128 {
        number(&self.anvil.rpc("eth_getBalance", json!([address, "latest"])).await.unwrap())
    }

    async fn tokens(&self, address: &str) -> u128 {
        let params = json!([USDT, token_slot(address), "latest"]);
        number(&self.anvil.rpc("eth_getStorageAt", params).await.unwrap())
    }
}

/// Has a node's wallet sign the built transactions; the fields are passed unchanged.
async fn sign(wallet: &Anvil, payout: &Value) -> Vec<String> {
    let mut signed = Vec::new();
    for entry in payout["unsigned"]["payload"].as_array().unwrap() {
        signed.push(sign_fields(wallet, &entry["transaction"]).await);
    }
    signed
}

async fn sign_fields(wallet: &Anvil, fields: &Value) -> String {
    let raw = wallet.rpc("eth_signTransaction", json!([fields])).await.unwrap();
    raw.as_str().unwrap().to_owned()
}

fn number(value: &Value) -> u128 {
    let digits = value.as_str().unwrap().trim_start_matches("0x").trim_start_matches('0');
    if digits.is_empty() { 0 } else { u128::from_str_radix(digits, 16).unwrap() }
}

fn refused(answer: &Answer, status: u16, code: &str) -> Value {
    let json = answer.json();
    assert_eq!((answer.status, &json["ok"]), (status, &json!(false)), "{}", answer.body);
    assert_eq!(json["error"]["code"], code, "{}", answer.body);
    assert!(json["error"]["message"].as_str().is_some_and(|text| !text.is_empty()));
    json["error"]["details"].clone()
}

fn recipients(numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.map(evm_address).collect()
}
