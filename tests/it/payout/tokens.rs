//! Tokens on a real EVM node: fronted gas, logs as proof, recipients refused by the token.

use gateway::payout::{
    hold::HoldCause,
    payment::{PaymentState, Purpose},
};
use serde_json::json;
use support::{fault::fired::fired, server::broker::eventually, shop::payouts::evm_address};

use super::{
    EVM,
    node::{COIN, Scene, USDT, due, is_settled, items, with_node},
};

const PAID: u32 = 40;
const SURPLUS: u128 = 1_234;

async fn tokens(scene: &Scene, address: &str) -> u128 {
    scene.anvil.tokens(USDT, address).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_recipient_gets_its_tokens_once_and_a_refused_recipient_fails_alone() {
    with_node("", |scene| async move {
        let refused = evm_address(501);
        scene.anvil.blacklist(USDT, &refused).await.unwrap();
        scene.anvil.set_coins(&scene.gas, COIN).await.unwrap();
        let mut rows = items(1, PAID);
        rows.insert(7, json!({ "address": refused, "amount": "3" }));
        let order = scene.order("usdtmatic", &rows).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.fund(&order, due(&order) + SURPLUS).await;
        let story = scene
            .mine_until(&id, is_settled, async |round, _| {
                if round % 5 == 3 {
                    fired(scene.forget_what_was_sent().await);
                }
            })
            .await;

        assert_eq!(story.order.state.as_str(), "partial_failed");
        for n in 1..=PAID {
            assert_eq!(tokens(&scene, &evm_address(n)).await, u128::from(n) * 10_000, "{n}");
        }
        assert_eq!(tokens(&scene, &refused).await, 0);
        let path = format!("{EVM}/{id}/items?state=failed");
        let failed = scene.payer.merchant.client.get(&path).await.json();
        assert_eq!((&failed["total"], &failed["data"][0]["address"]), (&json!(1), &json!(refused)));
        fired(1);
        let books = story.order.books;
        // With the fees of the row that never went out.
        let quote = &story.order.quote;
        let fees = quote.network_fee.get() + quote.service_fee.get();
        let unearned = fees - books.kept.get();
        let service = quote.service_fee.get() * 3_000_000 / story.order.payout_total.get();
        let network = unearned - service;
        // The margin of the price and of the gas goes back too.
        assert!(network > quote.network_fee.get() / 2, "{network} of {}", quote.network_fee.get());
        assert_eq!(books.returned.get(), 3_000_000 + SURPLUS + unearned);
        assert_eq!(tokens(&scene, &evm_address(900)).await, books.returned.get());
        let address = order["depositAddress"].as_str().unwrap();
        assert_eq!(tokens(&scene, address).await, books.kept.get());
        assert_eq!(
            books.paid.get() + books.returned.get() + books.kept.get(),
            due(&order) + SURPLUS
        );
        scene.gas_adds_up(&order, COIN).await;
        // No alert: neither our own gas, which is not a third party's deposit, nor a node that
        // refuses bytes because they are in the chain raises one.
        assert_eq!(scene.number("select count(*) from operator_alert").await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_gas_wallet_holds_the_order_until_it_has_coins_again() {
    with_node("", |scene| async move {
        let order = scene.order("usdtmatic", &items(1, 2)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.fund(&order, due(&order)).await;
        let held = eventually("it is held", async || {
            scene.payer.story(&id).await.order.held.map(|hold| hold.to_string())
        })
        .await;
        assert!(held.contains(&scene.gas) && held.contains("holds 0 POL"), "{held}");
        let query = "select count(*) from operator_alert where kind = 'payout_gas_empty'";
        assert_eq!(scene.number(query).await, 1);
        fired(1);
        assert!(scene.payer.story(&id).await.payments.is_empty());
        scene.anvil.set_coins(&scene.gas, COIN).await.unwrap();
        scene.run("update timer set due_at = now() where kind = 'payout'").await;
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!((story.order.state.as_str(), story.order.held), ("completed", None));
        scene.gas_adds_up(&order, COIN).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gas_has_a_limit_of_a_day() {
    with_node("payouts.gas_day_usd_max = 0", |scene| async move {
        scene.anvil.set_coins(&scene.gas, COIN).await.unwrap();
        let order = scene.order("usdtmatic", &items(1, 2)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.fund(&order, due(&order)).await;
        let held = eventually("it is held", async || {
            scene.payer.story(&id).await.order.held.map(|hold| hold.to_string())
        })
        .await;
        assert!(held.contains("limit of a day"), "{held}");
        assert!(scene.payer.story(&id).await.payments.is_empty());
    })
    .await;
}

/// A paused token refuses every recipient: no row fails for that.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_refuses_its_sender_fails_no_row() {
    with_node("", |scene| async move {
        scene.anvil.set_coins(&scene.gas, COIN).await.unwrap();
        let order = scene.order("usdtmatic", &items(1, 3)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        // The self-transfer that distinguishes the two is refused as well.
        let token = scene.anvil.rpc("eth_getCode", json!([USDT, "latest"])).await.unwrap();
        scene.fund(&order, due(&order)).await;
        eventually("it is funded", async || {
            (scene.payer.story(&id).await.order.state.as_str() != "pending_deposit").then_some(())
        })
        .await;
        scene.anvil.rpc("anvil_setCode", json!([USDT, "0x60006000fd"])).await.unwrap();
        let waiting = |story: &gateway::app::payout::Story| {
            story
                .payments
                .iter()
                .any(|p| p.purpose == Purpose::Gas && p.state == PaymentState::Confirmed)
        };
        scene.mine_until(&id, waiting, async |_, _| ()).await;
        let wallet = gateway::app::payout::Wallet::open(&scene.stack.gateway).unwrap();
        let row = scene.payer.story(&id).await.order.id;
        eventually("the refusal is seen", async || {
            scene.stack.gateway.advance_payout(row, &wallet).await.err()
        })
        .await;
        fired(1);
        let story = scene.payer.story(&id).await;
        assert!(story.order.books.failed.is_zero(), "{}", story.object);
        scene.anvil.rpc("anvil_setCode", json!([USDT, token])).await.unwrap();
        scene.run("update timer set due_at = now() where kind = 'payout'").await;
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!(story.order.state.as_str(), "completed");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_gas_is_sent_for_a_remainder_not_worth_refunding() {
    with_node("", |scene| async move {
        scene.anvil.set_coins(&scene.gas, COIN).await.unwrap();
        let order = scene.order("usdtmatic", &items(1, 2)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.stack.gateway.cancel_any_payout(&id).await.unwrap();
        scene.fund(&order, 1).await;
        let kept = "select count(*) from operator_alert where kind = 'payout_crumbs_kept'";
        eventually("it is kept", async || scene.number(kept).await.checked_sub(1)).await;
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!((story.order.books.kept.get(), story.payments.len()), (1, 0));
    })
    .await;
}

/// It waited for coins of the gas wallet, and what it has is enough by now.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_for_gas_ends_by_itself_once_no_gas_is_missing() {
    with_node("", |scene| async move {
        scene.anvil.set_coins(&scene.gas, COIN).await.unwrap();
        let order = scene.order("usdtmatic", &items(1, 2)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        scene.fund(&order, due(&order)).await;
        scene.sent(&id, "gas", 1).await;
        let hold = "update payout_order set held_at = now(), hold_reason = 'waits for gas: the network asks more'";
        scene.run(hold).await;
        fired(1);
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!((story.order.state.as_str(), story.order.held), ("completed", None));
    })
    .await;
}

/// Its merchant prices it anew meanwhile: then it begins again, and the hold for gas is of no use.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_held_for_gas_that_is_priced_anew_begins_again() {
    with_node("", |scene| async move {
        let order = scene.order("usdtmatic", &items(1, 2)).await;
        let id = order["id"].as_str().unwrap().to_owned();
        // More than any new price asks.
        scene.fund(&order, due(&order) * 2).await;
        let held = eventually("it is held", async || scene.payer.story(&id).await.order.held).await;
        assert!(held.cause() == HoldCause::Gas, "{held}");
        fired(1);
        let path = format!("{EVM}/{id}/refresh-quote");
        let refreshed = scene.payer.merchant.client.post(&path, &json!({})).await;
        assert_eq!(refreshed.status, 200, "{}", refreshed.body);
        scene.anvil.set_coins(&scene.gas, COIN).await.unwrap();
        scene.run("update timer set due_at = now() where kind = 'payout'").await;
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        assert_eq!((story.order.state.as_str(), story.order.held), ("completed", None));
    })
    .await;
}
