use gateway::broker::{
    BrokerError,
    consumer::Consumer,
    envelope::{BODY_BYTES_MAX, Headers},
    publisher::{Outcome, Outgoing},
    route::{Route, WorkQueue},
};
use http::Method;
use lapin::types::ShortString;
use serde_json::json;
use support::server::broker::{eventually, outgoing, with_broker};

#[tokio::test]
async fn each_message_of_a_batch_has_its_own_outcome() {
    with_broker(|broker| async move {
        let vhost = broker.management.vhost();
        broker.delete(&["queues", vhost, &broker.topology.work_queue(WorkQueue::IpnSlow)]).await;
        let batch = [
            outgoing(1, Route::Ipn, "{}"),
            outgoing(2, Route::IpnSlow, "{}"),
            outgoing(3, Route::Expiry, &"x".repeat(BODY_BYTES_MAX + 1)),
            outgoing(4, Route::Deposit, "{}"),
            outgoing(5, Route::InvoiceCreated, "{}"),
        ];
        let mut publisher = broker.publisher().await;
        let outcomes = publisher.publish(&batch).await.unwrap();
        let returned = format!(
            "the broker returned it from exchange {}.ipn with key ipn.slow: 312 NO_ROUTE",
            broker.topology.prefix()
        );
        let expected = [
            Outcome::Confirmed,
            Outcome::Unroutable(returned),
            Outcome::Unroutable("its body has 4097 bytes, more than 4096".into()),
            Outcome::Confirmed,
            Outcome::Confirmed,
        ];
        assert_eq!(outcomes, expected);
        assert_eq!(publisher.publish(&[]).await.unwrap(), []);
        publisher.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_full_queue_refuses_and_takes_the_same_message_later() {
    with_broker(|broker| async move {
        let vhost = broker.management.vhost();
        let queue = broker.topology.work_queue(WorkQueue::Expiry);
        let name = format!("{}.test", broker.topology.prefix());
        let tiny = json!({
            "pattern": format!("^{queue}$"),
            "apply-to": "queues",
            "priority": 9,
            "definition": { "max-length": 1 },
        });
        let policy = ["policies", vhost, &name];
        broker.management.call(Method::PUT, &policy, Some(&tiny)).await.unwrap();
        let mut publisher = broker.publisher().await;
        // A quorum queue may take a few more than its limit before it refuses.
        let mut id = 0;
        loop {
            id += 1;
            assert!(id < 100, "the queue never refuses");
            let batch = [outgoing(id, Route::Expiry, "{}"), outgoing(0, Route::Deposit, "{}")];
            let outcomes = publisher.publish(&batch).await.unwrap();
            assert_eq!(outcomes[1], Outcome::Confirmed, "another queue is not concerned");
            if outcomes[0] == Outcome::Refused {
                break;
            }
        }
        broker.delete(&policy).await;
        eventually("room in the queue", async || {
            while broker.take(&queue).await.is_some() {}
            let again = [outgoing(id, Route::Expiry, "{}")];
            let outcomes = publisher.publish(&again).await.unwrap();
            (outcomes == [Outcome::Confirmed]).then_some(())
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_missing_exchange_fails_the_batch_and_spends_the_publisher() {
    with_broker(|broker| async move {
        let exchange = format!("{}.cmd", broker.topology.prefix());
        let mut publisher = broker.publisher().await;
        broker.delete(&["exchanges", broker.management.vhost(), &exchange]).await;
        let batch = [outgoing(1, Route::Deposit, "{}")];
        let error = publisher.publish(&batch).await.unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains(&format!("no exchange '{exchange}'")), "{source}");
        let error = publisher.publish(&batch).await.unwrap_err();
        assert!(matches!(error, BrokerError::Spent), "{error}");
    })
    .await;
}

#[tokio::test]
async fn published_messages_are_persistent_and_carry_only_our_headers() {
    with_broker(|broker| async move {
        let headers = Headers {
            event_id: Some("evt_1".into()),
            cycle: Some(2),
            reason: Some("five attempts, all refused".into()),
            last_status: Some(503),
            ..Headers::default()
        };
        broker.publish(Outgoing { id: 42, route: Route::Ipn, body: "{}".into(), headers }).await;
        let arrived = broker.arrival(&broker.topology.work_queue(WorkQueue::Ipn)).await;
        let properties = &arrived.delivery.properties;
        assert_eq!(properties.delivery_mode(), &Some(2));
        assert_eq!(
            properties.content_type().as_ref().map(ShortString::as_str),
            Some("application/json")
        );
        assert_eq!(properties.message_id().as_ref().map(ShortString::as_str), Some("42"));
        assert_eq!(properties.kind().as_ref().map(ShortString::as_str), Some("ipn"));
        assert_eq!(properties.app_id().as_ref().map(ShortString::as_str), Some("gateway"));
        assert!(properties.expiration().is_none() && properties.priority().is_none());
        let table = properties.headers().clone().unwrap_or_default();
        let names: Vec<_> = table
            .inner()
            .keys()
            .map(ShortString::as_str)
            // Quorum queues add their own count to deliveries.
            .filter(|name| *name != "x-delivery-count")
            .collect();
        assert_eq!(names, ["gw-cycle", "gw-event-id", "gw-last-status", "gw-reason"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_may_publish_and_consume_in_tasks_of_their_own() {
    with_broker(|broker| async move {
        let queue = broker.topology.work_queue(WorkQueue::Ipn);
        let mut consumer = Consumer::open(&broker.url, &queue, 20).await.unwrap();
        let mut publisher = broker.publisher().await;
        let publishing = tokio::spawn(async move {
            let batch: Vec<_> = (1..=100).map(|id| outgoing(id, Route::Ipn, "{}")).collect();
            publisher.publish(&batch).await
        });
        let consuming = tokio::spawn(async move {
            let mut answers = tokio::task::JoinSet::new();
            for _ in 0..100 {
                let message = consumer.next().await?.expect("not cancelled");
                answers.spawn(message.ack());
            }
            answers.join_all().await.into_iter().collect::<Result<(), _>>()?;
            consumer.close().await
        });
        let outcomes = publishing.await.unwrap().unwrap();
        assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Confirmed));
        consuming.await.unwrap().unwrap();
        assert!(broker.take(&queue).await.is_none());
    })
    .await;
}
