//! From the request to the last confirmation, on the chain.

use std::collections::BTreeSet;

use serde_json::json;
use support::{fault::fired::fired, server::broker::eventually, shop::payouts::evm_address};

use super::{CONFIRMATIONS, PATH, REVERTS, TENTH, USDT, number, recipients, sign, with_node};

/// PUSH1 1, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN: returns true for every call.
const SAYS_YES: &str = "0x600160005260206000f3";

#[tokio::test(flavor = "multi_thread")]
async fn recipients_are_paid_once_and_one_that_turns_hostile_fails_alone() {
    with_node(|scene| async move {
        let (paid, hostile) = (recipients(1..21), evm_address(30));
        let mut everybody = paid.clone();
        everybody.push(hostile.clone());
        let payout = scene.create(&scene.coins(&everybody)).await;
        assert_eq!(payout["totalRaw"], (21 * TENTH).to_string());
        assert_eq!(payout["txHashes"], json!([]));
        let first = payout["outputs"][0]["nonce"].as_u64().unwrap();
        let nonces: Vec<_> =
            payout["outputs"].as_array().unwrap().iter().map(|o| o["nonce"].as_u64()).collect();
        let consecutive: Vec<_> = (first..first + 21).map(Some).collect();
        assert_eq!(nonces, consecutive);

        let mut signed = sign(&scene.anvil, &payout).await;
        // The order in which they are submitted does not matter.
        signed.reverse();
        scene.anvil.rpc("anvil_setCode", json!([hostile, REVERTS])).await.unwrap();
        let answer = scene.submit(&payout, &signed).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let submitted = &answer.json()["data"];
        assert_eq!(
            (&submitted["state"], &submitted["unsigned"]),
            (&json!("submitted"), &json!(null))
        );
        assert!(submitted["submittedAt"].is_string());

        let ended = scene.becomes(&payout, "partial_failed").await;
        for address in &paid {
            assert_eq!(scene.balance(address).await, TENTH, "{address}");
        }
        assert_eq!(scene.balance(&hostile).await, 0);
        let failed = &ended["outputs"][20];
        assert_eq!((&failed["state"], &failed["address"]), (&json!("failed"), &json!(hostile)));
        assert!(failed["error"].as_str().unwrap().contains("without an effect"), "{failed}");
        assert!(ended["confirmations"].as_u64().unwrap() >= CONFIRMATIONS);
        // The merchant sees the fee that the chain reports.
        let mut fee = 0;
        for hash in ended["txHashes"].as_array().unwrap() {
            let receipt = scene.anvil.receipt(hash.as_str().unwrap()).await.unwrap();
            fee += number(&receipt["gasUsed"]) * number(&receipt["effectiveGasPrice"]);
        }
        assert_eq!(ended["networkFeePaidRaw"], fee.to_string());
        let most: u128 = ended["networkFeeRaw"].as_str().unwrap().parse().unwrap();
        assert!(fee > 0 && fee <= most, "{fee} of {most}");
        let used = scene.anvil.rpc("eth_getTransactionCount", json!([scene.from, "latest"])).await;
        assert_eq!(number(&used.unwrap()), u128::from(first) + 21);

        let listed =
            scene.merchant.client.get(&format!("{PATH}?state=partial_failed")).await.json();
        assert_eq!((&listed["total"], &listed["data"][0]), (&json!(1), &ended));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_paid_through_their_contract_and_only_its_log_proves_it() {
    with_node(|scene| async move {
        let body = json!({
            "network": "polygon", "currency": "usdt", "fromAddress": scene.from, "feeLevel": "fast",
            "outputs": [
                { "address": evm_address(1), "amount": "1.5", "reference": "a" },
                { "address": evm_address(2), "amountRaw": "1", "reference": "b" },
            ],
        });
        let payout = scene.create(&body).await;
        assert_eq!((&payout["totalRaw"], &payout["feeLevel"]), (&json!("1500001"), &json!("fast")));
        let signed = sign(&scene.anvil, &payout).await;
        assert_eq!(scene.submit(&payout, &signed).await.status, 200);
        let ended = scene.becomes(&payout, "completed").await;
        assert_eq!(scene.tokens(&evm_address(1)).await, 1_500_000);
        assert_eq!(scene.tokens(&evm_address(2)).await, 1);
        assert_eq!(ended["outputs"][1]["reference"], "b");

        // While they are pending, the token becomes one that accepts every call and moves nothing.
        let payout = scene.create(&body).await;
        let signed = sign(&scene.anvil, &payout).await;
        assert_eq!(scene.submit(&payout, &signed).await.status, 200);
        scene.anvil.rpc("anvil_setCode", json!([USDT, SAYS_YES])).await.unwrap();
        // No log proves that nobody was paid: called failed, the merchant would pay again.
        let held = eventually("it is looked at", async || {
            scene.anvil.mine().await.unwrap();
            let read = scene.read(&payout).await;
            let is_mined = read["state"] == "confirming";
            (is_mined && read["outputs"][0]["error"].is_string()).then_some(read)
        })
        .await;
        assert_eq!(scene.tokens(&evm_address(2)).await, 1);
        let output = &held["outputs"][0];
        let error = output["error"].as_str().unwrap();
        assert!(error.contains("log of this amount is missing"), "{error}");
        assert_eq!((&held["state"], &output["state"]), (&json!("confirming"), &json!("sent")));
        let mut connection = scene.stack.database.connect().await;
        let told = "select count(*) from operator_alert where kind = 'nc_payout_unexplained'";
        let told: i64 = sqlx::query_scalar(told).fetch_one(&mut connection).await.unwrap();
        assert_eq!(told, 1);
    })
    .await;
}

/// 20 clients submit the same bytes at the same moment, and again once they are in a block.
#[tokio::test(flavor = "multi_thread")]
async fn repeated_submits_send_the_transaction_once() {
    with_node(|scene| async move {
        let payout = scene.create(&scene.coins(&recipients(1..4))).await;
        let signed = sign(&scene.anvil, &payout).await;
        let all = (0..20).map(|_| scene.submit(&payout, &signed));
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
        assert_eq!(scene.submit(&payout, &signed).await.status, 200);
        for address in recipients(1..4) {
            assert_eq!(scene.balance(&address).await, TENTH);
        }
    })
    .await;
}

/// A node that lost the transactions gets the same bytes again.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_dropped_from_the_mempool_is_broadcast_again() {
    with_node(|scene| async move {
        let payout = scene.create(&scene.coins(&recipients(1..3))).await;
        let signed = sign(&scene.anvil, &payout).await;
        assert_eq!(scene.submit(&payout, &signed).await.status, 200);
        scene.anvil.rpc("anvil_dropAllTransactions", json!([])).await.unwrap();
        scene
            .stack
            .sql("update nc_payout_transaction set sent_at = now() - interval '1 hour'")
            .await;
        scene.becomes(&payout, "completed").await;
        for address in recipients(1..3) {
            assert_eq!(scene.balance(&address).await, TENTH);
        }
    })
    .await;
}

/// A block with all of them is lost in a reorg; none is reported as final, and all are sent again.
#[tokio::test(flavor = "multi_thread")]
async fn a_confirmation_in_an_orphaned_block_settles_nothing() {
    with_node(|scene| async move {
        let payout = scene.create(&scene.coins(&recipients(1..3))).await;
        let signed = sign(&scene.anvil, &payout).await;
        assert_eq!(scene.submit(&payout, &signed).await.status, 200);
        scene.anvil.mine().await.unwrap();
        eventually("its block is seen", async || {
            (scene.read(&payout).await["state"] == "confirming").then_some(())
        })
        .await;
        scene.anvil.roll_back(1).await.unwrap();
        scene
            .stack
            .sql("update nc_payout_transaction set sent_at = now() - interval '1 hour'")
            .await;
        scene.becomes(&payout, "completed").await;
        for address in recipients(1..3) {
            assert_eq!(scene.balance(&address).await, TENTH);
        }
    })
    .await;
}

/// Deeper than the confirmations that were asked for: what was final is not, and goes out again.
#[tokio::test(flavor = "multi_thread")]
async fn a_final_payout_whose_block_is_lost_is_confirming_again_and_pays_once() {
    with_node(|scene| async move {
        // The watcher must know the block below: it goes back to no other.
        scene.is_read().await;
        let payout = scene.create(&scene.coins(&recipients(1..3))).await;
        let signed = sign(&scene.anvil, &payout).await;
        assert_eq!(scene.submit(&payout, &signed).await.status, 200);
        let ended = scene.becomes(&payout, "completed").await;
        assert!(ended["endedAt"].is_string(), "{ended}");
        let mut connection = scene.stack.database.connect().await;
        scene.is_read().await;
        let first = "select min(height) from nc_payout_transaction";
        let first: i64 = sqlx::query_scalar(first).fetch_one(&mut connection).await.unwrap();
        let head = scene.anvil.height().await.unwrap();
        scene.anvil.roll_back(head + 1 - first.unsigned_abs()).await.unwrap();
        scene.anvil.rpc("anvil_dropAllTransactions", json!([])).await.unwrap();
        assert_eq!(scene.balance(&recipients(1..2)[0]).await, 0);
        // The new branch must reach the height of the old one before anything is certain.
        let open = scene.becomes(&payout, "confirming").await;
        fired(1);
        assert_eq!(open["endedAt"], json!(null), "{open}");
        scene.becomes(&payout, "completed").await;
        for address in recipients(1..3) {
            assert_eq!(scene.balance(&address).await, TENTH);
        }
    })
    .await;
}

/// What it needs is decided when it is submitted, by what it is worth then.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_payout_asks_for_the_large_confirmations() {
    const LARGE: u64 = 7;
    let anvil = super::node().await;
    let large = format!(
        "confirmations = {CONFIRMATIONS}\nlarge_amount_usd = 1\nlarge_confirmations = {LARGE}\n"
    );
    let usual = format!("confirmations = {CONFIRMATIONS}\n");
    let toml = super::settings(anvil.url()).replacen(&usual, &large, 1);
    super::with_scene(anvil, &toml, |scene| async move {
        for (amount, required) in [("0.25", CONFIRMATIONS), ("1.5", LARGE)] {
            let outputs = json!([{ "address": evm_address(1), "amount": amount }]);
            let body = json!({
                "network": "polygon", "currency": "usdt", "fromAddress": scene.from, "outputs": outputs,
            });
            let payout = scene.create(&body).await;
            let signed = sign(&scene.anvil, &payout).await;
            assert_eq!(scene.submit(&payout, &signed).await.status, 200);
            // Later prices change nothing.
            scene.stack.sql("update rate set price = price / 2 where symbol = 'USDT'").await;
            let ended = scene.becomes(&payout, "completed").await;
            scene.stack.sql("update rate set price = price * 2 where symbol = 'USDT'").await;
            assert_eq!(ended["requiredConfirmations"], required, "{amount}");
            assert!(ended["confirmations"].as_u64().unwrap() >= required, "{ended}");
        }
    })
    .await;
}
