//! A settlement that no block takes, and a block that a reorg replaces.

use serde_json::json;
use support::{node::anvil::Call, server::broker::eventually};

use super::scene::{CENT, CONFIRMATIONS, with_scene};

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

/// Six versions were signed at a low price, and then the market rises: the seventh meets it.
/// Without it, all that the wallet signed afterwards would wait too.
#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_of_six_versions_still_offers_what_the_market_asks() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        scene.hand_in(&scene.merchant, &request).await;
        let versions = "select count(*) from x402_version";
        let long_ago = "update x402_settlement set sent_at = now() - interval '1 hour' where sent_at is not null";
        eventually("six versions are signed", async || {
            scene.stack.sql(long_ago).await;
            (scene.number(versions).await == 6).then_some(())
        })
        .await;
        let raised = format!("{:#x}", 60_000_000_000_u64);
        scene.anvil.rpc("anvil_setNextBlockBaseFeePerGas", json!([raised])).await.unwrap();
        scene.anvil.mine().await.unwrap();
        // No block comes meanwhile, because each would be cheaper than the one before.
        eventually("a seventh version is signed", async || {
            scene.stack.sql(long_ago).await;
            (scene.number(versions).await == 7).then_some(())
        })
        .await;
        let is_sent = "select count(*) from x402_settlement where sent_at is not null";
        scene.until_without_a_block("it is sent", is_sent, 1).await;
        scene.anvil.mine().await.unwrap();
        let answered = "select count(*) from x402_settlement s join x402_version v on v.tx_hash = s.answered_hash \
             where v.version = 7";
        scene.until_without_a_block("the next block takes it", answered, 1).await;
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 1);
        assert_eq!(scene.tokens(&payer.address).await, 0);
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
        // One block and no further one: it is in a block, and not final.
        let in_one_block = async {
            let is_sent = "select count(*) from x402_settlement where sent_at is not null";
            scene.until_without_a_block("it is sent", is_sent, 1).await;
            scene.anvil.mine().await.unwrap();
        };
        let asked = scene.merchant.client.post("/v1/x402/settle", &request);
        let (answer, ()) = tokio::join!(asked, in_one_block);
        let settled = answer.json();
        assert_eq!(settled["success"], true, "{settled}");
        let of_state = |what| format!("select count(*) from x402_settlement where state = {what}");
        let in_block = of_state("'submitted' and height is not null");
        assert_eq!(scene.number(&in_block).await, 1);

        scene.anvil.roll_back(1).await.unwrap();
        assert_eq!(scene.tokens(&payer.address).await, CENT);
        let in_none = of_state("'submitted' and height is null");
        scene.until_without_a_block("no block holds it", &in_none, 1).await;
        scene.stack.sql("update x402_settlement set sent_at = now() - interval '1 minute' where state = 'submitted'").await;
        scene.until("it is final", &of_state("'settled'"), 1).await;
        let booked = "select count(*) from ledger_entry where kind = 'x402_payment'";
        scene.until("it is booked once", booked, 1).await;
        assert_eq!(scene.settle(&request).await, settled);
        assert_eq!(scene.booked().await, CENT);
        assert_eq!(scene.tokens(&payer.address).await, 0);
    })
    .await;
}

/// Another transaction used the wallet's nonce, so that nothing of ours can be mined under it.
#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_that_lost_its_nonce_fails_and_its_payer_pays_by_another() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let accepts = &resource["accepts"][0];
        let payer = scene.payer(7, CENT).await;
        let request = scene.request(&payer, accepts, 1).await;
        let answer = scene.merchant.client.post("/v1/x402/settle", &request).await.json();
        assert_eq!(answer["errorReason"], "unexpected_settle_error", "{answer}");
        // It is not sent again while the node forgets it.
        scene.stack.sql("update x402_settlement set sent_at = now() + interval '1 hour'").await;
        scene.anvil.rpc("anvil_dropAllTransactions", json!([])).await.unwrap();
        scene.anvil.rpc("anvil_impersonateAccount", json!([scene.gas])).await.unwrap();
        let call = Call { to: Some(&payer.address), value: "0x1".into(), data: "0x".into() };
        scene.anvil.send(&scene.gas, &call).await.unwrap();
        for _ in 0..=CONFIRMATIONS {
            scene.anvil.mine().await.unwrap();
        }
        scene.stack.sql("update x402_settlement set sent_at = now() - interval '1 hour'").await;
        let failed = "select count(*) from x402_settlement where state = 'failed'";
        scene.until("it has failed", failed, 1).await;
        let alerts = "select count(*) from operator_alert where kind = 'x402_displaced'";
        assert_eq!(scene.number(alerts).await, 1);
        assert_eq!(scene.settle(&request).await["errorReason"], "unexpected_settle_error");

        let another = scene.request(&payer, accepts, 2).await;
        let settled = scene.settle(&another).await;
        assert_eq!(settled["success"], true, "{settled}");
        assert_eq!(scene.tokens(&payer.address).await, 0);
    })
    .await;
}

/// Blocks that were final are replaced: what they brought leaves the books, in the token and in
/// coins.
#[tokio::test(flavor = "multi_thread")]
async fn what_leaves_the_chain_leaves_the_books() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let pay_to = resource["pay_to"].as_str().unwrap();
        let before = scene.anvil.height().await.unwrap();
        scene.give(pay_to, CENT).await;
        let coins = Call { to: Some(pay_to), value: "0x7".into(), data: "0x".into() };
        scene.anvil.send(scene.anvil.deployer(), &coins).await.unwrap();
        let of_state = |state| format!("select count(*) from deposit where state = '{state}'");
        scene.until("both are booked", &of_state("settled"), 2).await;
        let foreign =
            "select coalesce(sum(case when credit like 'foreign:%' then amount else -amount end), 0) from ledger_entry \
             where credit like 'foreign:%' or debit like 'foreign:%'";
        assert_eq!((scene.booked().await, scene.number(foreign).await), (CENT, 7));

        let head = scene.anvil.height().await.unwrap();
        scene.anvil.roll_back(head - before).await.unwrap();
        scene.anvil.rpc("anvil_dropAllTransactions", json!([])).await.unwrap();
        scene.until("both are reversed", &of_state("reversed"), 2).await;
        assert_eq!((scene.booked().await, scene.number(foreign).await), (0, 0));
        assert_eq!(scene.number("select count(*) from event where type = 'x402.paid'").await, 1);
    })
    .await;
}
