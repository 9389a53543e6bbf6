//! A merchant's burst that exceeds what a process holds: the rest waits in the database, and nobody
//! else does.

use std::{net::IpAddr, num::NonZeroU16, sync::Arc, time::Duration};

use gateway::{
    app::delivery::{Handled, IPN, InFlight, Lane},
    broker::{
        envelope::{DeliveryRef, decode},
        route::{Route, WorkQueue},
    },
    storage::{deferred_deliveries::Deferred, events},
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
const PAUSE: Duration = Duration::from_millis(50);

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
        announce(&stack, &slow, BURST).await;
        stack.start(&[Role::IpnDelivery]);
        eventually("the rest of the burst is deferred", async || {
            let deferred = count(&stack, "select count(*) from deferred_delivery").await;
            (deferred > BURST / 2).then_some(())
        })
        .await;
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

/// As a process leaves them that has died.
async fn deferred(stack: &Arc<Stack>, merchant_id: Uuid, ids: &[Uuid]) {
    let route = Route::Ipn.as_str();
    let defer = |id: &Uuid| Deferred { delivery_id: *id, merchant_id, is_strangers: false, route };
    let deferred: Vec<_> = ids.iter().map(defer).collect();
    stack.gateway.defer_deliveries(&deferred).await.unwrap();
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
        deferred(&stack, merchant, &[ids[3], ids[1]]).await;
        deferred(&stack, merchant, &[ids[2], ids[3]]).await;
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
async fn the_sweep_takes_a_deferred_delivery_for_lost_only_after_ten_minutes() {
    with_stack(|stack| async move {
        let receiver = receiver(4, Duration::ZERO).await;
        let (merchant, ids) = announce(&stack, &receiver, 1).await;
        let fast = stack.broker.topology.work_queue(WorkQueue::Ipn);
        stack.broker.arrival(&fast).await;
        deferred(&stack, merchant, &ids).await;
        stack.sql("update delivery set next_attempt_at = now() - interval '1 hour'").await;
        let mut memory = Default::default();
        let swept = stack.gateway.sweep(None, &mut memory).await.unwrap();
        assert_eq!(swept.deliveries_rearmed, 0);
        let long_ago = "update deferred_delivery set deferred_at = now() - interval '11 minutes'";
        stack.sql(long_ago).await;
        let swept = stack.gateway.sweep(None, &mut memory).await.unwrap();
        assert_eq!(swept.deliveries_rearmed, 1);
        stack.start(&[Role::IpnDelivery]);
        receiver.wait_for(1).await;
    })
    .await;
}
