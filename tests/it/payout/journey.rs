//! The specification's events as scenarios (spec, "Mass-payout webhooks").

use std::time::Duration;

use serde_json::{Value, json};
use support::{
    server::{
        broker::eventually,
        processes::within,
        stack::{Stack, only, with_configured_stack},
    },
    shop::payouts::{Payer, evm_address},
};

use super::{EVM, LTC, LTC_REFUND, UTXO, two_rows};
use gateway::{asset::Network, broker::route::WorkQueue};
use gateway_workers::Role;

fn raw(order: &Value, name: &str) -> u128 {
    order[name].as_str().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_quoted_funded_and_sent_once_with_webhooks_in_order() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let draft = payer.draft(EVM, two_rows()).await;
        assert_eq!((&draft["state"], &draft["depositAddress"]), (&json!("draft"), &Value::Null));
        assert_eq!(draft["payoutTotalRaw"], "12500000");
        let fees = raw(&draft, "networkFeeRaw") + raw(&draft, "serviceFeeRaw");
        assert_eq!(raw(&draft, "totalToSendRaw"), 12_500_000 + fees);
        let id = draft["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(EVM, &id).await;
        assert_eq!(order["state"], "pending_deposit");
        payer.fund(&order, raw(&order, "totalToSendRaw")).await;
        let story = payer.becomes(&id, "completed").await;

        let names = payer.event_names(5).await;
        let expected =
            ["created", "deposit_detected", "batch_broadcasted", "batch_confirmed", "completed"];
        assert_eq!(names, expected);
        let events = payer.events();
        let states: Vec<_> = events.iter().map(|event| event["order"]["state"].clone()).collect();
        let in_snapshot =
            ["pending_deposit", "pending_deposit", "processing", "processing", "completed"];
        assert_eq!(states, in_snapshot);
        assert_eq!(events[3]["order"]["lastBatch"]["state"], "confirmed");
        assert!(events.iter().all(|event| event["order"]["id"] == id.as_str()));

        let chain = payer.received_on_chain("polygon").await;
        assert_eq!(chain[&evm_address(1)], (1, "10000000".to_owned()));
        assert_eq!(chain[&evm_address(2)], (1, "2500000".to_owned()));
        let books = story.order.books;
        assert_eq!((books.paid.get(), books.kept.get()), (12_500_000, fees));
        assert!(books.left().is_zero() && books.reserved.is_zero());

        let items = payer.merchant.client.get(&format!("{EVM}/{id}/items")).await.json();
        assert_eq!(items["total"], 2);
        assert_eq!(items["data"][0]["state"], "confirmed");
        assert!(items["data"][0]["txHash"].as_str().unwrap().starts_with("0x"));
        let report = payer.merchant.client.get(&format!("{EVM}/{id}/report.csv")).await.body;
        assert!(
            report.starts_with(
                "row,address,amount,netAmountRaw,reference,memo,state,txHash,error\r\n"
            )
        );
        assert_eq!(report.lines().count(), 3);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_transaction_pays_a_whole_batch_where_transactions_have_many_outputs() {
    with_configured_stack(&only(Network::Litecoin), |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let csv = format!("address;amount;reference\r\n{LTC};1.25;inv-1\r\n{LTC};0.5;inv-2\r\n");
        let fields = json!({ "network": "litecoin", "currency": "ltc", "csv": csv });
        let id = payer.draft(UTXO, fields).await["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(UTXO, &id).await;
        payer.fund(&order, raw(&order, "totalToSendRaw")).await;
        let story = payer.becomes(&id, "completed").await;
        assert_eq!(story.payments.len(), 1);
        let chain = payer.received_on_chain("litecoin").await;
        assert_eq!(chain[LTC], (2, "175000000".to_owned()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_underfunded_order_waits_and_a_surplus_is_refunded() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(EVM, &id).await;
        let due = raw(&order, "totalToSendRaw");
        payer.fund(&order, due - 1).await;
        assert_eq!(payer.event_names(3).await, ["created", "deposit_detected", "underfunded"]);
        assert_eq!(payer.events()[2]["order"]["missingRaw"], "1");
        payer.fund(&order, 1_001).await;
        let story = payer.settles(&id).await;
        assert_eq!(story.order.state.as_str(), "completed");
        assert_eq!(story.order.books.returned.get(), 1_000);
        let chain = payer.received_on_chain("polygon").await;
        assert_eq!(chain[&evm_address(900)], (1, "1000".to_owned()));
        let names = payer.event_names(8).await;
        assert_eq!(names[3..5], ["deposit_detected", "overfunded"]);
        assert_eq!(payer.events()[4]["order"]["state"], "funded");
        assert_eq!(payer.events()[4]["order"]["surplusRaw"], "1000");
        assert_eq!(names[7], "completed");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn late_and_surplus_deposits_are_refunded_to_the_unit() {
    let toml = only(Network::Litecoin) + "payouts.funding_seconds = 2\n";
    with_configured_stack(&toml, |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let fields = json!({
            "network": "litecoin", "currency": "ltc", "refundAddress": LTC_REFUND,
            "items": [{ "address": LTC, "amount": "1" }],
        });
        let id = payer.draft(UTXO, fields.clone()).await["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(UTXO, &id).await;
        payer.fund(&order, 5_000_000).await;
        let story = payer.becomes(&id, "expired").await;
        assert_eq!(story.order.funding.as_str(), "underfunded");
        let story = payer.settles(&id).await;
        let sent = story.order.books.returned.get() + story.order.books.kept.get();
        assert_eq!(sent, 5_000_000);
        // Money that arrives after the end is refunded as well.
        payer.fund(&order, 7_000_000).await;
        eventually("the second refund", async || {
            let books = payer.story(&id).await.order.books;
            (books.late.get() == 7_000_000 && books.left().is_zero() && books.reserved.is_zero())
                .then_some(())
        })
        .await;
        let books = payer.story(&id).await.order.books;
        let chain = payer.received_on_chain("litecoin").await;
        assert_eq!(chain[LTC_REFUND], (2, books.returned.get().to_string()));
        assert_eq!(books.returned.get() + books.kept.get(), 12_000_000);
        assert!(!chain.contains_key(LTC));
        let names = payer.event_names(4).await;
        assert_eq!(names, ["created", "deposit_detected", "underfunded", "expired"]);

        let id = payer.draft(UTXO, fields).await["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(UTXO, &id).await;
        let cancelled =
            payer.merchant.client.post(&format!("{UTXO}/{id}/cancel"), &json!({})).await;
        assert_eq!(cancelled.json()["data"]["cancelledBy"], "merchant");
        payer.fund(&order, 6_000_000).await;
        eventually("the deposit is booked", async || {
            (payer.story(&id).await.order.books.late.get() == 6_000_000).then_some(())
        })
        .await;
        let story = payer.settles(&id).await;
        assert_eq!(story.order.state.as_str(), "cancelled");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_recipients_are_paid_once_each() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let mut csv = "address,amount\n".to_owned();
        for n in 0..2_000_u32 {
            csv.push_str(&format!("{},0.{:06}\n", evm_address(1_000 + n), n + 1));
        }
        let fields = json!({ "network": "polygon", "currency": "usdtmatic", "csv": csv });
        let draft = payer.draft(EVM, fields).await;
        assert_eq!((&draft["itemCount"], &draft["batchCount"]), (&json!(2_000), &json!(40)));
        let id = draft["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(EVM, &id).await;
        payer.fund(&order, raw(&order, "totalToSendRaw")).await;
        let (story, took) =
            within(Duration::from_secs(240), "2,000 recipients are paid", async || {
                let story = payer.story(&id).await;
                let state = story.order.state.as_str();
                if state == "completed" {
                    Ok(story)
                } else {
                    Err(format!("{state}, {:?}", story.order.books))
                }
            })
            .await;
        println!("2,000 recipients were paid in {took:?}");
        assert_eq!(story.order.books.paid.get(), 2_000 * 2_001 / 2);
        let chain = payer.received_on_chain("polygon").await;
        for n in 0..2_000_u32 {
            assert_eq!(chain[&evm_address(1_000 + n)], (1, (n + 1).to_string()));
        }
        let names = payer.event_names(2 + 2 * 40 + 1).await;
        assert_eq!(names.iter().filter(|name| *name == "batch_confirmed").count(), 40);
        assert_eq!(names.last().unwrap(), "completed");
    })
    .await;
}

/// Drops the queued and the unpublished messages for the payers.
async fn lose_messages(stack: &Stack) {
    stack.sql("delete from outbox").await;
    let work = stack.broker.topology.work_queue(WorkQueue::Payout);
    let vhost = stack.broker.management.vhost().to_owned();
    stack.broker.delete(&["queues", &vhost, &work, "contents"]).await;
}

async fn is_refunded_without_messages(is_cancelled_first: bool) {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start(&[Role::ChainWatcher, Role::DepositMatching]);
        let payer = Payer::open(&stack).await;
        let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(EVM, &id).await;
        if is_cancelled_first {
            stack.gateway.cancel_any_payout(&id).await.unwrap();
            // As after a look that found nothing to refund.
            stack.sql("delete from timer where kind = 'payout'").await;
        }
        payer.fund(&order, 1_000_000).await;
        eventually("the deposit is booked", async || {
            let books = payer.story(&id).await.order.books;
            (books.credited.get() + books.late.get() == 1_000_000).then_some(())
        })
        .await;
        if !is_cancelled_first {
            stack.gateway.cancel_any_payout(&id).await.unwrap();
        }
        lose_messages(&stack).await;
        stack.start(&[Role::ExpiryTimer, Role::PayoutBatch]);
        let books = payer.settles(&id).await.order.books;
        assert_eq!(books.returned.get() + books.kept.get(), 1_000_000);
        assert!(!books.returned.is_zero());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn funds_of_a_cancelled_order_are_refunded_even_without_a_message() {
    is_refunded_without_messages(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deposits_after_an_order_ended_are_refunded_even_without_a_message() {
    is_refunded_without_messages(true).await;
}
