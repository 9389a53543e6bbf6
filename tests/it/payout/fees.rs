//! Fees that rise while payments wait (spec, "Mass-payout webhooks"; replaced transactions).

use gateway::{
    app::payout::Story,
    payout::payment::{PaymentState, Purpose},
    storage::payouts::payments::PaymentRow,
};
use serde_json::{Value, json};
use support::{fault::fired::fired, server::broker::eventually, shop::payouts::evm_address};

use super::{
    EVM,
    node::{COIN, GWEI, Scene, USDT, due, is_settled, items, with_node},
};

/// The base fee when orders are quoted.
const CALM: u128 = 20 * GWEI;

impl Scene {
    /// A calm network: its blocks ask `wei`, and quotes know it.
    async fn begin_at(&self, wei: u128) {
        self.set_base_fee(wei).await;
        self.mine(1).await;
        eventually("the fee is noted", async || {
            let noted = self.number("select fee_rate from network_fee").await;
            (noted > wei).then_some(())
        })
        .await;
    }

    /// Mines block after block that asks `wei`, until `done`.
    async fn mine_at(&self, wei: u128, id: &str, done: impl Fn(&Story) -> bool) -> Story {
        self.set_base_fee(wei).await;
        self.mine_until(id, done, async |_, _| self.set_base_fee(wei).await).await
    }

