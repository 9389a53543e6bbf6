//! Dead letters are requeued by every way an operator has, for exactly one fresh cycle each time.

use gateway::{
    app::delivery::requeue_dead_letters::WORK,
    broker::{
        route::{DeadLetterQueue, WorkQueue},
        topology,
    },
    storage::deliveries::{self, DeadFilter},
    webhook::retry::DeliveryState,
};
use gateway_workers::Role;
use serde_json::json;
use support::{
    fault::fired::fired,
    server::broker::{eventually, move_messages},
    shop::{Shop, with_shop},
};

/// Waits until the delivery is dead after `cycles` cycles of five attempts.
async fn dies(shop: &Shop, id: &str, cycles: i32) {
    let (row, attempts) = eventually(&format!("{id} is dead in cycle {cycles}"), async || {
        let found = shop.delivery(id).await;
        Some(found).filter(|(row, _)| row.state == DeliveryState::Dead && row.cycle == cycles)
    })
    .await;
    let numbers: Vec<_> = attempts.iter().map(|one| (one.cycle, one.attempt)).collect();
    let expected: Vec<_> = (1..=cycles).flat_map(|c| (1..=5).map(move |a| (c, a))).collect();
    assert_eq!(numbers, expected);
    let received = shop.receiver.received();
    let posts: Vec<_> =
        received.iter().map(|one| shop.verified(one)).filter(|b| b["payment_id"] == id).collect();
    assert_eq!(posts.len(), expected.len());
    assert!(posts.iter().all(|body| body["event_id"] == row.event_id.as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_of_putting_a_dead_letter_back_gives_five_fresh_attempts() {
    with_shop(|shop| async move {
        let (gateway, broker) = (&shop.stack.gateway, &shop.stack.broker);
        shop.receiver.answer(503);
        shop.stack.start(&[Role::IpnDelivery]);
        let mut ids = Vec::new();
        for _ in 0..4 {
            ids.push(shop.expired(json!({})).await);
        }
        for id in &ids {
            dies(&shop, id, 1).await;
        }
        let work = broker.topology.work_queue(WorkQueue::Ipn);
        // Typed by hand with the row's id, typed with the event's id, and requeued through the
        // database.
        let by_row = json!({ "delivery_id": shop.delivery(&ids[0]).await.0.id }).to_string();
        let by_event = json!({ "event_id": shop.delivery(&ids[1]).await.0.event_id }).to_string();
        broker.publish_by_hand(&work, &by_row).await;
        broker.publish_by_hand(&work, &by_event).await;
        let event_id = Some(shop.delivery(&ids[2]).await.0.event_id);
        let filter = DeadFilter { event_id, ..DeadFilter::default() };
        let mut connection = gateway.db.connection().await.unwrap();
        let queued = deliveries::queue_dead(&mut connection, WORK, &filter, 10).await.unwrap();
        assert_eq!(queued.len(), 1);
        for id in &ids[..3] {
            dies(&shop, id, 2).await;
        }
        dies(&shop, &ids[3], 1).await;

        // All messages in the dead-letter queue by now, including stale copies of three of them.
        let operator = broker.management_as(topology::Role::Operator).await;
        let dead = broker.topology.dead_letter_queue(DeadLetterQueue::Ipn);
        move_messages(&operator, &dead, &work).await;
        for id in &ids[..3] {
            dies(&shop, id, 3).await;
        }
        dies(&shop, &ids[3], 2).await;
    })
    .await;
}

/// Of work in progress the reason of an earlier end would be false.
#[tokio::test(flavor = "multi_thread")]
async fn a_requeued_webhook_does_not_say_why_it_was_dead() {
    with_shop(|shop| async move {
        let (gateway, broker) = (&shop.stack.gateway, &shop.stack.broker);
        shop.expired(json!({})).await;
        let work = broker.topology.work_queue(WorkQueue::Ipn);
        broker.arrival(&work).await;
        shop.run(
            "update delivery set state = 'dead', cycle = 1, attempts = 5, next_attempt_at = null, \
                  last_status = 503, last_error = 'the receiver answered 503', dead_since = now()",
        )
        .await;
        assert_eq!(gateway.requeue_dead_letters(&DeadFilter::default()).await.unwrap().len(), 1);
        assert_eq!(broker.why_dead(&work).await, (None, None));
        let body = String::from_utf8(broker.arrival(&work).await.delivery.data).unwrap();
        assert!(!body.contains("reason") && !body.contains("last_status"), "{body}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_that_comes_back_many_times_at_once_gives_one_cycle() {
    with_shop(|shop| async move {
        let broker = &shop.stack.broker;
        shop.receiver.answer(503);
        shop.stack.start(&[Role::IpnDelivery]);
        let id = shop.expired(json!({})).await;
        dies(&shop, &id, 1).await;
        let dead = broker.topology.dead_letter_queue(DeadLetterQueue::Ipn);
        let work = broker.topology.work_queue(WorkQueue::Ipn);
        let parked = String::from_utf8(broker.arrival(&dead).await.delivery.data).unwrap();
        let typed = json!({ "delivery_id": shop.delivery(&id).await.0.id }).to_string();
        for _ in 0..3 {
            broker.publish_by_hand(&work, &parked).await;
            broker.publish_by_hand(&work, &typed).await;
        }
        dies(&shop, &id, 2).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivered_webhook_is_not_sent_again_by_a_stale_message() {
    with_shop(|shop| async move {
        let broker = &shop.stack.broker;
        shop.receiver.answer_first(&[503]);
        shop.stack.start(&[Role::IpnDelivery]);
        let id = shop.expired(json!({})).await;
        let (row, _) = shop.delivery_becomes(&id, "delivered").await;
        let work = broker.topology.work_queue(WorkQueue::Ipn);
        for body in [
            json!({ "delivery_id": row.id }),
            json!({ "event_id": row.event_id }),
            json!({ "delivery_id": row.id, "cycle": 1, "attempt": 2 }),
            json!({ "delivery_id": row.id, "cycle": 1, "attempt": 3 }),
            json!({ "delivery_id": row.id, "cycle": 2, "attempt": 1 }),
        ] {
            broker.publish_by_hand(&work, &body.to_string()).await;
            fired(1);
        }
        // Behind them in the queue: another event, whose arrival proves that they were read.
        let after = shop.expired(json!({})).await;
        shop.delivery_becomes(&after, "delivered").await;
        assert_eq!(shop.delivery(&id).await.1.len(), 2);
        assert_eq!(shop.receiver.received().len(), 3);
    })
    .await;
}
