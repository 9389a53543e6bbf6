//! Payments that their node lists no more: forgotten, replaced or reorganised, and waited for all
//! the same.

use std::sync::Arc;

use bitcoin::OutPoint;
use gateway::{
    app::Gateway,
    asset::Network,
    chain::{Reading, Transfer, TransferAmount, TransferAsset},
    invoice::{
        Status,
        lifecycle::{Hold, Verdict},
    },
    merchant::settings::Settings,
    money::BaseUnits,
};
use serde_json::json;
use support::{
    fault::fired::fired,
    node::scripted_chain::ScriptedChain,
    server::stack::with_stack,
    shop::{Shop, with_shop},
};

use super::chain_watcher::{NETWORK, over, payment, under_way};

const CONFIRMING: Verdict = Verdict::Held(Hold::PaymentConfirming);
/// More than any network's `vanished_hold`.
const LONG_AGO: &str = "update deposit set updated_at = updated_at - interval '1 hour'";

/// Decides as the timer's worker does.
async fn decide(shop: &Shop, id: &str) -> Verdict {
    let (gateway, row) = (&shop.stack.gateway, shop.row_id(id).await);
    gateway.expire_quiet(&[row]).await.unwrap();
    gateway.expire_invoice(row).await.unwrap()
}

/// Reads up to the head with a new follower, which notes its first complete look at once.
async fn read_whole(gateway: &Gateway, chain: &ScriptedChain) {
    let mut follower = over(gateway, chain);
    while !follower.look(gateway).await.unwrap().complete {}
}

async fn match_first(shop: &Shop, id: &str) {
    let deposit = shop.deposit_of(id).await;
    shop.stack.gateway.match_deposits(deposit).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_its_node_no_longer_lists_delays_the_expiry_for_some_minutes() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let chain = ScriptedChain::new(NETWORK, 100);
        read_whole(gateway, &chain).await;
        let (mined, gone) = (shop.invoice().await, shop.invoice().await);
        let paid = payment(&shop, &mined, "0xa").await;
        chain.script().waiting = vec![paid.clone(), payment(&shop, &gone, "0xb").await];
        read_whole(gateway, &chain).await;
        // The node starts again, with an empty mempool.
        chain.script().waiting.clear();
        read_whole(gateway, &chain).await;
        for id in [&mined, &gone] {
            assert_eq!(under_way(&shop, id).await, (0, None));
            shop.end_window(id, 0).await;
        }
        read_whole(gateway, &chain).await;
        for id in [&mined, &gone] {
            assert_eq!(decide(&shop, id).await, CONFIRMING);
            fired(1);
        }
        chain.script().mine(0, vec![paid]);
        (1..16).for_each(|_| chain.script().mine(0, Vec::new()));
        read_whole(gateway, &chain).await;
        decide(&shop, &mined).await;
        assert_eq!(shop.status(&mined).await, Status::Paid);
        // No deadline waits for ever.
        assert_eq!(decide(&shop, &gone).await, CONFIRMING);
        shop.run(LONG_AGO).await;
        assert_eq!(decide(&shop, &gone).await, Verdict::Moved);
        assert_eq!(shop.status(&gone).await, Status::Expired);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_missing_while_the_node_loads_its_mempool_has_not_vanished() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let chain = ScriptedChain::new(NETWORK, 100);
        read_whole(gateway, &chain).await;
        let id = shop.invoice().await;
        chain.script().waiting = vec![payment(&shop, &id, "0xa").await];
        read_whole(gateway, &chain).await;
        chain.script().waiting.clear();
        for (reading, seen) in
            [(Reading::Loading, (100_000_000, Some(0))), (Reading::Whole, (0, None))]
        {
            chain.script().reading = reading;
            read_whole(gateway, &chain).await;
            assert_eq!(under_way(&shop, &id).await, seen, "{reading:?}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_whose_block_was_replaced_counts_by_the_date_of_that_block() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let chain = ScriptedChain::new(NETWORK, 100);
        let start = shop.number("select extract(epoch from now())::bigint").await;
        chain.script().mine_at(start - 60, Vec::new());
        read_whole(gateway, &chain).await;
        let id = shop.invoice().await;
        let paid = payment(&shop, &id, "0xa").await;
        // Mined in time, read after the deadline.
        let now = shop.number("select extract(epoch from now())::bigint").await;
        shop.end_window(&id, (now - start + 30).try_into().unwrap()).await;
        chain.script().mine_at(start - 40, vec![paid.clone()]);
        read_whole(gateway, &chain).await;
        assert_eq!(decide(&shop, &id).await, CONFIRMING);
        // Another block takes the place of that one, and the payment waits for the next.
        chain.script().roll_back(1);
        (0..2).for_each(|_| chain.script().mine_at(start, Vec::new()));
        fired(over(gateway, &chain).look(gateway).await.unwrap().rewound);
        read_whole(gateway, &chain).await;
        assert_eq!(under_way(&shop, &id).await, (0, None));
        assert_eq!(decide(&shop, &id).await, CONFIRMING);
        chain.script().mine_at(start + 2, vec![paid]);
        (1..16).for_each(|_| chain.script().mine(0, Vec::new()));
        read_whole(gateway, &chain).await;
        match_first(&shop, &id).await;
        assert_eq!(shop.status(&id).await, Status::Paid);
        assert_eq!(shop.events(&id).await, ["finished"]);
    })
    .await;
}

