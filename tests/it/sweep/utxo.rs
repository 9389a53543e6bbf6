//! Outputs of bitcoin, litecoin and dogecoin, on real nodes. No dogecoin node is available, so
//! litecoin's replaces it: with P2PKH addresses the two behave alike.

use gateway::asset::{Catalogue, Network};
use serde_json::{Value, json};

use super::scene::{Scene, in_state, on_regtest};

/// Less than a prepared coin of the node.
const DOLLARS: u32 = 900;

/// Base units that arrived at the treasury in blocks.
async fn arrived(scene: &Scene, hash: &str) -> u128 {
    let height = scene.regtest().height().await.unwrap();
    for at in (0..=height).rev() {
        let block = scene.regtest().hash_at(at).await.unwrap();
        let block = scene.regtest().rpc("getblock", json!([block, 2])).await.unwrap();
        let found = block["tx"].as_array().unwrap().iter().find(|tx| tx["txid"] == hash);
        if let Some(found) = found {
            let value = found["vout"][0]["value"].to_string();
            assert_eq!(found["vout"].as_array().unwrap().len(), 1, "{found}");
            let coins: rust_decimal::Decimal = value.parse().unwrap();
            let units = coins * rust_decimal::Decimal::from(100_000_000);
            return units.normalize().to_string().parse().unwrap();
        }
    }
    panic!("{hash} is in no block");
}

async fn collects(network: Network) {
    on_regtest(network, |mut scene| async move {
        let coin = Catalogue::get().native(network);
        let mut paid = 0;
        for _ in 0..3 {
            paid += scene.paid(DOLLARS, coin.code).await.1;
        }
        scene.until_settled(3).await;
        let status = scene.collect().await;
        let confirmed = in_state(&status, "confirmed");
        assert_eq!(confirmed.len(), 1, "many outputs go in one transaction: {status}");
        let got = arrived(&scene, confirmed[0]["tx_hash"].as_str().unwrap()).await;
        let asset = coin.token_id();
        let signed = |units: u128| i128::try_from(units).unwrap();
        let booked = scene.booked(&format!("treasury_custody:{network}"), &asset).await;
        assert_eq!(booked, -signed(got));
        assert_eq!(scene.booked("treasury", &asset).await, signed(got) - signed(paid));
        assert_eq!(scene.booked(&format!("custody:{network}"), &asset).await, 0);
        scene.is_sound().await;
        let (again, _) = scene.plan().await;
        assert_eq!(again["plan_id"], Value::Null, "{again}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_on_bitcoin_are_collected_in_one_transaction() {
    collects(Network::Bitcoin).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_on_litecoin_are_collected_in_one_transaction() {
    collects(Network::Litecoin).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_on_dogecoin_are_collected_in_one_transaction() {
    collects(Network::Dogecoin).await;
}

/// A plan that lies about an amount, so that the rest would be a fee: dogecoin's signatures cover
/// no amount, and only the transaction beside the input proves it.
#[tokio::test(flavor = "multi_thread")]
async fn a_lie_about_an_amount_is_not_signed() {
    on_regtest(Network::Dogecoin, |mut scene| async move {
        scene.paid(DOLLARS, "doge").await;
        let (_, plan) = scene.plan().await;
        let text = super::scene::read(&plan);
        let mut lie: Value = serde_json::from_str(&text).unwrap();
        let transaction = &mut lie["transactions"][0];
        let amount: u128 = transaction["amount"].as_str().unwrap().parse().unwrap();
        let input = &mut transaction["from"]["outputs"][0]["amount"];
        let held: u128 = input.as_str().unwrap().parse().unwrap();
        *input = (held - amount / 2).to_string().into();
        transaction["amount"] = (amount - amount / 2).to_string().into();
        let file = scene.file("lie");
        std::fs::write(&file, lie.to_string()).unwrap();
        let refused = scene.signed_by(&scene.cold, &file, &scene.file("signed")).await;
        refused.expect_failure("did not make that output");
    })
    .await;
}

/// A transaction whose coins were spent by somebody else with the words can never be mined.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_the_node_no_longer_finds_is_sent_again() {
    on_regtest(Network::Bitcoin, |mut scene| async move {
        scene.paid(DOLLARS, "btc").await;
        let (planned, plan) = scene.plan().await;
        let signed = scene.sign(&plan).await;
        let id = planned["plan_id"].as_str().unwrap();
        scene.ctl.run(&["sweep", "send", &signed, "--once"]).await.expect_ok();
        let status = scene.ctl.json(&["sweep", "status", id]).await;
        let hash = status["transactions"][0]["tx_hash"].as_str().unwrap().to_owned();
        let waiting = scene.regtest().rpc("getmempoolentry", json!([hash])).await;
        assert!(waiting.is_ok(), "{waiting:?}");
        scene.mine(1).await;
        scene.regtest().roll_back(1).await.unwrap();
        let status = scene.until_ended(id).await;
        assert_eq!(in_state(&status, "confirmed").len(), 1, "{status}");
        assert_eq!(status["transactions"][0]["tx_hash"], json!(hash));
        scene.is_sound().await;
    })
    .await;
}