    /// A funded order of two rows over whole coins, for which nothing can be signed: the base fee
    /// is five times as high as when it was quoted.
    async fn outpriced(&self) -> (Value, String) {
        self.begin_at(CALM).await;
        let order = self.order("pol", &items(100, 2)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        self.send_deposit(&order, due(&order)).await;
        self.mine(1).await;
        let waits = |story: &Story| {
            let why = story.order.waits_for.as_deref();
            story.order.state.as_str() == "processing"
                && why.is_some_and(|why| why.contains("above the quoted"))
        };
        let story = self.mine_at(5 * CALM, &id, waits).await;
        assert!(story.payments.is_empty());
        (order, id)
    }

    /// Fees in the books are what the orders have kept.
    async fn kept_by_the_ledger(&self) -> u128 {
        let sum = "select sum(case kind when 'payout_fee' then amount else -amount end) from ledger_entry \
                   where kind in ('payout_fee', 'payout_fee_returned')";
        self.number(sum).await
    }

    pub async fn sent(&self, id: &str, purpose: &str, count: usize) -> Vec<PaymentRow> {
        eventually(&format!("{count} payments of {purpose} are sent"), async || {
            let payments = self.payer.story(id).await.payments;
            let sent: Vec<_> = payments
                .into_iter()
                .filter(|payment| {
                    payment.purpose.as_str() == purpose && payment.state == PaymentState::Sent
                })
                .collect();
            (sent.len() == count).then_some(sent)
        })
        .await
    }

    /// Requests a higher fee until every open payment of `purpose` has a second version at a node.
    async fn bump(&self, id: &str, purpose: &str) {
        self.payer.stack.gateway.bump_order(id).await.unwrap();
        eventually("the second versions are sent", async || {
            let payments = self.payer.story(id).await.payments;
            let mut of = payments.iter().filter(|payment| payment.purpose.as_str() == purpose);
            of.all(|p| p.versions >= 2 && p.state == PaymentState::Sent).then_some(())
        })
        .await;
    }

    async fn fee_rates(&self, version: u32) -> (u128, u128) {
        let of = async |what| {
            self.number(&format!(
                "select min({what}) from payout_version where version = {version}"
            ))
            .await
        };
        (of("fee_rate").await, of("tip").await)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_waits_is_replaced_at_a_higher_fee_and_confirms_once() {
    with_node("", |scene| async move {
        let rows = items(1, 3);
        let order = scene.order("pol", &rows).await;
        let id = order["id"].as_str().unwrap().to_owned();
        let quoted: u128 = order["quote"]["maxFeePerGasWei"].as_str().unwrap().parse().unwrap();
        scene.fund(&order, due(&order)).await;
        let before = scene.sent(&id, "pay", 3).await;
        let (rate, tip) = scene.fee_rates(1).await;
        assert!(rate < quoted, "{rate} of {quoted}");
        // More than was offered, less than was quoted.
        let base = rate + (quoted - rate) / 3;
        scene.set_base_fee(base).await;
        scene.mine(1).await;
        scene.sent(&id, "pay", 3).await;
        scene.bump(&id, "pay").await;
        let (raised, raised_tip) = scene.fee_rates(2).await;
        assert!(raised * 8 >= rate * 9 && raised_tip * 8 >= tip * 9 && raised <= quoted);
        scene.set_base_fee(base).await;
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!(story.order.state.as_str(), "completed");
        assert!(
            story.payments.iter().filter(|p| p.purpose == Purpose::Pay).all(|p| p.versions >= 2)
        );
        fired(story.payments.iter().filter(|p| p.versions >= 2).count());
        let address = order["depositAddress"].as_str().unwrap();
        assert_eq!(scene.anvil.nonce(address).await.unwrap(), story.payments.len() as u64);
        for (n, row) in (1_u128..).zip(&rows) {
            let to = row["address"].as_str().unwrap();
            assert_eq!(scene.anvil.coins(to).await.unwrap(), n * 10_u128.pow(16));
        }
        let path = format!("{EVM}/{id}/batches");
        let batches = scene.payer.merchant.client.get(&path).await.json();
        let replaced = batches["data"][0]["replacedTxHashes"].as_array().unwrap().clone();
        for payment in before {
            assert!(replaced.contains(&Value::from(payment.tx_hash)), "{replaced:?}");
        }
    })
    .await;
}

/// Behind one stuck payment of the gas wallet all orders would wait.
#[tokio::test(flavor = "multi_thread")]
async fn stuck_gas_payments_are_replaced_beyond_the_quote_of_one_order() {
    with_node("", |scene| async move {
        scene.anvil.set_coins(&scene.gas, 10 * COIN).await.unwrap();
        let order = scene.order("usdtmatic", &items(1, 3)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        let quoted: u128 = order["quote"]["maxFeePerGasWei"].as_str().unwrap().parse().unwrap();
        scene.fund(&order, due(&order)).await;
        scene.sent(&id, "gas", 1).await;
        scene.set_base_fee(quoted + GWEI).await;
        scene.mine(1).await;
        scene.bump(&id, "gas").await;
        assert!(scene.fee_rates(2).await.0 > quoted);
        fired(1);
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!(story.order.state.as_str(), "completed");
        let paid = scene.anvil.tokens(USDT, &evm_address(3)).await.unwrap();
        assert_eq!(paid, 30_000);
        scene.gas_adds_up(&order, 10 * COIN).await;
    })
    .await;
}

/// While the network's fee is above the quote, nothing is signed; when it falls, all recipients are
/// paid.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_waits_while_the_network_asks_more_than_was_quoted() {
    with_node("", |scene| async move {
        let order = scene.order("pol", &items(1, 2)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        let quoted: u128 = order["quote"]["maxFeePerGasWei"].as_str().unwrap().parse().unwrap();
        scene.send_deposit(&order, due(&order)).await;
        scene.mine(1).await;
        scene.set_base_fee(quoted * 2).await;
        scene.mine(1).await;
        let processing = |story: &Story| story.order.state.as_str() == "processing";
        eventually("it is funded", async || Some(scene.payer.story(&id).await).filter(processing))
            .await;
        let wallet = gateway::app::payout::Wallet::open(&scene.stack.gateway).unwrap();
        let row = scene.payer.story(&id).await.order.id;
        scene.stack.gateway.advance_payout(row, &wallet).await.unwrap();
        let story = scene.payer.story(&id).await;
        assert!(story.payments.is_empty());
        let why = story.order.waits_for.unwrap();
        assert!(why.contains(&format!("above the quoted {quoted}")), "{why}");
        fired(1);
        // Every empty block is an eighth cheaper.
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!(story.order.state.as_str(), "completed");
    })
    .await;
}

/// A refund of an order that was never paid out pays for itself, even if the quote was made at
/// lower fees.
#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_pays_for_itself_goes_out_above_the_quote() {
    with_node("", |scene| async move {
        let order = scene.order("pol", &items(1, 2)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        let quoted: u128 = order["quote"]["maxFeePerGasWei"].as_str().unwrap().parse().unwrap();
        scene.stack.gateway.cancel_any_payout(&id).await.unwrap();
        scene.send_deposit(&order, due(&order)).await;
        scene.mine(1).await;
        scene.set_base_fee(quoted * 4).await;
        scene.mine(1).await;
        scene.sent(&id, "refund", 1).await;
        assert!(scene.fee_rates(1).await.0 > quoted);
        let books = scene.mine_until(&id, is_settled, async |_, _| ()).await.order.books;
        assert_eq!(books.returned.get() + books.kept.get(), due(&order));
        let back = scene.anvil.coins(&evm_address(900)).await.unwrap();
        assert_eq!(books.returned.get(), back);
    })
    .await;
}

/// All the gas at its address is reserved for the offered fee, so none is left for an eighth more.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_transaction_is_rebroadcast_when_no_gas_is_left_for_a_higher_fee() {
    with_node("", |scene| async move {
        scene.anvil.set_coins(&scene.gas, COIN).await.unwrap();
        // Empty blocks bring the base fee down to almost nothing, where it stays.
        scene.mine(200).await;
        let order = scene.order("usdtmatic", &items(1, 2)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.fund(&order, due(&order)).await;
        scene.sent(&id, "gas", 1).await;
        scene.mine(2).await;
        scene.sent(&id, "pay", 2).await;
        scene.anvil.rpc("anvil_dropAllTransactions", json!([])).await.unwrap();
        scene.run("update payout_payment set sent_at = now() - interval '1 hour' where state = 'sent'").await;
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!(story.order.state.as_str(), "completed");
        assert!(story.payments.iter().all(|payment| payment.versions == 1), "{:?}", story.payments);
    })
    .await;
}

/// Twice the base fee is what we like to offer; the base fee and the tip are what a block asks.
#[tokio::test(flavor = "multi_thread")]
async fn the_quoted_fee_is_offered_as_long_as_it_exceeds_the_base_fee() {
    with_node("", |scene| async move {
        scene.begin_at(CALM).await;
        let order = scene.order("pol", &items(100, 2)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        let quoted: u128 = order["quote"]["maxFeePerGasWei"].as_str().unwrap().parse().unwrap();
        scene.send_deposit(&order, due(&order)).await;
        scene.mine(1).await;
        // Twice that is above the quote, and that with a tip is not.
        let base = quoted * 3 / 5;
        scene.set_base_fee(base).await;
        scene.mine(1).await;
        scene.sent(&id, "pay", 2).await;
        assert_eq!(scene.fee_rates(1).await.0, quoted);
        fired(1);
        let story = scene.mine_at(base, &id, is_settled).await;
        assert_eq!(story.order.state.as_str(), "completed");
        assert!(story.payments.iter().all(|payment| payment.versions == 1), "{:?}", story.payments);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_whose_quote_a_fivefold_base_fee_exceeds_can_be_cancelled_and_is_refunded() {
    with_node("", |scene| async move {
        let (order, id) = scene.outpriced().await;
        let path = format!("{EVM}/{id}/cancel");
        let cancelled = scene.payer.merchant.client.post(&path, &json!({})).await;
        assert_eq!(cancelled.status, 200, "{}", cancelled.body);
        assert_eq!(cancelled.json()["data"]["cancelledBy"], "merchant");
        fired(1);
        let story = scene.mine_at(5 * CALM, &id, is_settled).await;
        assert_eq!(story.order.state.as_str(), "cancelled");
        let books = story.order.books;
        assert_eq!(books.returned.get() + books.kept.get(), due(&order));
        // Of the fees nothing is kept but what the refund may cost.
        assert!(books.kept.get() <= 40_000 * 12 * CALM, "{books:?}");
        assert_eq!(scene.kept_by_the_ledger().await, books.kept.get());
        assert_eq!(scene.anvil.coins(&evm_address(900)).await.unwrap(), books.returned.get());
        for n in [100, 101] {
            assert_eq!(scene.anvil.coins(&evm_address(n)).await.unwrap(), 0);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_whose_quote_a_fivefold_base_fee_exceeds_is_requoted_and_paid_after_a_top_up() {
    with_node("", |scene| async move {
        let (order, id) = scene.outpriced().await;
        eventually("the higher fee is noted", async || {
            let noted = scene.number("select fee_rate from network_fee").await;
            (noted > 8 * CALM).then_some(())
        })
        .await;
        let path = format!("{EVM}/{id}/refresh-quote");
        let answer = scene.payer.merchant.client.post(&path, &json!({})).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let refreshed = answer.json()["data"].clone();
        assert_eq!(
            (&refreshed["state"], &refreshed["fundingStatus"]),
            (&json!("pending_deposit"), &json!("underfunded"))
        );
        assert_eq!(refreshed["depositAddress"], order["depositAddress"]);
        let missing: u128 = refreshed["missingRaw"].as_str().unwrap().parse().unwrap();
        assert_eq!(missing, due(&refreshed) - due(&order));
        assert!(missing > 0, "{refreshed}");
        fired(1);
        // At what a block asks by itself: the node prices it by that.
        scene.send_deposit(&order, missing).await;
        scene.mine(1).await;
        let story = scene.mine_at(5 * CALM, &id, is_settled).await;
        assert_eq!(story.order.state.as_str(), "completed");
        let books = story.order.books;
        assert_eq!(books.paid.get() + books.returned.get() + books.kept.get(), due(&refreshed));
        assert_eq!(scene.kept_by_the_ledger().await, books.kept.get());
        for n in [100, 101] {
            let paid = scene.anvil.coins(&evm_address(n)).await.unwrap();
            assert_eq!(paid, u128::from(n) * COIN / 100);
        }
    })
    .await;
}

/// What the quote does not cover of a refund our own fee pays, before the merchant's money waits
/// for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_costs_more_than_was_quoted_may_use_the_service_fee() {
    with_node("payouts.service_fee_bps = 500", |scene| async move {
        scene.begin_at(CALM).await;
        let order = scene.order("pol", &items(100, 2)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        let quoted: u128 = order["quote"]["maxFeePerGasWei"].as_str().unwrap().parse().unwrap();
        let surplus = COIN / 2;
        scene.fund(&order, due(&order) + surplus).await;
        scene.sent(&id, "pay", 2).await;
        scene.mine(1).await;
        let is_sent = |story: &Story| {
            story
                .payments
                .iter()
                .any(|one| one.purpose == Purpose::Refund && one.state == PaymentState::Sent)
        };
        scene.mine_at(5 * CALM, &id, is_sent).await;
        let rate = "select max(v.fee_rate) from payout_version v \
                    join payout_payment p on p.id = v.payment_id where p.purpose = 'refund'";
        assert!(scene.number(rate).await > quoted);
        fired(1);
        let story = scene.mine_at(5 * CALM, &id, is_settled).await;
        assert_eq!(story.order.state.as_str(), "completed");
        // With the part of the fees that the payments left over: nothing was taken for the refund.
        let returned = story.order.books.returned.get();
        assert!(returned >= surplus, "{:?}", story.order.books);
        assert_eq!(scene.anvil.coins(&evm_address(900)).await.unwrap(), returned);
    })
    .await;
}

/// Suspension stops new signatures; what was sent may still be helped into a block.
#[tokio::test(flavor = "multi_thread")]
async fn a_sent_payment_of_a_suspended_merchant_is_still_replaced() {
    with_node("", |scene| async move {
        let order = scene.order("pol", &items(1, 2)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.fund(&order, due(&order)).await;
        scene.sent(&id, "pay", 2).await;
        let merchant = scene.payer.merchant.new.id;
        scene.stack.gateway.set_suspended(merchant, true).await.unwrap();
        assert_eq!(scene.stack.gateway.bump_order(&id).await.unwrap(), 2);
        eventually("the second versions are sent", async || {
            let payments = scene.payer.story(&id).await.payments;
            payments.iter().all(|p| p.versions >= 2 && p.state == PaymentState::Sent).then_some(())
        })
        .await;
        fired(2);
        let is_completed = |story: &Story| story.order.state.as_str() == "completed";
        let story = scene.mine_until(&id, is_completed, async |_, _| ()).await;
        assert!(!story.order.books.left().is_zero());
        // The unused fee is sent back once payments may be signed again.
        scene.stack.gateway.set_suspended(merchant, false).await.unwrap();
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert!(
            story.payments.iter().any(|p| p.purpose == Purpose::Refund),
            "{:?}",
            story.payments
        );
    })
    .await;
}
