//! Non-custodial payouts on real nodes of bitcoin and litecoin, signed by the nodes' own wallets.
//! No dogecoin node is available, so litecoin's replaces it: with P2PKH addresses the two behave
//! alike.

mod forged;
mod journey;
mod killed;
mod refused;

use std::{sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use bitcoin::Psbt;
use gateway::asset::{Catalogue, Network};
use gateway_workers::Role;
use serde_json::{Value, json};
use support::{
    client::Answer,
    node::regtest::Regtest,
    server::stack::{Merchant, Stack, with_configured_stack},
};

use super::PATH;
use crate::payout::utxo::{
    chain::{address, paid_since, script},
    scene::{kind_of, settings},
};

/// The merchant's own wallet, in the node.
const WALLET: &str = "merchant";
const WITNESS: &str = "bech32";
const LEGACY: &str = "legacy";
/// Value of each of the merchant's coins.
const COIN: u64 = 6_000_000;
/// Above the dust limit of every network.
const AMOUNT: u64 = 1_000_000;

/// A gateway over one node, and a merchant with a wallet there.
struct Scene {
    stack: Arc<Stack>,
    node: Arc<Regtest>,
    network: Network,
    merchant: Merchant,
    /// The merchant's address as the node writes it, and as the gateway's network does.
    own: String,
    from: String,
    began_at: u64,
}

/// A node whose wallet has an address of this kind.
async fn node(network: Network, kind: &str) -> (Arc<Regtest>, String) {
    let node = Arc::new(Regtest::start(kind_of(network)).await.unwrap());
    node.rpc("createwallet", json!([WALLET])).await.unwrap();
    let own = node.wallet_rpc(WALLET, "getnewaddress", json!(["", kind])).await.unwrap();
    (node, own.as_str().unwrap().to_owned())
}

/// An address of the node as `network` spells it.
async fn spelt(network: Network, node: &Regtest, own: &str) -> String {
    address(network, &hex::encode(node.script_of(own).await.unwrap()))
}

async fn with_wallet<F: Future<Output = ()>>(
    network: Network,
    kind: &str,
    test: impl FnOnce(Arc<Scene>) -> F,
) {
    let (node, own) = node(network, kind).await;
    let from = spelt(network, &node, &own).await;
    let mut toml = settings(network, &node, &node.genesis().await.unwrap());
    if network == Network::Dogecoin {
        toml = toml.replace("fee_rate = 10\n", "fee_rate = 1000\n");
    }
    with_configured_stack(&toml, |stack| async move {
        stack.start(&[Role::ChainWatcher]);
        stack.lift_rate_limits().await;
        let merchant = stack.merchant().await;
        let began_at = node.height().await.unwrap();
        test(Arc::new(Scene { stack, node, network, merchant, own, from, began_at })).await;
    })
    .await;
}

/// `count` confirmed coins at `own`, as inputs of a request.
async fn coins(node: &Regtest, own: &str, count: usize) -> Vec<Value> {
    let mut inputs = Vec::new();
    for _ in 0..count {
        inputs.push(unconfirmed_coin(node, own).await);
    }
    node.mine(1).await.unwrap();
    inputs
}

async fn unconfirmed_coin(node: &Regtest, own: &str) -> Value {
    let (txid, _) = node.pay(&[(own.to_owned(), COIN)]).await.unwrap();
    // Its one recipient is its first output.
    json!({ "txid": txid, "vout": 0 })
}

/// Has the merchant's wallet sign a PSBT.
async fn sign(node: &Regtest, psbt: &str) -> String {
    let signed = node.wallet_rpc(WALLET, "walletprocesspsbt", json!([psbt])).await.unwrap();
    assert_eq!(signed["complete"], true, "{signed}");
    signed["psbt"].as_str().unwrap().to_owned()
}

/// The PSBT after `change`.
fn changed(psbt: &str, change: impl FnOnce(&mut Psbt)) -> String {
    let mut psbt = Psbt::deserialize(&BASE64_STANDARD.decode(psbt).unwrap()).unwrap();
    change(&mut psbt);
    BASE64_STANDARD.encode(psbt.serialize())
}

/// The transaction of a signed PSBT, in hex.
async fn finished(node: &Regtest, psbt: &str) -> String {
    let finished = node.rpc("finalizepsbt", json!([psbt])).await.unwrap();
    finished["hex"].as_str().unwrap().to_owned()
}

fn outputs(network: Network, numbers: std::ops::Range<u32>) -> Vec<Value> {
    let output = |number: u32| {
        let amount = AMOUNT + u64::from(number);
        json!({ "address": address(network, &script(network, number)), "amountRaw": amount.to_string() })
    };
    numbers.map(output).collect()
}

fn body(network: Network, from: &str, inputs: &[Value], numbers: std::ops::Range<u32>) -> Value {
    json!({
        "network": network.name(), "currency": Catalogue::get().native(network).code,
        "fromAddress": from, "inputs": inputs, "outputs": outputs(network, numbers),
    })
}

impl Scene {
    async fn coins(&self, count: usize) -> Vec<Value> {
        coins(&self.node, &self.own, count).await
    }

    fn body(&self, inputs: &[Value], numbers: std::ops::Range<u32>) -> Value {
        body(self.network, &self.from, inputs, numbers)
    }

    async fn create(&self, body: &Value) -> Value {
        let created = self.merchant.client.post(PATH, body).await;
        assert_eq!(created.status, 201, "{}", created.body);
        created.json()["data"].clone()
    }

    async fn sign(&self, payout: &Value) -> String {
        assert_eq!(payout["unsigned"]["kind"], "psbt");
        sign(&self.node, payout["unsigned"]["payload"].as_str().unwrap()).await
    }

    async fn post(&self, payout: &Value, operation: &str, body: &Value) -> Answer {
        let path = format!("{PATH}/{}/{operation}", payout["id"].as_str().unwrap());
        self.merchant.client.post(&path, body).await
    }

    async fn submit(&self, payout: &Value, signed: &str) -> Answer {
        self.post(payout, "submit", &json!({ "signed": signed })).await
    }

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
            self.node.mine(1).await.unwrap();
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
        panic!("it is not {state} after 200 blocks: {}", self.read(payout).await);
    }

    /// Checks that every recipient was paid once and exactly.
    async fn are_paid(&self, numbers: std::ops::Range<u32>) {
        let paid = paid_since(self.node.url(), self.began_at).await;
        for number in numbers {
            let found = paid.get(&script(self.network, number)).copied();
            assert_eq!(found, Some((1, u128::from(AMOUNT) + u128::from(number))), "{number}");
        }
    }

    async fn is_unpaid(&self, number: u32) {
        let paid = paid_since(self.node.url(), self.began_at).await;
        assert_eq!(paid.get(&script(self.network, number)), None);
    }

    /// Makes every transaction look as if it had been broadcast an hour ago.
    async fn wait_long(&self) {
        let age = "update nc_payout_transaction set sent_at = now() - interval '1 hour'";
        self.stack.sql(age).await;
    }
}

fn units(value: &Value) -> u64 {
    value.as_str().unwrap().parse().unwrap()
}
