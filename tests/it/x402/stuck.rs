//! A settlement that no block takes, and a block that a reorg replaces.

use serde_json::json;

use super::scene::{CENT, with_scene};

/// The market rises after it was signed: a higher version takes its place, with the same nonce.
#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_offers_more_when_the_market_rises() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        // No block comes while it waits, so the answer runs out of time.
        let answer = scene.merchant.client.post("/v1/x402/settle", &request).await.json();
        assert_eq!(answer["errorReason"], "unexpected_settle_error", "{answer}");
        let raised = format!("{:#x}", 60_000_000_000_u64);
        scene.anvil.rpc("anvil_setNextBlockBaseFeePerGas", json!([raised])).await.unwrap();
        scene.anvil.mine().await.unwrap();
        scene.stack.sql("update x402_settlement set sent_at = now() - interval '1 hour' where sent_at is not null").await;
        let ended = "select count(*) from x402_settlement where state = 'settled'";
        scene.until("it is final", ended, 1).await;
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 1);
        assert_eq!(scene.tokens(&payer.address).await, 0);
        assert_eq!(scene.settle(&request).await["success"], true);
    })
    .await;
}

/// The block that answered is replaced: the same bytes go out again, and the first answer stays.
#[tokio::test(flavor = "multi_thread")]
async fn a_reorg_after_the_answer_settles_the_same_payment_again() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        let settled = scene.settle(&request).await;
        assert_eq!(settled["success"], true, "{settled}");
        let settled_rows = "select count(*) from x402_settlement where state = 'settled'";
        if scene.number(settled_rows).await == 0 {
            scene.anvil.roll_back(1).await.unwrap();
        }
        scene.stack.sql("update x402_settlement set sent_at = now() - interval '1 minute' where state = 'submitted'").await;
        scene.until("it is final", settled_rows, 1).await;
        let booked = "select count(*) from ledger_entry where kind = 'x402_payment'";
        scene.until("it is booked once", booked, 1).await;
        assert_eq!(scene.settle(&request).await, settled);
        assert_eq!(scene.booked().await, CENT);
        assert_eq!(scene.tokens(&payer.address).await, 0);
    })
    .await;
}
