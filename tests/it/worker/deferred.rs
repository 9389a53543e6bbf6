//! A merchant's burst that exceeds what a process holds: the rest waits in the database, and nobody
//! else does.

use std::{net::IpAddr, num::NonZeroU16, sync::Arc, time::Duration};

use gateway::{
    app::delivery::{Handled, IPN, InFlight, Lane},
    broker::{
        envelope::{DeliveryRef, Turn, decode},
        route::{Route, WorkQueue},
    },
    storage::{
        deferred_deliveries::Deferred,
        deliveries::{self, ChannelRoutes, LostAfter},
        events,
    },
    webhook::retry::Outcome,
};
use gateway_workers::Role;
use support::{
    server::{
        broker::eventually,
        stack::{Stack, with_configured_stack, with_stack},
    },
    shop::{
        announced::{any_invoice, new_event},
        receiver::Receiver,
    },
};
use uuid::Uuid;

const BURST: usize = 300;
/// Messages that the worker holds, of which one merchant may have fifteen.
const FEW: &str = "worker.deliveries_in_flight = 20\n";
const PAUSE: Duration = Duration::from_millis(200);
/// Counts deferrals: the rows go as quickly as they come.
const COUNTED: [&str; 3] = [
    "create table deferral_count (delivery_id uuid not null)",
    "create function count_deferral() returns trigger language plpgsql as \
     'begin insert into public.deferral_count values (new.delivery_id); return null; end'",
    "create trigger deferral_counted after insert on deferred_delivery \
     for each row execute function count_deferral()",
];

/// Commits this many events at once, of a new merchant with this receiver; returns the merchant and
/// the ids of the deliveries.
async fn announce(stack: &Arc<Stack>, receiver: &Receiver, count: usize) -> (Uuid, Vec<Uuid>) {
    let merchant = stack.merchant().await.new.id;
    let invoice = any_invoice(&mut stack.database.connect().await, merchant).await;
    let new: Vec<_> = (0..count).map(|_| new_event(merchant, invoice, &receiver.url)).collect();
    let mut tx = stack.gateway.db.begin().await.unwrap();
    events::tell(&mut tx, &new, Route::Ipn.as_str()).await.unwrap();
    tx.commit().await.unwrap();
    stack.gateway.relay_wake.notify_one();
    (merchant, new.into_iter().map(|new| new.delivery.unwrap().id).collect())
}

async fn count(stack: &Arc<Stack>, query: &'static str) -> usize {
    let mut connection = stack.database.connect().await;
    let count: i64 = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
    usize::try_from(count).unwrap()
}

