//! The outbox relay when a queue is missing or full.

use gateway::{
    broker::{
        envelope::{DeliveryRef, decode},
        route::{Route, WorkQueue},
    },
    storage::outbox,
};
use gateway_workers::Role;
use http::Method;
use serde_json::json;
use support::{
    fault::fired::fired,
    server::broker::eventually,
    shop::{Shop, with_shop},
};

async fn queue(shop: &Shop, route: Route, body: &str) {
    let mut connection = shop.stack.gateway.db.connection().await.unwrap();
    outbox::insert(&mut connection, route.as_str(), body).await.unwrap();
    shop.stack.gateway.relay_wake.notify_one();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unroutable_message_is_quarantined_with_an_alert_and_others_are_published() {
    with_shop(|shop| async move {
        let broker = &shop.stack.broker;
        let work = broker.topology.work_queue(WorkQueue::Ipn);
        broker.delete(&["queues", broker.management.vhost(), &work]).await;
        let id = shop.expired(json!({})).await;
        queue(&shop, Route::Expiry, "{}").await;
        broker.arrival(&broker.topology.work_queue(WorkQueue::Expiry)).await;
        eventually("the message is set aside", async || {
            let set_aside = "select count(*) from outbox_quarantine where route = 'ipn'";
            (shop.number(set_aside).await == 1).then_some(())
        })
        .await;
        let alerts = "select count(*) from operator_alert where kind = 'unroutable_message'";
        assert_eq!(shop.number(alerts).await, 1);
        fired(1);
        assert_eq!(shop.number("select count(*) from outbox").await, 0);
        // The event itself is not lost: once the queue is back, the sweep sends it again.
        shop.run("update delivery set next_attempt_at = now() - interval '1 hour'").await;
        shop.stack.start(&[Role::Sweeper, Role::IpnDelivery]);
        shop.delivery_becomes(&id, "delivered").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_route_is_set_aside_and_blocks_nothing() {
    with_shop(|shop| async move {
        shop.run("insert into outbox (route, body) values ('no.such.route', '{}')").await;
        queue(&shop, Route::Expiry, "{}").await;
        let broker = &shop.stack.broker;
        broker.arrival(&broker.topology.work_queue(WorkQueue::Expiry)).await;
        eventually("set aside", async || {
            let set_aside = "select count(*) from outbox_quarantine where route = 'no.such.route'";
            (shop.number(set_aside).await == 1).then_some(())
        })
        .await;
    })
    .await;
}

/// Another route's message is sent, after everything that was in the outbox before.
async fn passes(shop: &Shop) {
    queue(shop, Route::Expiry, "{}").await;
    let broker = &shop.stack.broker;
    broker.arrival(&broker.topology.work_queue(WorkQueue::Expiry)).await;
    eventually("the batch is committed", async || {
        let left = "select count(*) from outbox where route = 'expiry'";
        (shop.number(left).await == 0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_pauses_its_own_route_and_no_other() {
    with_shop(|shop| async move {
        let broker = &shop.stack.broker;
        let (vhost, work) = (broker.management.vhost(), broker.topology.work_queue(WorkQueue::Ipn));
        let name = format!("{work}.full");
        let policy = ["policies", vhost, &name];
        let full = json!({
            "pattern": format!("^{work}$"), "apply-to": "queues", "priority": 10,
            "definition": { "max-length": 1 },
        });
        broker.management.call(Method::PUT, &policy, Some(&full)).await.unwrap();
        // Each accepted message fills the queue further; from some point on it refuses.
        let waiting = "select count(*) from outbox where route = 'ipn'";
        let mut sent = 0;
        while shop.number(waiting).await == 0 {
            assert!(sent < 200, "the queue takes everything");
            let ten = "insert into outbox (route, body)
                select 'ipn', '{\"event_id\":\"evt_' || n || '\"}' from generate_series(1, 10) as n";
            sent += shop.run(ten).await;
            passes(&shop).await;
        }
        // It stays refused while others pass.
        for _ in 0..3 {
            passes(&shop).await;
            assert!(shop.number(waiting).await > 0);
        }
        broker.delete(&policy).await;
        eventually("the route goes on", async || {
            (shop.number(waiting).await == 0).then_some(())
        })
        .await;
        for _ in 0..sent {
            let message = broker.arrival(&work).await.delivery.data;
            assert!(decode::<DeliveryRef>(&message).unwrap().event_id.is_some());
        }
        assert_eq!(shop.number("select count(*) from outbox_quarantine").await, 0);
    })
    .await;
}
