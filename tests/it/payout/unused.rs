//! The network fee of a quote: made of measured gas, and returned as far as nothing took it.

use gateway::{app::payout::Story, asset::Network};
use rust_decimal::{Decimal, prelude::ToPrimitive};
use serde_json::{Value, json};
use support::{fault::fired::fired, shop::payouts::evm_address};

use super::{
    EVM,
    node::{COIN, Scene, USDT, due, is_settled, items, with_node},
};

const ROWS: u32 = 12;

fn raw(object: &Value, name: &str) -> u128 {
    object[name].as_str().unwrap().parse().unwrap()
}

/// Fees that blocks have taken for an order, in its own token at its own prices.
async fn taken(scene: &Scene, story: &Story) -> u128 {
    let query =
        format!("select sum(fee) from payout_payment where order_id = '{}'", story.order.id);
    let wei = Decimal::from(scene.number(&query).await) / Decimal::from(COIN);
    let quote = &story.order.quote;
    let tokens = wei * quote.native_price_usd / quote.asset_price_usd;
    (tokens * Decimal::from(1_000_000)).ceil().to_u128().unwrap()
}

async fn paid(scene: &Scene, first: u32) -> (Value, Story) {
    let order = scene.order("usdtmatic", &items(first, ROWS)).await;
    scene.fund(&order, due(&order)).await;
    let story = scene.mine_until(order["id"].as_str().unwrap(), is_settled, async |_, _| ()).await;
    assert_eq!(story.order.state.as_str(), "completed");
    (order, story)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_quoted_at_the_gas_it_took_and_what_is_not_used_goes_back() {
    with_node("", |scene| async move {
        scene.anvil.set_coins(&scene.gas, 10 * COIN).await.unwrap();
        let (first, story) = paid(&scene, 1).await;
        let books = story.order.books;
        // All but the fees, those of the refund and of the gas that came back included.
        assert_eq!(books.paid.get() + books.returned.get() + books.kept.get(), due(&first));
        let fees = raw(&first, "networkFeeRaw");
        let kept = books.kept.get() - raw(&first, "serviceFeeRaw");
        let taken = taken(&scene, &story).await;
        assert!(kept >= taken, "{kept} of {fees} are kept, and {taken} were taken");
        assert!(books.returned.get() > fees / 2, "{kept} of {fees} are kept, {taken} were taken");
        let refunded = scene.anvil.tokens(USDT, &evm_address(900)).await.unwrap();
        assert_eq!(refunded, books.returned.get());
        let sum = "select sum(case kind when 'payout_fee' then amount else -amount end) from ledger_entry \
                   where kind in ('payout_fee', 'payout_fee_returned')";
        assert_eq!(scene.number(sum).await, books.kept.get());
        fired(1);

        // The same at the measured gas and a quarter more.
        let gas = scene.number("select gas from token_gas where token_id = 'usdtmatic@polygon'").await;
        assert!(gas > 40_000 && gas < 80_000, "{gas}");
        scene.stack.gateway.note_network_fee(Network::Polygon).await.unwrap();
        let (second, story) = paid(&scene, 100).await;
        let work = |gas: u128| u128::from(ROWS + 1) * gas + 40_000;
        let rate = |order: &Value| order["quote"]["maxFeePerGasWei"].as_str().unwrap().parse::<u128>().unwrap();
        let per_rate = |order: &Value| raw(order, "networkFeeRaw") * 1_000_000_000_000 / rate(order);
        let expected = per_rate(&first) * work(gas * 5 / 4) / work(120_000);
        let found = per_rate(&second);
        assert!(found.abs_diff(expected) < expected / 50, "{found} instead of {expected}");
        let books = story.order.books;
        assert_eq!(books.paid.get() + books.returned.get() + books.kept.get(), due(&second));
        assert!(!books.returned.is_zero());
    })
    .await;
}

/// Nobody said where it should go: then nothing waits for him.
#[tokio::test(flavor = "multi_thread")]
async fn an_order_without_a_refund_address_ends_with_nothing_left() {
    with_node("", |scene| async move {
        let fields = json!({ "network": "polygon", "currency": "pol", "items": items(1, 2) });
        let id = scene.payer.draft(EVM, fields).await["id"].as_str().unwrap().to_owned();
        let order = scene.payer.confirm(EVM, &id).await;
        scene.fund(&order, due(&order)).await;
        let story = scene.mine_until(&id, is_settled, async |_, _| ()).await;
        let books = story.order.books;
        assert_eq!(books.paid.get() + books.kept.get(), due(&order));
        assert_eq!(story.payments.len(), 2, "{:?}", story.payments);
    })
    .await;
}