async fn receiver(last: u8, pause: Duration) -> Receiver {
    Receiver::at(IpAddr::from([127, 5, 0, last]), 200, pause).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_that_a_process_cannot_hold_is_delivered_once_and_delays_no_other_merchant() {
    with_configured_stack(FEW, |stack| async move {
        let (slow, other) = (receiver(1, PAUSE).await, receiver(2, Duration::ZERO).await);
        for statement in COUNTED {
            stack.sql(statement).await;
        }
        // Held, so that the burst exceeds its places however slowly its messages come.
        slow.hold();
        announce(&stack, &slow, BURST).await;
        stack.start(&[Role::IpnDelivery]);
        eventually("a part of the burst is deferred", async || {
            let deferred = count(&stack, "select count(*) from deferral_count").await;
            (deferred > BURST / 10).then_some(())
        })
        .await;
        slow.release();
        announce(&stack, &other, 1).await;
        other.wait_for(1).await;
        let before = slow.received().len();
        assert!(before < BURST, "another merchant's event waited for the whole burst");
        eventually("all is delivered", async || {
            let open = count(&stack, "select count(*) from delivery where state <> 'delivered'");
            (open.await == 0).then_some(())
        })
        .await;
        assert_eq!(slow.received().len(), BURST, "something was sent twice");
        // Nobody was sent to the slow lane, and no attempt was used up.
        let attempts = count(&stack, "select count(*) from delivery_attempt").await;
        assert_eq!(attempts, BURST + 1);
        assert_eq!(count(&stack, "select count(*) from deferred_delivery").await, 0);
    })
    .await;
}

const FIRST: Turn = Turn { cycle: 1, attempt: 1 };
/// What the message of a requeued dead letter asks for.
const FRESH_CYCLE: Turn = Turn { cycle: 2, attempt: 1 };

/// As a process leaves them that has died.
async fn deferred(stack: &Arc<Stack>, merchant_id: Uuid, ids: &[Uuid], turn: Turn) {
    let deferred = ids.iter().map(|id| Deferred {
        delivery_id: *id,
        merchant_id,
        is_strangers: false,
        route: Route::Ipn.as_str(),
        cycle: turn.cycle,
        attempt: turn.attempt,
    });
    stack.gateway.defer_deliveries(&deferred.collect::<Vec<_>>()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_deferred_by_a_process_that_died_are_resumed_by_the_next_of_their_merchant() {
    with_stack(|stack| async move {
        let receiver = receiver(3, Duration::ZERO).await;
        let (merchant, ids) = announce(&stack, &receiver, 4).await;
        let fast = stack.broker.topology.work_queue(WorkQueue::Ipn);
        let mut messages: Vec<DeliveryRef> = Vec::new();
        for _ in &ids {
            messages.push(decode(&stack.broker.arrival(&fast).await.delivery.data).unwrap());
        }
        messages.sort_by_key(|message| message.delivery_id);
        // Deferred twice and in any order: they keep their turn.
        deferred(&stack, merchant, &[ids[3], ids[1]], FIRST).await;
        deferred(&stack, merchant, &[ids[2], ids[3]], FIRST).await;
        let gateway = &stack.gateway;
        let in_flight = InFlight::new(NonZeroU16::MAX);
        let handled =
            gateway.deliver(&IPN, &**gateway, &messages[0], Lane::Fast, &in_flight).await.unwrap();
        assert_eq!(handled, Handled::Attempted(Outcome::Delivered));
        for expected in &messages[1..] {
            let resumed = stack.broker.arrival(&fast).await.delivery.data;
            let resumed: DeliveryRef = decode(&resumed).unwrap();
            assert_eq!(&resumed, expected);
            let handled = gateway.deliver(&IPN, &**gateway, &resumed, Lane::Fast, &in_flight).await;
            assert_eq!(handled.unwrap(), Handled::Attempted(Outcome::Delivered));
        }
        assert_eq!(receiver.received().len(), ids.len());
        assert!(stack.broker.take(&fast).await.is_none(), "resumed twice");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sweep_resumes_what_was_deferred_ten_minutes_ago_and_takes_nothing_newer_for_lost() {
    with_stack(|stack| async move {
        let receiver = receiver(4, Duration::ZERO).await;
        let (merchant, ids) = announce(&stack, &receiver, 1).await;
        let fast = stack.broker.topology.work_queue(WorkQueue::Ipn);
        stack.broker.arrival(&fast).await;
        deferred(&stack, merchant, &ids, FIRST).await;
        stack.sql("update delivery set next_attempt_at = now() - interval '1 hour'").await;
        let mut memory = Default::default();
        let swept = stack.gateway.sweep(None, &mut memory).await.unwrap();
        assert_eq!((swept.deliveries_rearmed, swept.deferred_resumed), (0, 0));
        stack.sql(LONG_AGO).await;
        let swept = stack.gateway.sweep(None, &mut memory).await.unwrap();
        // Whoever waits for a slow receiver sets off no alarm.
        assert_eq!((swept.deliveries_rearmed, swept.deferred_resumed), (0, 1));
        stack.start(&[Role::IpnDelivery]);
        receiver.wait_for(1).await;
    })
    .await;
}

const LONG_AGO: &str = "update deferred_delivery set deferred_at = now() - interval '11 minutes'";

#[tokio::test(flavor = "multi_thread")]
async fn a_requeued_dead_letter_that_is_deferred_keeps_its_fresh_cycle() {
    with_stack(|stack| async move {
        let receiver = receiver(5, Duration::ZERO).await;
        let (merchant, ids) = announce(&stack, &receiver, 3).await;
        let fast = stack.broker.topology.work_queue(WorkQueue::Ipn);
        for _ in &ids {
            stack.broker.arrival(&fast).await;
        }
        stack
            .sql(
                "update delivery set state = 'dead', attempts = 5, dead_since = now(), \
                   next_attempt_at = null",
            )
            .await;
        // The older attempt comes last, and is not the one that counts.
        deferred(&stack, merchant, &ids, FRESH_CYCLE).await;
        deferred(&stack, merchant, &ids[..1], FIRST).await;
        stack.sql(LONG_AGO).await;
        // A process deferred one of them a moment ago, and died.
        deferred(&stack, merchant, &ids[1..2], FRESH_CYCLE).await;
        let swept = stack.gateway.sweep(None, &mut Default::default()).await.unwrap();
        assert_eq!((swept.deliveries_rearmed, swept.deferred_resumed), (0, 2));
        stack.start(&[Role::IpnDelivery]);
        eventually("all are delivered in their second cycle", async || {
            let query = "select count(*) from delivery where state = 'delivered' and cycle = 2";
            (count(&stack, query).await == ids.len()).then_some(())
        })
        .await;
        assert_eq!(receiver.received().len(), ids.len(), "something was sent twice");
        assert_eq!(count(&stack, "select count(*) from deferred_delivery").await, 0);
    })
    .await;
}

/// Deferrals that wait long, however many, leave the room to lost messages.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_message_is_found_behind_a_long_burst_that_waits() {
    with_stack(|stack| async move {
        let receiver = receiver(6, Duration::ZERO).await;
        let (merchant, mut ids) = announce(&stack, &receiver, 20).await;
        let lost = ids.pop().unwrap();
        deferred(&stack, merchant, &ids, FIRST).await;
        stack.sql(LONG_AGO).await;
        stack.sql("update delivery set next_attempt_at = now() - interval '1 hour'").await;
        stack.sql("delete from outbox").await;
        let mut connection = stack.database.connect().await;
        sqlx::query(
            "update delivery set next_attempt_at = now() - interval '30 minutes' where id = $1",
        )
        .bind(lost)
        .execute(&mut connection)
        .await
        .unwrap();
        let lost_after = LostAfter { ipn: 45, payout: 45 };
        let routes = ChannelRoutes {
            ipn: Route::Ipn.as_str(),
            payout: Route::PayoutWebhook.as_str(),
            tell_why: false,
        };
        let found =
            deliveries::rearm_overdue(&mut connection, routes, lost_after, 1).await.unwrap();
        assert_eq!(found, 1);
        let named: bool = sqlx::query_scalar(
            "select exists(select from outbox where body::jsonb ->> 'delivery_id' = $1)",
        )
        .bind(lost.to_string())
        .fetch_one(&mut connection)
        .await
        .unwrap();
        assert!(named, "another one was taken for lost");
    })
    .await;
}
