//! Many hands on one order at once.

use gateway::asset::Network;
use serde_json::json;
use support::{
    broker::eventually,
    payouts::{Payer, evm_address},
    stack::{only, with_configured_stack},
};

use super::{EVM, two_rows};

/// 50 decisions at once, and money arriving meanwhile: one legal state, one event of each kind, every unit accounted for.
#[tokio::test(flavor = "multi_thread")]
async fn parallel_confirms_cancels_and_refreshes_end_in_one_legal_state() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(EVM, &id).await;
        let (gateway, merchant) = (&stack.gateway, payer.merchant.new.id);
        let decide = async |n: usize| match n % 5 {
            0 | 1 => gateway.confirm_payout(merchant, &id, &Default::default()).await.is_ok(),
            2 | 3 => gateway.refresh_payout(merchant, &id).await.is_ok(),
            _ => gateway.cancel_payout(merchant, &id).await.is_ok(),
        };
        let all = futures_util::future::join_all((0..50).map(decide));
        let (_, _) = tokio::join!(all, payer.fund(&order, 50_000_000));
        eventually("the deposit is booked", async || {
            let books = payer.story(&id).await.order.books;
            (!books.credited.is_zero() || !books.late.is_zero()).then_some(())
        })
        .await;
        let story = payer.settles(&id).await;
        let state = story.order.state.as_str();
        assert!(["cancelled", "completed"].contains(&state), "{state}");
        let kinds: Vec<_> = story.events.iter().map(|event| event.kind.as_str()).collect();
        let count = |kind: &str| kinds.iter().filter(|k| **k == kind).count();
        assert_eq!(count("mass_payout.created"), 1);
        assert_eq!(count("mass_payout.cancelled"), usize::from(state == "cancelled"));
        assert_eq!(count("mass_payout.completed"), usize::from(state == "completed"));
        let books = story.order.books;
        let in_all = books.credited.get() + books.late.get();
        assert_eq!(in_all, 50_000_000);
        assert_eq!(books.paid.get() + books.returned.get() + books.kept.get(), in_all);
        let chain = payer.received_on_chain("polygon").await;
        let paid = [1, 2].map(|n| chain.get(&evm_address(n)).map_or(0, |(count, _)| *count));
        assert_eq!(paid, if state == "completed" { [1, 1] } else { [0, 0] });
    })
    .await;
}

/// Two processes, and messages that come twice or were typed by a stranger, pay nobody twice.
#[tokio::test(flavor = "multi_thread")]
async fn any_number_of_workers_and_messages_pays_once() {
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
        // A message alone starts nothing: the order is not confirmed, let alone funded.
        stack.broker.publish_by_hand(&work, &message).await;
        let order = payer.confirm(EVM, &id).await;
        stack.broker.publish_by_hand(&work, &message).await;
        assert!(payer.story(&id).await.payments.is_empty());
        payer.fund(&order, order["totalToSendRaw"].as_str().unwrap().parse().unwrap()).await;
        for _ in 0..40 {
            stack.broker.publish_by_hand(&work, &message).await;
        }
        payer.becomes(&id, "completed").await;
        let chain = payer.received_on_chain("polygon").await;
        for n in 1..=60 {
            assert_eq!(chain[&evm_address(n)], (1, "1000000".to_owned()));
        }
    })
    .await;
}
