//! Settlements that were final, and whose blocks a reorg replaced after all (deeper than the
//! confirmations that were asked for).

use serde_json::json;
use support::{
    fault::fired::fired,
    node::anvil::{Call, address_word, call_data, word},
    server::broker::eventually,
};

use super::scene::{CENT, Payer, Scene, USDC, with_scene};

const SETTLED: &str = "select count(*) from x402_settlement where state = 'settled'";
const OPEN: &str = "select count(*) from x402_settlement where state = 'submitted'";
const FAILED: &str = "select count(*) from x402_settlement where state = 'failed'";
const BOOKED: &str = "select count(*) from ledger_entry where kind = 'x402_payment'";

impl Scene {
    /// Removes all blocks from the first one in which a settlement ended; no node has it any more.
    /// The watcher sees a reorg as soon as another block takes its place.
    async fn lose_settlements(&self) {
        let first = "select min(height) from x402_settlement where ended_at is not null";
        let first = u64::try_from(self.number(first).await).unwrap();
        let head = self.anvil.height().await.unwrap();
        self.anvil.roll_back(head + 1 - first).await.unwrap();
        self.anvil.rpc("anvil_dropAllTransactions", json!([])).await.unwrap();
        fired(head + 1 - first);
    }

    async fn sees(&self, what: &str, query: &str, count: u128) {
        eventually(what, async || (self.number(query).await == count).then_some(())).await;
    }

    /// What the books say that the gas wallet spent.
    async fn gas_booked(&self) -> u128 {
        let wallet = "x402_gas:polygon";
        let query = format!(
            "select coalesce(sum(case when credit = '{wallet}' then amount else -amount end), 0) from ledger_entry \
             where '{wallet}' in (credit, debit)"
        );
        self.number(&query).await
    }

    async fn reorgs_told(&self) -> u128 {
        self.number("select count(*) from operator_alert where kind = 'x402_reorged'").await
    }

    /// The payer's tokens go elsewhere before the block, by a transaction of his own.
    async fn empty(&self, payer: &Payer, units: u128) {
        self.anvil.set_coins(&payer.address, 10_u128.pow(18)).await.unwrap();
        self.anvil.rpc("anvil_impersonateAccount", json!([payer.address])).await.unwrap();
        let words = [address_word(self.anvil.deployer()), word(&format!("{units:x}"))];
        let data = call_data("transfer(address,uint256)", &words);
        let call = Call { to: Some(USDC), value: "0x0".into(), data };
        self.anvil.send(&payer.address, &call).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_final_settlement_whose_block_was_replaced_is_open_again_and_pays_once() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        let had = scene.anvil.coins(&scene.gas).await.unwrap();
        let settled = scene.settle(&request).await;
        assert_eq!(settled["success"], true, "{settled}");
        scene.until("it is final", SETTLED, 1).await;
        scene.until("it is booked", BOOKED, 1).await;
        assert!(scene.gas_booked().await > 0);

        scene.lose_settlements().await;
        scene.anvil.mine().await.unwrap();
        scene.sees("it is open again", OPEN, 1).await;
        assert_eq!(scene.gas_booked().await, 0);
        assert_eq!(scene.reorgs_told().await, 1);
        assert_eq!(scene.tokens(&payer.address).await, CENT);
        // What was answered stays.
        assert_eq!(scene.merchant.client.post("/v1/x402/settle", &request).await.json(), settled);

        scene.until("it is final again", SETTLED, 1).await;
        let net = "select count(*) filter (where kind = 'x402_payment') - count(*) filter (where kind = 'reversal') from ledger_entry";
        scene.until("it is booked once", net, 1).await;
        assert_eq!(scene.booked().await, CENT);
        assert_eq!(scene.tokens(&payer.address).await, 0);
        assert_eq!(scene.tokens(resource["pay_to"].as_str().unwrap()).await, CENT);
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 1);
        assert_eq!(had - scene.anvil.coins(&scene.gas).await.unwrap(), scene.gas_booked().await);
        assert_eq!(scene.number("select count(*) from event where type = 'x402.paid'").await, 1);
        assert_eq!(scene.number("select count(*) from x402_version").await, 1);
        assert_eq!(scene.settle(&request).await, settled);
    })
    .await;
}

