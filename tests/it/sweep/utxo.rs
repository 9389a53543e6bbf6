//! Outputs of bitcoin, litecoin and dogecoin, on real nodes. No dogecoin node is available, so
//! litecoin's replaces it: with P2PKH addresses the two behave alike.

use gateway::asset::{Catalogue, Network};
use serde_json::{Value, json};

use super::scene::{Scene, in_state, of_another_seed, on_regtest};

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

/// A person collects them with a wallet; the rest goes on without him, and without their taking
/// its room in the plan.
#[tokio::test(flavor = "multi_thread")]
async fn outputs_that_cannot_be_signed_or_proved_are_left_out_by_name() {
    on_regtest(Network::Bitcoin, |mut scene| async move {
        let [foreign, unproved, fine] = [
            scene.paid(DOLLARS, "btc").await.0,
            scene.paid(DOLLARS, "btc").await.0,
            scene.paid(DOLLARS / 2, "btc").await.0,
        ];
        scene.until_settled(3).await;
        let mut named = Vec::new();
        for address in [&foreign, &unproved, &fine] {
            let key = "select deposit_key from deposit d join deposit_address a on a.id = d.address_id \
                       where a.address = $1";
            let key = sqlx::query_scalar::<_, String>(key).bind(address);
            named.push(key.fetch_one(&mut scene.stack.database.connect().await).await.unwrap());
        }
        scene.execute(&of_another_seed(&foreign)).await;
        // A node has no bytes of it in that block, as it has none of a peg-out in a plain form.
        let elsewhere = "update deposit set height = height - 1 where deposit_key = ";
        scene.execute(&format!("{elsewhere}'{}'", named[1])).await;
        let (planned, plan) = scene.plan_with(&["--limit", "1"]).await;
        let file: Value = serde_json::from_str(&super::scene::read(&plan)).unwrap();
        let inputs = file["transactions"][0]["from"]["outputs"].as_array().unwrap();
        let inputs: Vec<_> = inputs.iter().map(|input| &input["outpoint"]).collect();
        assert_eq!(inputs, [&json!(named[2])]);
        for (name, reason) in [(&named[0], "another key"), (&named[1], "MWEB")] {
            let of = |one: &&Value| one["reason"].as_str().unwrap().contains(reason);
            let skipped = planned["skipped"].as_array().unwrap().iter().find(of);
            let skipped = skipped.unwrap_or_else(|| panic!("no {reason}: {planned}"));
            assert_eq!((&skipped["places"], &skipped["named"]), (&json!(1), &json!([name])));
        }
        let signed = scene.sign(&plan).await;
        scene.ctl.run(&["sweep", "send", &signed, "--once"]).await.expect_ok();
        let status = scene.until_ended(planned["plan_id"].as_str().unwrap()).await;
        assert_eq!(status["state"], "collected", "{status}");
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
