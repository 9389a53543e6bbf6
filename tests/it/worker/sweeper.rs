//! Work whose message was lost is found again from the database alone.

use std::time::{Duration, Instant};

use gateway::{
    app::messaging::sweep::{SweepMemory, Swept},
    asset::Network,
    broker::{
        envelope::{DeliveryRef, DepositRef, Turn, decode},
        route::{DeadLetterQueue, Route, WorkQueue},
    },
    invoice::Status,
    storage::outbox,
};
use gateway_workers::Role;
use serde_json::json;
use support::{
    fault::fired::fired,
    server::broker::eventually,
    shop::{Shop, with_shop},
};

/// Less than the time between two sweeps.
const AGAIN_WITHIN: Duration = Duration::from_secs(10);

/// A sweep that can see only the database.
async fn sweep(shop: &Shop) -> Swept {
    let mut memory = SweepMemory::default();
    let swept = shop.stack.gateway.sweep(None, &mut memory).await.unwrap();
    Swept { forgotten: 0, ..swept }
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_whose_message_was_lost_get_the_same_one_again() {
    with_shop(|shop| async move {
        let broker = &shop.stack.broker;
        let work = broker.topology.work_queue(WorkQueue::Ipn);
        let (first, third) = (shop.expired(json!({})).await, shop.expired(json!({})).await);
        for _ in 0..2 {
            broker.arrival(&work).await;
            fired(1);
        }
        let waits = "update delivery set state = 'retry_wait', attempts = 2 where invoice_id = $1";
        shop.sql(waits, &third).await;
        assert_eq!(sweep(&shop).await, Swept::default());
        shop.run("update delivery set next_attempt_at = now() - interval '44 seconds'").await;
        assert_eq!(sweep(&shop).await, Swept::default());
        shop.run("update delivery set next_attempt_at = now() - interval '46 seconds'").await;
        assert_eq!(sweep(&shop).await, Swept { deliveries_rearmed: 2, ..Swept::default() });
        assert_eq!(sweep(&shop).await, Swept::default());
        for _ in 0..2 {
            let message = broker.arrival(&work).await.delivery.data;
            let message: DeliveryRef = decode(&message).unwrap();
            let is_first = message.delivery_id == Some(shop.delivery(&first).await.0.id);
            let attempt = if is_first { 1 } else { 3 };
            assert_eq!(message.turn, Some(Turn { cycle: 1, attempt }));
            broker.publish_by_hand(&work, &gateway::broker::envelope::encode(&message)).await;
        }
        shop.stack.start(&[Role::IpnDelivery]);
        for id in [first, third] {
            shop.delivery_becomes(&id, "delivered").await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn final_deposits_whose_message_was_lost_are_credited_after_all() {
    with_shop(|shop| async move {
        let broker = &shop.stack.broker;
        let id = shop.invoice().await;
        shop.pay(&id, "100").await;
        shop.look(Network::Polygon).await;
        let work = broker.topology.work_queue(WorkQueue::Deposit);
        let lost: DepositRef = decode(&broker.arrival(&work).await.delivery.data).unwrap();
        fired(1);
        assert_eq!(sweep(&shop).await, Swept::default());
        shop.run("update deposit set updated_at = now() - interval '46 seconds'").await;
        assert_eq!(sweep(&shop).await, Swept { deposits_reminded: 1, ..Swept::default() });
        assert_eq!(sweep(&shop).await, Swept::default());
        let again: DepositRef = decode(&broker.arrival(&work).await.delivery.data).unwrap();
        assert_eq!(again, lost);
        shop.run("update deposit set updated_at = now() - interval '46 seconds'").await;
        sweep(&shop).await;
        shop.stack.start(&[Role::DepositMatching]);
        shop.becomes(&id, Status::Paid).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sweep_finds_work_whose_message_was_never_published() {
    with_shop(|shop| async move {
        // As after a restore that lost the outbox: the rows of the events exist, their messages do
        // not.
        let id = shop.expired(json!({})).await;
        let unsent = shop.run("delete from outbox").await;
        let work = shop.stack.broker.topology.work_queue(WorkQueue::Ipn);
        let sent = shop.stack.broker.take(&work).await;
        fired(unsent + u64::from(sent.is_some()));
        shop.run("update delivery set next_attempt_at = now() - interval '1 day'").await;
        shop.stack.start(&[Role::Sweeper, Role::IpnDelivery]);
        shop.delivery_becomes(&id, "delivered").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sweep_repeats_no_message_that_is_still_queued() {
    with_shop(|shop| async move {
        let (gateway, broker) = (&shop.stack.gateway, &shop.stack.broker);
        shop.expired(json!({})).await;
        shop.run("update delivery set next_attempt_at = now() - interval '9 minutes'").await;
        let work = broker.topology.work_queue(WorkQueue::Ipn);
        eventually("the broker has counted the message", async || {
            let counts = broker.management.queue_counts(&broker.topology).await.unwrap();
            counts.get(&work).is_some_and(|counts| counts.ready == 1).then_some(())
        })
        .await;
        let mut memory = SweepMemory::default();
        let swept = gateway.sweep(Some(&broker.management), &mut memory).await.unwrap();
        assert_eq!(swept.deliveries_rearmed, 0);
        // A queue that never empties may hide that this one was lost.
        shop.run("update delivery set next_attempt_at = now() - interval '11 minutes'").await;
        let swept = gateway.sweep(Some(&broker.management), &mut memory).await.unwrap();
        assert_eq!(swept.deliveries_rearmed, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wiped_dead_letter_queue_is_refilled_by_the_second_sweep() {
    const DEAD: i64 = 1_200;
    with_shop(|shop| async move {
        let (gateway, broker) = (&shop.stack.gateway, &shop.stack.broker);
        let id = shop.expired(json!({})).await;
        shop.run("update delivery set state = 'dead', cycle = 3, attempts = 5, next_attempt_at = null, \
                  last_status = 503, last_error = 'the receiver answered 503', dead_since = now() - interval '61 seconds'").await;
        let copies = "insert into delivery (id, event_id, channel, kind, merchant_id, invoice_id, subject, url, payload,
                state, cycle, attempts, last_status, last_error, dead_since)
            select gen_random_uuid(), event_id || n, channel, kind, merchant_id, invoice_id, gen_random_uuid(), url,
                payload, state, cycle, attempts, last_status, last_error, dead_since
            from delivery, generate_series(2, 1200) as n where invoice_id = $1";
        shop.sql(copies, &id).await;
        let dead = broker.topology.dead_letter_queue(DeadLetterQueue::Ipn);
        eventually("the broker has counted the empty queue", async || {
            let counts = broker.management.queue_counts(&broker.topology).await.unwrap();
            counts.get(&dead).is_some_and(|counts| counts.total == 0).then_some(())
        })
        .await;
        let mut memory = SweepMemory::default();
        for parked in [0, u64::try_from(DEAD).unwrap()] {
            let swept = gateway.sweep(Some(&broker.management), &mut memory).await.unwrap();
            assert_eq!(swept.dead_letters_parked, parked);
        }
        let why = broker.why_dead(&dead).await;
        assert_eq!(why, (Some("the receiver answered 503".into()), Some("503".into())));
        for _ in 0..DEAD {
            let message = broker.arrival(&dead).await.delivery.data;
            let turn = decode::<DeliveryRef>(&message).unwrap().turn;
            assert_eq!(turn, Some(Turn { cycle: 4, attempt: 1 }));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_queue_is_declared_again_and_its_lost_messages_are_repeated() {
    with_shop(|shop| async move {
        let (gateway, broker) = (&shop.stack.gateway, &shop.stack.broker);
        let management = &broker.management;
        let work = broker.topology.work_queue(WorkQueue::Ipn);
        let id = shop.expired(json!({})).await;
        broker.arrival(&work).await;
        broker.delete(&["queues", management.vhost(), &work]).await;
        shop.run("update delivery set next_attempt_at = now() - interval '1 hour'").await;
        let mut memory = SweepMemory::default();
        let swept = gateway.sweep(Some(management), &mut memory).await.unwrap();
        assert!(swept.topology_repaired);
        assert_eq!(swept.deliveries_rearmed, 1);
        fired(1);
        shop.stack.start(&[Role::IpnDelivery]);
        shop.delivery_becomes(&id, "delivered").await;
        let swept = gateway.sweep(Some(management), &mut memory).await.unwrap();
        assert!(!swept.topology_repaired);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn doubled_work_from_an_eager_sweep_changes_nothing() {
    with_shop(|shop| async move {
        let id = shop.expired(json!({})).await;
        let (row, _) = shop.delivery(&id).await;
        let mut connection = shop.stack.gateway.db.connection().await.unwrap();
        let message = DeliveryRef::new(row.id, &row.event_id, Turn { cycle: 1, attempt: 1 });
        let body = gateway::broker::envelope::encode(&message);
        for _ in 0..5 {
            outbox::insert(&mut connection, Route::Ipn.as_str(), &body).await.unwrap();
            fired(1);
        }
        shop.stack.start(&[Role::IpnDelivery]);
        let (_, attempts) = shop.delivery_becomes(&id, "delivered").await;
        assert_eq!(attempts.len(), 1);
        let after = shop.expired(json!({})).await;
        shop.delivery_becomes(&after, "delivered").await;
        assert_eq!(shop.receiver.received().len(), 2);
    })
    .await;
}

/// A database that was away for a moment is not left alone for a whole interval between sweeps.
#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_that_failed_is_made_again_soon() {
    with_shop(|shop| async move {
        let broker = &shop.stack.broker;
        let work = broker.topology.work_queue(WorkQueue::Ipn);
        shop.expired(json!({})).await;
        broker.arrival(&work).await;
        for statement in [
            "update delivery set next_attempt_at = now() - interval '46 seconds'",
            "insert into idempotency (merchant_id, key, request_sha256, response, created_at) \
             select id, 'old', '', '', now() - interval '2 days' from merchant limit 1",
            "alter table idempotency rename to away",
        ] {
            shop.run(statement).await;
        }
        shop.stack.start(&[Role::Sweeper]);
        // The sweep gets as far as this and fails after it.
        broker.arrival(&work).await;
        fired(1);
        shop.run("alter table away rename to idempotency").await;
        let back = Instant::now();
        eventually("another sweep deletes old rows", async || {
            let old = shop.number("select count(*) from idempotency where key = 'old'").await;
            (old == 0).then_some(())
        })
        .await;
        assert!(back.elapsed() < AGAIN_WITHIN, "after {:?}", back.elapsed());
    })
    .await;
}