/// A rising market made another version of the transaction: another deposit by its hash, and the
/// same payment.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_another_version_brings_after_a_reorg_is_told_once() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        scene.settle(&request).await;
        scene.until("it is final", SETTLED, 1).await;
        scene.until("it is booked", BOOKED, 1).await;
        scene.lose_settlements().await;
        let raised = format!("{:#x}", 60_000_000_000_u64);
        scene.anvil.rpc("anvil_setNextBlockBaseFeePerGas", json!([raised])).await.unwrap();
        scene.anvil.mine().await.unwrap();
        scene.sees("it is open again", OPEN, 1).await;
        let versions = "select count(*) from x402_version";
        eventually("another version is signed", async || {
            let long_ago = "update x402_settlement set sent_at = now() - interval '1 hour' where sent_at is not null";
            scene.stack.sql(long_ago).await;
            (scene.number(versions).await == 2).then_some(())
        })
        .await;
        scene.until("it is booked by its other hash", BOOKED, 2).await;
        let reversed = "select count(*) from ledger_entry where kind = 'reversal'";
        scene.until("the first is out of the books", reversed, 1).await;
        let hashes = "select count(distinct tx_hash) from deposit";
        assert_eq!((scene.number(hashes).await, scene.booked().await), (2, CENT));
        assert_eq!(scene.number("select count(*) from event where type = 'x402.paid'").await, 1);
    })
    .await;
}

/// The wallet's later nonces wait for this one, so its bytes go out again; they may pay now.
#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_that_had_failed_in_a_replaced_block_is_sent_again_and_may_pay() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let accepts = &resource["accepts"][0];
        let payer = scene.payer(7, CENT).await;
        let request = scene.request(&payer, accepts, 1).await;
        // Signed and sent, and in no block yet.
        let waits = scene.merchant.client.post("/v1/x402/settle", &request).await.json();
        assert_eq!(waits["errorReason"], "unexpected_settle_error", "{waits}");
        // Out of the mempool while the payer's own transaction comes first.
        scene.stack.sql("update x402_settlement set sent_at = now() + interval '1 hour'").await;
        scene.anvil.rpc("anvil_dropAllTransactions", json!([])).await.unwrap();
        scene.empty(&payer, CENT).await;
        scene.anvil.mine().await.unwrap();
        assert_eq!(scene.tokens(&payer.address).await, 0);
        scene.stack.sql("update x402_settlement set sent_at = now() - interval '1 hour'").await;
        scene.until("it has failed", FAILED, 1).await;
        let refused = scene.settle(&request).await;
        assert_eq!(refused["errorReason"], "invalid_transaction_state", "{refused}");
        let spent = scene.gas_booked().await;
        assert!(spent > 0, "it was reverted at our expense");

        scene.lose_settlements().await;
        // In the other branch the token accepts it.
        scene.give(&payer.address, CENT).await;
        scene.sees("it is open again", OPEN, 1).await;
        assert_eq!((scene.gas_booked().await, scene.reorgs_told().await), (0, 1));
        scene.until("it is final", SETTLED, 1).await;
        scene.until("it is booked", BOOKED, 1).await;
        assert_eq!((scene.booked().await, scene.tokens(&payer.address).await), (CENT, 0));
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 1);
        assert_eq!(scene.settle(&request).await["success"], true);
    })
    .await;
}

/// Without the watcher's evidence no end is opened again, whoever asks.
#[tokio::test(flavor = "multi_thread")]
async fn an_end_is_opened_again_for_nothing_but_a_reorg() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        scene.settle(&request).await;
        scene.until("it is final", SETTLED, 1).await;
        let mut connection = scene.stack.database.connect().await;
        for statement in [
            "update x402_settlement set state = 'submitted', ended_at = null",
            "update x402_settlement set state = 'verified', ended_at = null, reorged_at = now()",
            "update x402_settlement set state = 'failed', reason = 'x', reorged_at = now()",
        ] {
            let refused = sqlx::query(statement).execute(&mut connection).await.unwrap_err();
            let error = refused.as_database_error().unwrap();
            assert_eq!(error.constraint(), Some("x402_settlement_ended_is_ended"), "{statement}");
        }
    })
    .await;
}
