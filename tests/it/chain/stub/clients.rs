//! Each stub is read by a third-party client and by the adapter; both must see the same.

use std::collections::BTreeSet;

use gateway::chain::{ChainSource, Transfer, TransferAsset};
use serde_json::Value;
use support::node::chain_clients::read;

use super::{
    driver::{Flavour, StubDriver, digits},
    near::Near,
    thorchain::Thorchain,
    tron::Tron,
};
use crate::chain::conformance::{Coin, Output};

/// Native and token payments, one with several outputs, one that fails, over a few blocks.
async fn busy<F: Flavour>() -> StubDriver<F> {
    let chain = StubDriver::<F>::start().await;
    let output = |units| Output::new(&F::fresh_address(), units);
    for (coin, outputs) in [
        (Coin::Native, vec![output(1_234_567)]),
        (Coin::Token, vec![output(25_000_000)]),
        (Coin::Native, vec![output(5), output(6)]),
        (Coin::LookAlike, vec![output(9), output(10)]),
    ] {
        chain.wait(chain.flavour.pay(coin, &outputs).0);
        chain.mine_now();
        chain.wait(chain.flavour.pay(coin, &outputs).0);
    }
    chain.wait(chain.flavour.fail(Coin::Native).0);
    chain.wait(chain.flavour.fail(Coin::Token).0);
    chain.mine_now();
    chain.mine_now();
    chain
}

/// A payment in the terms of both sides: height, receiver, amount, coin.
type Paid = (u64, String, String, String);

fn paid(height: u64, transfer: &Transfer) -> Paid {
    let coin = match &transfer.asset {
        TransferAsset::Native => "native".to_owned(),
        TransferAsset::Contract(contract) => contract.clone(),
    };
    (height, transfer.to.clone(), digits(&transfer.amount), coin)
}

/// The adapter's view, after checking that its headers are those of `blocks`.
async fn adapters_view<F: Flavour>(
    chain: &StubDriver<F>,
    hash: &str,
    blocks: &Value,
) -> BTreeSet<Paid> {
    let mut view = BTreeSet::new();
    let head = chain.source.head().await.unwrap();
    for block in blocks.as_array().unwrap() {
        let height = block["height"].as_u64().unwrap();
        let own = chain.source.block(height).await.unwrap().unwrap();
        assert_eq!(own.header.height, height);
        assert_eq!(block[hash], own.header.hash, "{height}");
        assert!(height == F::FIRST_HEIGHT || block["parent"] == own.header.parent_hash, "{height}");
        view.extend(own.transfers.iter().map(|transfer| paid(height, transfer)));
    }
    assert_eq!(blocks.as_array().unwrap().last().unwrap()["height"], head.height);
    view
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn cosmjs_reads_the_stub_of_thorchain_as_the_adapter_does() {
    let chain = busy::<Thorchain>().await;
    let seen = read("thorchain", &[chain.node.url()]).await.unwrap();
    assert_eq!(seen["network"], "thorchain-1");
    let mut theirs = BTreeSet::new();
    for block in list(&seen["blocks"]) {
        assert_eq!(block["chain"], "thorchain-1");
        let succeeded = list(&block["transactions"]).iter().filter(|tx| tx["code"] == 0);
        for transfer in succeeded.flat_map(|tx| list(&tx["transfers"])) {
            let coins = text(&transfer["amount"]);
            let split = coins.find(|c: char| !c.is_ascii_digit()).unwrap();
            let (amount, denom) = coins.split_at(split);
            let coin = if denom == "rune" { "native" } else { denom };
            let height = block["height"].as_u64().unwrap();
            let to = text(&transfer["recipient"]);
            theirs.insert((height, to, amount.to_owned(), coin.to_owned()));
        }
    }
    assert!(theirs.len() > 12, "{theirs:?}");
    assert_eq!(adapters_view(&chain, "hash", &seen["blocks"]).await, theirs);
}

#[tokio::test]
async fn the_schema_of_nearcore_reads_the_stub_of_near_as_the_adapter_does() {
    let chain = busy::<Near>().await;
    let head = chain.source.head().await.unwrap();
    let (first, last) = (Near::FIRST_HEIGHT.to_string(), head.height.to_string());
    let seen = read("near", &[chain.node.url(), &first, &last]).await.unwrap();
    let mut theirs = BTreeSet::new();
    for block in list(&seen["blocks"]) {
        let height = block["height"].as_u64().unwrap();
        for receipt in list(&block["receipts"]).iter().filter(|r| r["succeeded"] == true) {
            for deposit in list(&receipt["deposits"]).iter().filter_map(Value::as_str) {
                let native = "native".to_owned();
                theirs.insert((height, text(&receipt["to"]), deposit.to_owned(), native));
            }
            for log in list(&receipt["logs"]) {
                let event: Value = serde_json::from_str(&text(log)["EVENT_JSON:".len()..]).unwrap();
                let data = &event["data"][0];
                let (to, amount) = (text(&data["new_owner_id"]), text(&data["amount"]));
                theirs.insert((height, to, amount, text(&receipt["to"])));
            }
        }
    }
    assert!(theirs.len() >= 12, "{theirs:?}");
    assert_eq!(adapters_view(&chain, "hash", &seen["blocks"]).await, theirs);
}

#[tokio::test]
async fn tronweb_reads_the_stub_of_tron_as_the_adapter_does() {
    let chain = busy::<Tron>().await;
    let seen = read("tron", &[chain.node.url()]).await.unwrap();
    let mut theirs = BTreeSet::new();
    for block in list(&seen["blocks"]) {
        let height = block["height"].as_u64().unwrap();
        for tx in list(&block["transactions"]) {
            assert_eq!(tx["isTrue"], true, "the id is not the hash of what it stands for: {tx}");
            assert_eq!(tx["height"], height);
            if tx["result"] != "SUCCESS" {
                continue;
            }
            if tx["kind"] == "TransferContract" {
                let amount = tx["amount"].to_string();
                theirs.insert((height, text(&tx["to"]), amount, "native".to_owned()));
            }
            for token in list(&tx["tokens"]) {
                let (to, amount) = (text(&token["to"]), text(&token["amount"]));
                theirs.insert((height, to, amount, text(&token["contract"])));
            }
            for internal in list(&tx["internals"]) {
                assert_eq!(internal["note"], "call");
                let amount = internal["amount"].to_string();
                theirs.insert((height, text(&internal["to"]), amount, "native".to_owned()));
            }
        }
    }
    assert!(theirs.len() >= 12, "{theirs:?}");
    assert_eq!(adapters_view(&chain, "id", &seen["blocks"]).await, theirs);
}
