//! An attacker with write access to the broker: messages with true ids, at the wrong time, change
//! nothing.

use std::num::NonZeroU16;

use gateway::{
    app::delivery::{DeliverError, InFlight, Lane, PAYOUT},
    asset::Network,
    broker::{
        envelope::{DeliveryRef, DepositRef, InvoiceRef, Turn, encode},
        route::WorkQueue,
    },
    invoice::Status,
};
use gateway_workers::Role;
use serde_json::json;
use support::shop::{unconfirmed, with_shop};

#[tokio::test(flavor = "multi_thread")]
async fn forged_messages_with_valid_ids_change_no_state_and_send_no_webhook() {
    with_shop(|shop| async move {
        let broker = &shop.stack.broker;
        let queue = |queue| broker.topology.work_queue(queue);
        // Open, seen but unconfirmed, and already delivered.
        let open = shop.invoice().await;
        let seen = shop.invoice().await;
        shop.send(&unconfirmed(&seen, "100")).await;
        shop.look(Network::Polygon).await;
        shop.stack.start(&[Role::DepositMatching, Role::ExpiryTimer, Role::IpnDelivery]);
        let told = shop.expired(json!({})).await;
        let (row, _) = shop.delivery_becomes(&told, "delivered").await;

        let deposit_id = shop.deposit_of(&seen).await;
        broker
            .publish_by_hand(&queue(WorkQueue::Deposit), &encode(&DepositRef { deposit_id }))
            .await;
        for id in [&open, &seen, &told] {
            let invoice = InvoiceRef { invoice_id: shop.row_id(id).await };
            broker.publish_by_hand(&queue(WorkQueue::Expiry), &encode(&invoice)).await;
        }
        for (cycle, attempt) in [(1, 1), (1, 2), (2, 1), (9, 1)] {
            let again = DeliveryRef::new(row.id, &row.event_id, Turn { cycle, attempt });
            broker.publish_by_hand(&queue(WorkQueue::Ipn), &encode(&again)).await;
        }
        // A payment and the end of a window follow in the same queues: once their events are
        // delivered, all messages have been read.
        let paid = shop.invoice().await;
        shop.pay(&paid, "100").await;
        shop.look(Network::Polygon).await;
        let ended = shop.invoice_of(json!({ "pay_currency": "all" })).await;
        shop.end_window(&ended, 1).await;
        shop.stack.gateway.ring_timers().await.unwrap();
        shop.webhook_about(&paid, 1).await;
        shop.webhook_about(&ended, 1).await;

        assert_eq!(shop.status(&open).await, Status::Pending);
        assert_eq!(shop.status(&seen).await, Status::Pending);
        assert_eq!(shop.books(&seen).await, []);
        assert_eq!(shop.status(&told).await, Status::Expired);
        assert_eq!(shop.events(&told).await, ["expired"]);
        let (after, attempts) = shop.delivery(&told).await;
        assert_eq!(
            (after.state.as_str(), after.cycle, attempts.len()),
            ("delivered", row.cycle, 1)
        );
        assert_eq!(shop.receiver.received().len(), 3);
    })
    .await;
}

/// A message is moved to the queue of the other channel, whose signature and headers differ.
#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_never_signed_as_one_of_the_other_channel() {
    with_shop(|shop| async move {
        let id = shop.expired(json!({})).await;
        let (row, _) = shop.delivery(&id).await;
        let turn = Turn { cycle: 1, attempt: 1 };
        let typed = DeliveryRef { turn: None, ..DeliveryRef::new(row.id, &row.event_id, turn) };
        let (gateway, in_flight) = (&shop.stack.gateway, InFlight::new(NonZeroU16::MAX));
        for message in [DeliveryRef::new(row.id, &row.event_id, turn), typed] {
            let handled =
                gateway.deliver(&PAYOUT, &**gateway, &message, Lane::Fast, &in_flight).await;
            assert!(matches!(handled, Err(DeliverError::UnknownDelivery)), "{handled:?}");
        }
        assert!(shop.receiver.received().is_empty());
        let (after, attempts) = shop.delivery(&id).await;
        assert_eq!((after.state, attempts.len()), (row.state, 0));
    })
    .await;
}
