//! Concurrent operations on one order.

use gateway::asset::Network;
use serde_json::json;
use support::{
    fault::fired::fired,
    server::{
        broker::eventually,
        stack::{only, with_configured_stack},
    },
    shop::payouts::{Payer, evm_address},
};

use super::{EVM, two_rows};

/// 50 decisions at once, and a deposit meanwhile: one legal state, one event of each kind, every
/// unit accounted for.
async fn ends_in_one_legal_state(is_confirmed_before: bool) {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
        if is_confirmed_before {
            payer.confirm(EVM, &id).await;
        }
        let (gateway, merchant) = (&stack.gateway, payer.merchant.new.id);
        let decide = async |n: usize| match n % 5 {
            0 | 1 => gateway.confirm_payout(merchant, &id, &Default::default()).await.is_ok(),
            2 | 3 => gateway.refresh_payout(merchant, &id).await.is_ok(),
            _ => gateway.cancel_payout(merchant, &id).await.is_ok(),
        };
        let all = futures_util::future::join_all((0..50).map(decide));
        let (_, came) = tokio::join!(all, fund_if_confirmed(&payer, &id));
        eventually("the deposit is booked", async || {
            let books = payer.story(&id).await.order.books;
            (books.credited.get() + books.late.get() == came).then_some(())
        })
        .await;
        let story = payer.settles(&id).await;
        let state = story.order.state.as_str();
        assert!(["cancelled", "completed"].contains(&state), "{state}");
        let kinds: Vec<_> = story.events.iter().map(|event| event.kind.as_str()).collect();
        let count = |kind: &str| kinds.iter().filter(|k| **k == kind).count();
        assert_eq!(count("mass_payout.created"), usize::from(came > 0));
        assert_eq!(count("mass_payout.cancelled"), usize::from(state == "cancelled"));
        assert_eq!(count("mass_payout.completed"), usize::from(state == "completed"));
        let books = story.order.books;
        assert_eq!(books.paid.get() + books.returned.get() + books.kept.get(), came);
        let chain = payer.received_on_chain("polygon").await;
        let paid = [1, 2].map(|n| chain.get(&evm_address(n)).map_or(0, |(count, _)| *count));
        assert_eq!(paid, if state == "completed" { [1, 1] } else { [0, 0] });
    })
    .await;
}

/// Overpays as soon as the order has an address; returns the amount, or zero if the order was
/// cancelled before.
async fn fund_if_confirmed(payer: &Payer, id: &str) -> u128 {
    let address_or_end = async || {
        let order = payer.story(id).await.order;
        (order.deposit.is_some() || order.state.is_terminal()).then_some(order.deposit.is_some())
    };
    if !eventually("it is confirmed or cancelled", address_or_end).await {
        return 0;
    }
    let order = serde_json::from_str(&payer.story(id).await.object).unwrap();
    payer.fund(&order, 50_000_000).await;
    50_000_000
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_confirms_cancels_and_refreshes_of_a_draft_end_in_one_legal_state() {
    ends_in_one_legal_state(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_confirms_cancels_and_refreshes_end_in_one_legal_state() {
    ends_in_one_legal_state(true).await;
}

/// Workers side by side, and messages that are duplicated or forged, pay no recipient twice.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_workers_and_repeated_messages_pay_once() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        use gateway::broker::route::WorkQueue;
        use gateway_workers::Role;
        for _ in 0..3 {
            stack.start(&[Role::PayoutBatch]);
        }
        stack.start(&[Role::ChainWatcher, Role::DepositMatching, Role::ExpiryTimer]);
        let payer = Payer::open(&stack).await;
        let items: Vec<_> =
            (1..=60).map(|n| json!({ "address": evm_address(n), "amount": "1" })).collect();
        let fields = json!({ "network": "polygon", "currency": "usdtmatic", "items": items });
        let id = payer.draft(EVM, fields).await["id"].as_str().unwrap().to_owned();
        let row = payer.story(&id).await.order.id;
        let work = stack.broker.topology.work_queue(WorkQueue::Payout);
        let message = json!({ "order_id": row }).to_string();
        // A message alone starts nothing: the order is neither confirmed nor funded.
        stack.broker.publish_by_hand(&work, &message).await;
        let order = payer.confirm(EVM, &id).await;
        stack.broker.publish_by_hand(&work, &message).await;
        assert!(payer.story(&id).await.payments.is_empty());
        payer.fund(&order, order["totalToSendRaw"].as_str().unwrap().parse().unwrap()).await;
        for _ in 0..40 {
            stack.broker.publish_by_hand(&work, &message).await;
            fired(1);
        }
        payer.becomes(&id, "completed").await;
        let chain = payer.received_on_chain("polygon").await;
        for n in 1..=60 {
            assert_eq!(chain[&evm_address(n)], (1, "1000000".to_owned()));
        }
    })
    .await;
}
