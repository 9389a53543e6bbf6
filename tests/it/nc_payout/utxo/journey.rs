//! From the request to the last confirmation, on the chain.

use std::collections::BTreeSet;

use gateway::asset::Network;
use serde_json::{Value, json};
use support::server::broker::eventually;

use super::{
    super::refused, COIN, LEGACY, PATH, Scene, WALLET, WITNESS, finished, units, with_wallet,
};
use crate::payout::utxo::{chain::unspent, scene::CONFIRMATIONS};

/// One of each kind of address that the networks know, and one more.
const RECIPIENTS: std::ops::Range<u32> = 1..7;

async fn everybody_is_paid_to_the_unit(network: Network, kind: &str) {
    with_wallet(network, kind, |scene| async move {
        let inputs = scene.coins(2).await;
        let payout = scene.create(&scene.body(&inputs, RECIPIENTS)).await;
        let (total, fee, change) = (
            units(&payout["totalRaw"]),
            units(&payout["networkFeeRaw"]),
            units(&payout["changeRaw"]),
        );
        assert_eq!(total + fee + change, 2 * COIN);
        assert_eq!(
            (&payout["chainId"], &payout["outputs"][0]["nonce"]),
            (&Value::Null, &Value::Null)
        );
        let spent: BTreeSet<_> =
            payout["inputs"].as_array().unwrap().iter().map(|i| i["txid"].to_string()).collect();
        assert_eq!(spent, inputs.iter().map(|input| input["txid"].to_string()).collect());
        // A wallet without a node sees the same fee.
        let payload = &payout["unsigned"]["payload"];
        let decoded = scene.node.rpc("decodepsbt", json!([payload])).await.unwrap();
        assert_eq!(
            decoded["fee"].to_string().parse::<rust_decimal::Decimal>().unwrap(),
            rust_decimal::Decimal::new(i64::try_from(fee).unwrap(), 8)
        );

        let signed = scene.sign(&payout).await;
        let submitted = scene.submit(&payout, &signed).await;
        assert_eq!(submitted.status, 200, "{}", submitted.body);
        let submitted = submitted.json()["data"].clone();
        assert_eq!(
            (&submitted["state"], &submitted["unsigned"]),
            (&json!("submitted"), &Value::Null)
        );
        let raw = finished(&scene.node, &signed).await;
        let named = scene.node.rpc("decoderawtransaction", json!([raw])).await.unwrap();
        assert_eq!(submitted["txHashes"], json!([named["txid"]]));

        let ended = scene.becomes(&payout, "completed").await;
        scene.are_paid(RECIPIENTS).await;
        assert_eq!(unspent(scene.node.url(), &scene.own).await, u128::from(change));
        assert_eq!(ended["networkFeePaidRaw"], payout["networkFeeRaw"]);
        assert!(ended["confirmations"].as_u64().unwrap() >= CONFIRMATIONS);
        assert!(ended["outputs"].as_array().unwrap().iter().all(|one| one["state"] == "confirmed"));
        // In every form it is the same transaction and changes nothing.
        for again in [signed, raw.clone(), format!("0x{raw}")] {
            let answer = scene.submit(&payout, &again).await;
            assert_eq!((answer.status, &answer.json()["data"]), (200, &ended), "{}", answer.body);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bitcoin_pays_every_recipient_exactly_from_segwit_outputs() {
    everybody_is_paid_to_the_unit(Network::Bitcoin, WITNESS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bitcoin_pays_every_recipient_exactly_from_legacy_outputs() {
    everybody_is_paid_to_the_unit(Network::Bitcoin, LEGACY).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn litecoin_pays_every_recipient_exactly() {
    everybody_is_paid_to_the_unit(Network::Litecoin, WITNESS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dogecoin_pays_every_recipient_exactly() {
    everybody_is_paid_to_the_unit(Network::Dogecoin, LEGACY).await;
}

/// 50 clients submit the same bytes at the same moment, some as a PSBT and some as a transaction.
#[tokio::test(flavor = "multi_thread")]
async fn repeated_submits_of_a_psbt_make_one_transaction() {
    with_wallet(Network::Bitcoin, WITNESS, |scene| async move {
        let payout = scene.create(&scene.body(&scene.coins(1).await, 1..4)).await;
        let signed = scene.sign(&payout).await;
        let raw = finished(&scene.node, &signed).await;
        let texts = [signed, raw];
        let all = (0..50).map(|n| scene.submit(&payout, &texts[n % 2]));
        let answers = futures_util::future::join_all(all).await;
        let hashes: BTreeSet<_> = answers
            .iter()
            .map(|answer| {
                assert_eq!(answer.status, 200, "{}", answer.body);
                answer.json()["data"]["txHashes"].to_string()
            })
            .collect();
        assert_eq!(hashes.len(), 1);
        scene.becomes(&payout, "completed").await;
        scene.are_paid(1..4).await;
    })
    .await;
}

/// A block with the payout in it is lost in a reorg; it is not reported as final, and the same
/// bytes are mined again.
#[tokio::test(flavor = "multi_thread")]
async fn a_confirmation_in_an_orphaned_block_settles_nothing() {
    with_wallet(Network::Bitcoin, WITNESS, |scene| async move {
        let payout = scene.create(&scene.body(&scene.coins(1).await, 1..3)).await;
        let signed = scene.sign(&payout).await;
        let hashes = scene.submit(&payout, &signed).await.json()["data"]["txHashes"].clone();
        scene.node.mine(1).await.unwrap();
        eventually("its block is seen", async || {
            (scene.read(&payout).await["state"] == "confirming").then_some(())
        })
        .await;
        scene.node.roll_back(1).await.unwrap();
        // Blocks without it, so that it is in none.
        for _ in 0..2 {
            scene.node.mine_exactly(&[]).await.unwrap();
        }
        eventually("it is in no block any more", async || {
            (scene.read(&payout).await["confirmations"] == 0).then_some(())
        })
        .await;
        scene.wait_long().await;
        let ended = scene.becomes(&payout, "completed").await;
        assert_eq!(ended["txHashes"], hashes);
        scene.are_paid(1..3).await;
    })
    .await;
}

/// The merchant broadcasts the transaction directly, before submitting it to us.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_broadcast_by_the_merchant_is_followed() {
    with_wallet(Network::Litecoin, WITNESS, |scene| async move {
        for mined in [false, true] {
            let (first, last) = if mined { (3, 5) } else { (1, 3) };
            let payout = scene.create(&scene.body(&scene.coins(1).await, first..last)).await;
            let signed = scene.sign(&payout).await;
            scene.node.send_signed(&finished(&scene.node, &signed).await).await.unwrap();
            if mined {
                scene.node.mine(1).await.unwrap();
            }
            let answer = scene.submit(&payout, &signed).await;
            assert_eq!(answer.status, 200, "{}", answer.body);
            scene.becomes(&payout, "completed").await;
            scene.are_paid(first..last).await;
        }
    })
    .await;
}

/// Double-spend: the merchant spends an input elsewhere while the payout is pending. It fails for
/// good, and its other inputs are free again.
#[tokio::test(flavor = "multi_thread")]
async fn an_input_that_was_spent_elsewhere_ends_the_payout_and_frees_the_others() {
    with_wallet(Network::Bitcoin, WITNESS, |scene| async move {
        let inputs = scene.coins(2).await;
        let payout = scene.create(&scene.body(&inputs, 1..3)).await;
        let signed = scene.sign(&payout).await;
        assert_eq!(scene.submit(&payout, &signed).await.status, 200);
        replace(&scene, &inputs[0]).await;
        let ended = eventually("it has failed", async || {
            // A lagging node looks like this for a while, so nothing is decided soon after the
            // broadcast.
            scene.wait_long().await;
            scene.node.mine(1).await.unwrap();
            Some(scene.read(&payout).await).filter(|read| read["state"] == "failed")
        })
        .await;
        let error = "one of its inputs was spent by another transaction";
        assert_eq!(ended["outputs"][1]["error"], error);
        scene.is_unpaid(1).await;

        let other = scene.create(&scene.body(&inputs[1..], 1..3)).await;
        let signed = scene.sign(&other).await;
        assert_eq!(scene.submit(&other, &signed).await.status, 200);
        scene.becomes(&other, "completed").await;
        scene.are_paid(1..3).await;
    })
    .await;
}

/// Spends `input` back to its owner, with a fee that replaces any pending transaction.
async fn replace(scene: &Scene, input: &Value) {
    let outputs = json!([{ scene.own.clone(): 0.055 }]);
    let raw = scene.node.rpc("createrawtransaction", json!([[input], outputs])).await.unwrap();
    let signed =
        scene.node.wallet_rpc(WALLET, "signrawtransactionwithwallet", json!([raw])).await.unwrap();
    scene.node.send_signed(signed["hex"].as_str().unwrap()).await.unwrap();
}

/// A new build spends the same inputs, with the fee of the requested level; the earlier signature
/// is void.
#[tokio::test(flavor = "multi_thread")]
async fn every_build_of_a_payout_spends_the_same() {
    with_wallet(Network::Bitcoin, WITNESS, |scene| async move {
        let payout = scene.create(&scene.body(&scene.coins(2).await, 1..3)).await;
        let old = scene.sign(&payout).await;
        scene.stack.sql("update nc_payout set fee_level = 'slow'").await;
        let answer = scene.post(&payout, "refresh", &json!({ "feeLevel": "fast" })).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let fresh = answer.json()["data"].clone();
        assert_eq!((&fresh["inputs"], &fresh["feeLevel"]), (&payout["inputs"], &json!("fast")));
        // The node of this test has one fee for all levels, so both builds are one transaction.
        assert_eq!(fresh["unsigned"]["payload"], payout["unsigned"]["payload"]);
        assert_eq!(scene.submit(&payout, &old).await.status, 200);
        refused(&scene.post(&payout, "refresh", &json!({})).await, 409, "INVALID_STATE");
        refused(&scene.post(&payout, "cancel", &json!({})).await, 409, "INVALID_STATE");
        scene.becomes(&payout, "completed").await;
        let listed = scene.merchant.client.get(&format!("{PATH}?state=completed")).await.json();
        assert_eq!(listed["total"], 1);
    })
    .await;
}
