//! Payments that were final, and whose blocks a reorg replaced after all (deeper than the
//! confirmations that were asked for).

use gateway::{
    app::payout::Story,
    payout::payment::{PaymentState, Purpose},
};
use serde_json::{Value, json};
use support::{fault::fired::fired, server::broker::eventually, shop::payouts::evm_address};

use super::{
    EVM,
    node::{COIN, CONFIRMATIONS, Scene, USDT, due, is_settled, items, with_node},
};

/// PUSH1 0, PUSH1 0, REVERT.
const REVERTS: &str = "0x60006000fd";

impl Scene {
    /// Removes all blocks from the first one in which a payment ended; no node has it any more.
    pub async fn lose_payments(&self) {
        let first = "select min(height) from payout_payment where state in ('confirmed', 'failed')";
        let first = u64::try_from(self.number(first).await).unwrap();
        let head = self.anvil.height().await.unwrap();
        self.anvil.roll_back(head + 1 - first).await.unwrap();
        self.anvil.rpc("anvil_dropAllTransactions", json!([])).await.unwrap();
        fired(head + 1 - first);
    }

    /// Waits until every payment of the order is on its way again.
    pub async fn open_again(&self, id: &str) -> Story {
        eventually("its payments are open again", async || {
            let story = self.payer.story(id).await;
            story.payments.iter().all(|one| one.state == PaymentState::Sent).then_some(())
        })
        .await;
        // The payments of a story are read a moment after its order.
        self.payer.story(id).await
    }

    async fn rows(&self, id: &str) -> Vec<Value> {
        let rows = self.payer.merchant.client.get(&format!("{EVM}/{id}/items")).await.json();
        rows["data"].as_array().unwrap().iter().map(|row| row["state"].clone()).collect()
    }

    /// The balance of an account in the books, in coins of the network.
    async fn coins_in_books(&self, account: &str) -> i128 {
        let side = async |side: &str| {
            let query = format!(
                "select coalesce(sum(amount), 0) from ledger_entry where {side} = '{account}' and asset = 'pol@polygon'"
            );
            i128::try_from(self.number(&query).await).unwrap()
        };
        side("credit").await - side("debit").await
    }

