//! Fairness: one merchant's slow endpoint is that merchant's problem alone.

use std::num::NonZeroU16;

use gateway::{
    app::delivery::{Handled, IPN, InFlight, Lane},
    broker::{
        envelope::{DeliveryRef, Turn, decode},
        route::WorkQueue,
    },
    merchant::settings::Settings,
    storage::merchants,
    webhook::retry::Outcome,
};
use gateway_workers::Role;
use serde_json::json;
use support::{
    fault::{
        fired::fired,
        hostile::{Act, Hostile},
    },
    server::broker::eventually,
    shop::{Shop, with_shop},
};

/// More than both lanes together have slots for, per merchant.
const HANGING: usize = 30;
const FAST_PER_MERCHANT: usize = 10;
const SLOW_PER_MERCHANT: usize = 3;
const AT_ONCE: usize = 50;

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_endpoint_delays_no_other_merchant() {
    with_shop(|bad| async move {
        let hanging = Hostile::always(Act::SayAndHang(Vec::new())).await;
        for _ in 0..HANGING {
            bad.expired(json!({ "ipn_callback_url": hanging.url("/ipn") })).await;
        }
        let mut good = Vec::new();
        for _ in 0..3 {
            let shop = Shop::open(&bad.stack, Settings::default()).await;
            shop.expired(json!({})).await;
            good.push(shop);
        }
        bad.stack.start(&[Role::IpnDelivery]);
        for shop in &good {
            shop.receiver.wait_for(1).await;
        }
        // The bad merchant's attempts hang: none has ended, and none beyond its share of both lanes
        // has begun.
        eventually("both lanes are as full as they get", async || {
            let full = hanging.request_count() == FAST_PER_MERCHANT + SLOW_PER_MERCHANT;
            full.then_some(())
        })
        .await;
        let attempts =
            "select count(*) from delivery_attempt a join delivery d on d.id = a.delivery_id";
        assert_eq!(bad.number(attempts).await, 3, "only the good ones");
        let waiting = "select count(*) from delivery where state = 'pending' and attempts = 0";
        assert_eq!(bad.number(waiting).await, i64::try_from(HANGING).unwrap());
        fired(hanging.request_count());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_slow_answers_move_a_merchant_to_the_slow_lane_without_using_an_attempt() {
    with_shop(|shop| async move {
        let (gateway, broker) = (&shop.stack.gateway, &shop.stack.broker);
        let id = shop.expired(json!({})).await;
        let queue = |queue| broker.topology.work_queue(queue);
        let message = broker.arrival(&queue(WorkQueue::Ipn)).await.delivery.data;
        let message: DeliveryRef = decode(&message).unwrap();
        let merchant = shop.merchant.new.id;
        let mut connection = gateway.db.connection().await.unwrap();
        for n in 1..=3 {
            merchants::note_slow_answers(&mut connection, &[merchant]).await.unwrap();
            let slow = gateway.merchant(merchant).await.unwrap().slow_until.is_some();
            assert_eq!(slow, n == 3);
        }
        let in_flight = InFlight::new(NonZeroU16::MAX);
        let moved =
            gateway.deliver(&IPN, &**gateway, &message, Lane::Fast, &in_flight).await.unwrap();
        assert_eq!(moved, Handled::Moved);
        let there = broker.arrival(&queue(WorkQueue::IpnSlow)).await.delivery.data;
        assert_eq!(decode::<DeliveryRef>(&there).unwrap(), message);
        assert!(shop.receiver.received().is_empty());
        let (row, attempts) = shop.delivery(&id).await;
        assert_eq!((row.state.as_str(), row.attempts, attempts.len()), ("pending", 0, 0));
        let delivered =
            gateway.deliver(&IPN, &**gateway, &message, Lane::Slow, &in_flight).await.unwrap();
        assert_eq!(delivered, Handled::Attempted(Outcome::Delivered));
        assert_eq!(shop.receiver.received().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_answers_that_are_noted_together_count_as_they_do_one_by_one() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let other = Shop::open(&shop.stack, Settings::default()).await.merchant.new.id;
        let merchant = shop.merchant.new.id;
        let are_slow = async || {
            let [one, two] = [merchant, other].map(|id| gateway.merchant(id));
            (one.await.unwrap().slow_until.is_some(), two.await.unwrap().slow_until.is_some())
        };
        gateway.note_slow_answers(&[merchant, other, merchant]).await.unwrap();
        assert_eq!(are_slow().await, (false, false));
        gateway.note_slow_answers(&[other, merchant]).await.unwrap();
        assert_eq!(are_slow().await, (true, false));
        let long_ago = "update merchant set slow_results_since = now() - interval '6 minutes'";
        shop.run(long_ago).await;
        gateway.note_slow_answers(&[other, other]).await.unwrap();
        assert_eq!(are_slow().await, (true, false), "what was long ago counts no more");
        gateway.note_slow_answers(&[merchant, other]).await.unwrap();
        assert_eq!(are_slow().await, (true, true));
        // Of many processes at the same time, in either order, within the five minutes of both.
        let sum = "select sum(slow_results)::bigint from merchant";
        let noted = shop.number(sum).await;
        let notes = (0..AT_ONCE).map(|n| {
            let mut answered = [merchant, other];
            answered.rotate_left(n % 2);
            async move { gateway.note_slow_answers(&answered).await }
        });
        futures_util::future::try_join_all(notes).await.unwrap();
        assert_eq!(shop.number(sum).await - noted, i64::try_from(2 * AT_ONCE).unwrap());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_that_a_full_lane_rejects_are_redelivered_and_swept() {
    with_shop(|shop| async move {
        let (gateway, broker) = (&shop.stack.gateway, &shop.stack.broker);
        let hanging = Hostile::always(Act::SayAndHang(Vec::new())).await;
        let fast = broker.topology.work_queue(WorkQueue::Ipn);
        let in_flight = InFlight::new(NonZeroU16::MAX);
        for _ in 0..SLOW_PER_MERCHANT {
            shop.expired(json!({ "ipn_callback_url": hanging.url("/ipn") })).await;
            let message = decode(&broker.arrival(&fast).await.delivery.data).unwrap();
            let (gateway, in_flight) = (gateway.clone(), in_flight.clone());
            tokio::spawn(async move {
                gateway.deliver(&IPN, &*gateway, &message, Lane::Slow, &in_flight).await
            });
        }
        eventually("the slow lane is full", async || {
            (hanging.request_count() == SLOW_PER_MERCHANT).then_some(())
        })
        .await;
        let id = shop.expired(json!({})).await;
        let message: DeliveryRef = decode(&broker.arrival(&fast).await.delivery.data).unwrap();
        let long_ago =
            "update delivery set next_attempt_at = now() - interval '1 hour' where invoice_id = $1";
        shop.sql(long_ago, &id).await;
        let moved =
            gateway.deliver(&IPN, &**gateway, &message, Lane::Slow, &in_flight).await.unwrap();
        assert_eq!(moved, Handled::Moved);
        let back = broker.arrival(&fast).await.delivery.data;
        assert_eq!(decode::<DeliveryRef>(&back).unwrap(), message);
        let swept = gateway.sweep(None, &mut Default::default()).await.unwrap();
        assert_eq!(swept.deliveries_rearmed, 0, "its message was under way");
        assert_eq!(message.turn, Some(Turn { cycle: 1, attempt: 1 }));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_at_once_make_one_attempt() {
    with_shop(|shop| async move {
        let (gateway, broker) = (&shop.stack.gateway, &shop.stack.broker);
        let fast = broker.topology.work_queue(WorkQueue::Ipn);
        let in_flight = InFlight::new(NonZeroU16::MAX);
        for round in 0..10 {
            let id = shop.expired(json!({})).await;
            let message: DeliveryRef = decode(&broker.arrival(&fast).await.delivery.data).unwrap();
            let mut messages = [message.clone(), message.clone(), message.clone()];
            if round % 2 == 1 {
                // A dead letter that was moved and typed at the same time.
                let dead =
                    "update delivery set state = 'dead', attempts = 5, next_attempt_at = null,
                    dead_since = now() where invoice_id = $1";
                shop.sql(dead, &id).await;
                let moved = Some(Turn { cycle: 2, attempt: 1 });
                messages = [moved, None, None].map(|turn| DeliveryRef { turn, ..message.clone() });
            }
            let deliver = async |message| {
                gateway.deliver(&IPN, &**gateway, message, Lane::Fast, &in_flight).await.unwrap()
            };
            let [one, two, three] = &messages;
            let handled = tokio::join!(deliver(one), deliver(two), deliver(three));
            let handled = [handled.0, handled.1, handled.2];
            let attempts = handled.iter().filter(|one| **one != Handled::Stale).count();
            assert_eq!(attempts, 1, "{handled:?}");
            assert_eq!(shop.receiver.received().len(), round + 1);
            fired(handled.len() - attempts);
        }
    })
    .await;
}
