//! Promises of the runbook in `rabbitmq/README.md`.

use gateway::broker::{
    envelope::{DeliveryRef, Turn, decode, encode},
    management::ManagementError,
    route::{DeadLetterQueue, Route, WorkQueue},
    topology::Role,
};
use http::Method;
use serde_json::json;
use support::server::broker::{move_messages, outgoing, with_broker};
use uuid::Uuid;

#[tokio::test]
async fn an_operator_moves_dead_letters_back_from_the_ui() {
    with_broker(|broker| async move {
        let operator = broker.management_as(Role::Operator).await;
        for dead in DeadLetterQueue::ALL {
            let from = broker.topology.dead_letter_queue(dead);
            let to = broker.topology.work_queue(dead.work_queue());
            let turn = Turn { cycle: 2, attempt: 1 };
            let body = encode(&DeliveryRef::new(Uuid::now_v7(), "evt_1", turn));
            for _ in 0..3 {
                broker.publish_by_hand(&from, &body).await;
            }
            move_messages(&operator, &from, &to).await;
            for _ in 0..3 {
                assert_eq!(broker.arrival(&to).await.delivery.data, body.as_bytes());
            }
            assert!(broker.take(&from).await.is_none());
        }
    })
    .await;
}

#[tokio::test]
async fn a_moved_dead_letter_keeps_its_explanatory_headers() {
    with_broker(|broker| async move {
        let operator = broker.management_as(Role::Operator).await;
        broker.publish(outgoing(7, Route::IpnDead, "{}")).await;
        let from = broker.topology.dead_letter_queue(DeadLetterQueue::Ipn);
        let to = broker.topology.work_queue(WorkQueue::Ipn);
        move_messages(&operator, &from, &to).await;
        let moved = broker.arrival(&to).await;
        let properties = &moved.delivery.properties;
        assert_eq!(properties.message_id().clone().unwrap().as_str(), "7");
        let headers = properties.headers().clone().unwrap();
        assert!(headers.inner().contains_key("gw-event-id"), "{headers:?}");
    })
    .await;
}

#[tokio::test]
async fn an_operator_reads_dead_letters_and_publishes_one_by_hand() {
    with_broker(|broker| async move {
        let operator = broker.management_as(Role::Operator).await;
        let vhost = operator.vhost();
        broker.publish(outgoing(7, Route::IpnDead, r#"{"event_id":"evt_7"}"#)).await;
        let dead = broker.topology.dead_letter_queue(DeadLetterQueue::Ipn);
        let look = json!({ "count": 1, "ackmode": "ack_requeue_true", "encoding": "auto" });
        let path = ["queues", vhost, &dead, "get"];
        let seen = operator.call(Method::POST, &path, Some(&look)).await.unwrap().unwrap();
        let payload = seen[0]["payload"].as_str().unwrap();
        let work = broker.topology.work_queue(WorkQueue::Ipn);
        let publish = json!({
            "properties": {},
            "routing_key": work,
            "payload": payload,
            "payload_encoding": "string",
        });
        let path = ["exchanges", vhost, "amq.default", "publish"];
        let answer = operator.call(Method::POST, &path, Some(&publish)).await.unwrap().unwrap();
        assert_eq!(answer["routed"], true);
        let arrived = broker.arrival(&work).await.delivery;
        let delivery: DeliveryRef = decode(&arrived.data).unwrap();
        assert_eq!((delivery.event_id.as_deref(), delivery.turn), (Some("evt_7"), None));
    })
    .await;
}

#[tokio::test]
async fn an_operator_can_neither_read_work_nor_change_queues_or_users() {
    with_broker(|broker| async move {
        let operator = broker.management_as(Role::Operator).await;
        let vhost = operator.vhost();
        let work = broker.topology.work_queue(WorkQueue::Ipn);
        let other = format!("{}.other", broker.topology.prefix());
        let exchange = format!("{}.ipn", broker.topology.prefix());
        let look = json!({ "count": 1, "ackmode": "ack_requeue_true", "encoding": "auto" });
        let publish = json!({
            "properties": {}, "routing_key": "ipn", "payload": "{}", "payload_encoding": "string",
        });
        let durable = json!({ "durable": true });
        let user = json!({ "password": "x", "tags": "administrator" });
        let cases = [
            (Method::POST, vec!["queues", vhost, &work, "get"], Some(&look)),
            (Method::DELETE, vec!["queues", vhost, &work, "contents"], None),
            (Method::DELETE, vec!["queues", vhost, &work], None),
            (Method::PUT, vec!["queues", vhost, &other], Some(&durable)),
            (Method::POST, vec!["exchanges", vhost, &exchange, "publish"], Some(&publish)),
            (Method::PUT, vec!["users", &other], Some(&user)),
        ];
        for (method, path, body) in cases {
            let error = operator.call(method, &path, body).await.unwrap_err();
            assert!(
                matches!(error, ManagementError::Refused { status: 400..=403, .. }),
                "{path:?}: {error}"
            );
        }
    })
    .await;
}