    async fn reorgs_told(&self) -> u128 {
        self.number("select count(*) from operator_alert where kind = 'payout_reorged'").await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn final_payments_whose_blocks_were_replaced_are_open_again_and_pay_once() {
    with_node("", |scene| async move {
        let order = scene.order("pol", &items(1, 3)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.fund(&order, due(&order)).await;
        let before = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!(before.order.state.as_str(), "completed");

        scene.lose_payments().await;
        // Another block in the place of the first one lost: the watcher sees a reorg, and no
        // payment is mined while this test looks.
        scene.mine(1).await;
        let story = scene.open_again(&id).await;
        assert_eq!(scene.rows(&id).await, [json!("sent"), json!("sent"), json!("sent")]);
        let (was, now) = (before.order.books, story.order.books);
        // The refund of the unused fee was in the lost blocks too.
        assert!(!was.returned.is_zero());
        let open = was.paid.get() + was.returned.get();
        assert_eq!((now.paid.get(), now.returned.get(), now.reserved.get()), (0, 0, open));
        assert_eq!((now.kept, now.left()), (was.kept, was.left()));
        assert_eq!(scene.anvil.coins(&evm_address(1)).await.unwrap(), 0);
        assert_eq!(scene.reorgs_told().await, 1);
        let in_books = format!("payout:{}", story.order.id);
        let kept = i128::try_from(open + was.left().get()).unwrap();
        assert_eq!(scene.coins_in_books(&in_books).await, kept);

        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!((story.order.state.as_str(), story.order.books), ("completed", was));
        assert_eq!(
            scene.rows(&id).await,
            [json!("confirmed"), json!("confirmed"), json!("confirmed")]
        );
        for n in 1..=3 {
            let paid = scene.anvil.coins(&evm_address(n)).await.unwrap();
            assert_eq!(paid, u128::from(n) * 10_u128.pow(16), "{n}");
        }
        let address = order["depositAddress"].as_str().unwrap();
        assert_eq!(scene.anvil.nonce(address).await.unwrap(), 4, "three rows and a refund");
        let left = i128::try_from(scene.anvil.coins(address).await.unwrap()).unwrap();
        assert_eq!(
            -scene.coins_in_books("custody:polygon").await,
            left,
            "in the books and on the chain"
        );
        let told =
            ["created", "deposit_detected", "batch_broadcasted", "batch_confirmed", "completed"];
        let again = ["batch_broadcasted", "batch_confirmed"];
        assert_eq!(scene.payer.event_names(7).await, [&told[..], &again].concat());
    })
    .await;
}

/// The gas of the order, and what came back of it, were in the lost blocks too.
#[tokio::test(flavor = "multi_thread")]
async fn gas_that_was_final_is_open_again_as_well() {
    with_node("", |scene| async move {
        scene.anvil.set_coins(&scene.gas, COIN).await.unwrap();
        let order = scene.order("usdtmatic", &items(1, 2)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.fund(&order, due(&order)).await;
        let before = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        scene.lose_payments().await;
        scene.mine(1).await;
        eventually("its payments are open again", async || {
            let story = scene.payer.story(&id).await;
            story.payments.iter().all(|one| one.ended_at.is_none()).then_some(())
        })
        .await;
        assert_eq!(scene.coins_in_books("gas:polygon").await, 0);
        let again = async |_: usize, _: &Story| {
            scene.run("update payout_payment set sent_at = now() - interval '1 minute' where state = 'sent'").await;
        };
        let story = scene.mine_until(&id, is_settled, again).await;
        assert_eq!(story.order.books.paid, before.order.books.paid);
        for n in 1..=2 {
            let paid = scene.anvil.tokens(USDT, &evm_address(n)).await.unwrap();
            assert_eq!(paid, u128::from(n) * 10_000, "{n}");
        }
        let taken = scene.coins_in_books("gas:polygon").await;
        let left = i128::try_from(scene.anvil.coins(&scene.gas).await.unwrap()).unwrap();
        assert_eq!(left + taken, i128::try_from(COIN).unwrap());
    })
    .await;
}

/// The row was called failed and its money went back: the same bytes may pay it after all.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_held_whose_payment_had_failed_in_a_block_that_was_replaced() {
    with_node("", |scene| async move {
        let order = scene.order("pol", &items(1, 1)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.fund(&order, due(&order)).await;
        scene.sent(&id, "pay", 1).await;
        scene.anvil.rpc("anvil_setCode", json!([evm_address(1), REVERTS])).await.unwrap();
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!(story.order.state.as_str(), "partial_failed");
        scene.lose_payments().await;
        scene.mine(1).await;
        let held = eventually("it is held", async || scene.payer.story(&id).await.order.held).await;
        assert!(held.reason().contains("it may be made after all"), "{held}");
        assert_eq!(scene.rows(&id).await, [json!("failed")]);
    })
    .await;
}

/// Payments of an order of large worth are final when deposits of that worth are.
#[tokio::test(flavor = "multi_thread")]
async fn large_orders_ask_for_the_large_confirmations() {
    const LARGE: u64 = 7;
    let anvil = super::node::node().await;
    let large = format!(
        "confirmations = {CONFIRMATIONS}\nlarge_amount_usd = 1\nlarge_confirmations = {LARGE}\n"
    );
    let usual = format!("confirmations = {CONFIRMATIONS}\n");
    let toml = super::node::settings(anvil.url()).replacen(&usual, &large, 1);
    super::node::with_scene(anvil, &toml, |scene| async move {
        scene.anvil.set_coins(&scene.gas, COIN).await.unwrap();
        let order = scene.order("usdtmatic", &items(101, 1)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.fund(&order, due(&order)).await;
        let mined = |story: &Story| {
            story
                .payments
                .iter()
                .any(|one| one.purpose == Purpose::Pay && one.state != PaymentState::Signed)
        };
        scene.mine_until(&id, mined, async |_, _| ()).await;
        scene.mine(1).await;
        let at = "select height from payout_payment where purpose = 'pay'";
        let height = eventually("its block is seen", async || {
            Some(scene.number(at).await).filter(|height| *height > 0)
        })
        .await;
        let ends = |story: &Story| {
            story.payments.iter().any(|one| one.purpose == Purpose::Pay && one.ended_at.is_some())
        };
        let mut depth = 0;
        while !ends(&scene.payer.story(&id).await) {
            depth = u128::from(scene.anvil.height().await.unwrap()) + 1 - height;
            assert!(depth <= u128::from(LARGE), "it is final by now: {depth}");
            if depth == u128::from(LARGE) {
                eventually("it is final", async || {
                    ends(&scene.payer.story(&id).await).then_some(())
                })
                .await;
                break;
            }
            // Some looks at this depth.
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
            assert!(!ends(&scene.payer.story(&id).await), "final at a depth of {depth}");
            scene.mine(1).await;
        }
        assert_eq!(depth, u128::from(LARGE));
    })
    .await;
}