/// Bitcoin that pays an invoice and spends one output.
async fn spending(shop: &Shop, id: &str, tx_hash: &str, coin: u32) -> Transfer {
    let invoice = shop.payment(id).await;
    let units = shop.number("select max(pay_amount)::bigint from invoice").await;
    Transfer {
        key: format!("{tx_hash}:0"),
        tx_hash: tx_hash.to_owned(),
        to: invoice["pay_address"].as_str().unwrap().to_owned(),
        from: None,
        asset: TransferAsset::Native,
        amount: TransferAmount::Units(BaseUnits::new(units.try_into().unwrap())),
        maturity: 1,
        spends: Arc::new([OutPoint { vout: coin, ..OutPoint::null() }]),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_whose_fee_was_raised_after_the_deadline_was_made_in_time() {
    with_stack(|stack| async move {
        let shop = Shop::open(&stack, Settings::default()).await;
        let gateway = &shop.stack.gateway;
        let chain = ScriptedChain::new(Network::Bitcoin, 100);
        read_whole(gateway, &chain).await;
        let invoice =
            async || shop.invoice_of(json!({ "pay_currency": "btc", "price_amount": 250 })).await;
        // One is replaced where we see it, one in the block itself, and one is paid anew with
        // another coin.
        let (seen, unseen, other) = (invoice().await, invoice().await, invoice().await);
        let mut first = Vec::new();
        for (coin, id) in [&seen, &unseen, &other].into_iter().enumerate() {
            let coin = u32::try_from(coin).unwrap();
            first.push(spending(&shop, id, &format!("{coin:064x}"), coin).await);
        }
        chain.script().waiting = first;
        read_whole(gateway, &chain).await;
        for id in [&seen, &unseen, &other] {
            shop.end_window(id, 0).await;
        }
        let second = [
            spending(&shop, &seen, &"a".repeat(64), 0).await,
            spending(&shop, &unseen, &"b".repeat(64), 1).await,
            spending(&shop, &other, &"c".repeat(64), 7).await,
        ];
        chain.script().waiting = vec![second[0].clone()];
        read_whole(gateway, &chain).await;
        assert_eq!(decide(&shop, &seen).await, CONFIRMING);
        chain.script().waiting.clear();
        let start = shop.number("select extract(epoch from now())::bigint").await;
        chain.script().mine_at(start + 600, second.to_vec());
        (1..6).for_each(|_| chain.script().mine(0, Vec::new()));
        read_whole(gateway, &chain).await;
        shop.run(LONG_AGO).await;
        for (id, status) in
            [(&seen, Status::Paid), (&unseen, Status::Paid), (&other, Status::Expired)]
        {
            decide(&shop, id).await;
            assert_eq!(shop.status(id).await, status, "{id}");
        }
        fired(2);
    })
    .await;
}
