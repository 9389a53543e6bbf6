use std::collections::BTreeSet;

use gateway::broker::{
    definitions,
    management::{Difference, Management, ManagementError},
    route::{DeadLetterQueue, Route, WaitQueue, WorkQueue},
    topology::{Role, Timing, Topology},
};
use http::Method;
use serde_json::{Value, json};
use support::server::broker::{TestBroker, eventually, outgoing, with_broker};

async fn check(broker: &TestBroker) -> Vec<Difference> {
    broker.management.check(&broker.topology).await.unwrap()
}

#[tokio::test]
async fn an_applied_topology_checks_clean_and_applying_again_changes_nothing() {
    with_broker(|broker| async move {
        assert_eq!(check(&broker).await, []);
        let queue = broker.topology.work_queue(WorkQueue::Ipn);
        broker.publish(outgoing(1, Route::Ipn, "{}")).await;
        broker.management.apply(&broker.topology).await.unwrap();
        assert_eq!(check(&broker).await, []);
        assert!(broker.take(&queue).await.is_some(), "the message survives");
    })
    .await;
}

#[tokio::test]
async fn the_user_of_the_sweeper_can_put_everything_back_and_no_user() {
    with_broker(|broker| async move {
        let vhost = broker.management.vhost();
        let queue = broker.topology.work_queue(WorkQueue::Ipn);
        let sweeper = broker.management_as(Role::Topology).await;
        broker.delete(&["queues", vhost, &queue]).await;
        broker.delete(&["exchanges", vhost, &format!("{}.wait", broker.topology.prefix())]).await;
        broker.delete(&["policies", vhost, &format!("{}.dlq", broker.topology.prefix())]).await;
        // The three, and with them three bindings.
        let lost = check(&broker).await;
        assert_eq!(lost.len(), 6, "{lost:?}");
        sweeper.apply(&broker.topology).await.unwrap();
        assert_eq!(sweeper.check(&broker.topology).await.unwrap(), []);
        let user = broker.topology.user(Role::Operator);
        let refused = sweeper.ensure_user(&user, &"x".into()).await.unwrap_err();
        assert!(matches!(refused, ManagementError::Refused { status: 401 | 403, .. }), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn importing_the_definitions_twice_equals_once_and_keeps_every_user() {
    with_broker(|broker| async move {
        let vhost = broker.management.vhost();
        let file: Value =
            serde_json::from_str(&definitions::render(&broker.topology, vhost)).unwrap();
        let (_, url) = broker.urls_of(Role::Operator).await;
        let operator = Management::new(&url, vhost).unwrap();
        broker.delete(&["queues", vhost, &broker.topology.work_queue(WorkQueue::Ipn)]).await;
        for _ in 0..2 {
            broker.management.call(Method::POST, &["definitions"], Some(&file)).await.unwrap();
            assert_eq!(check(&broker).await, []);
            operator.call(Method::GET, &["whoami"], None).await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn the_check_names_what_a_person_changed() {
    with_broker(|broker| async move {
        let prefix = broker.topology.prefix().to_owned();
        let vhost = broker.management.vhost();
        let ipn = broker.topology.work_queue(WorkQueue::Ipn);
        let wait = broker.topology.wait_queue(WaitQueue::Ipn);
        let path = ["bindings", vhost, "e", &format!("{prefix}.ipn"), "q", &ipn, "ipn"];
        broker.delete(&path).await;
        broker.delete(&["queues", vhost, &wait]).await;
        let classic = json!({ "durable": true, "arguments": { "x-queue-type": "classic" } });
        let typo = format!("{prefix}.ipn.wrok");
        for queue in [&wait, &typo] {
            let path = ["queues", vhost, queue];
            broker.management.call(Method::PUT, &path, Some(&classic)).await.unwrap();
        }
        let policy = json!({
            "pattern": format!("^{prefix}\\..*\\.dlq$"),
            "apply-to": "queues",
            "definition": { "message-ttl": 1000 },
        });
        let path = ["policies", vhost, &format!("{prefix}.dlq")];
        broker.management.call(Method::PUT, &path, Some(&policy)).await.unwrap();
        let said: Vec<_> = check(&broker).await.iter().map(ToString::to_string).collect();
        let expected = [
            format!(r#"queue {wait} has {{"x-queue-type":"classic"}}"#),
            format!("queue {typo} is none of ours"),
            format!("{prefix}.ipn does not lead to {ipn} for ipn"),
            format!("{prefix}.wait does not lead to {wait} for ipn.400ms"),
            format!(
                r#"policy {prefix}.dlq is {{"message-ttl":1000}} on queues ^{prefix}\..*\.dlq$"#
            ),
        ];
        assert_eq!(said, expected);
        // Queues with messages are never replaced; the broker's refusal is reported.
        let refused = broker.management.apply(&broker.topology).await.unwrap_err();
        assert!(refused.to_string().contains("inequivalent arg"), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn another_delay_is_another_queue_and_the_old_one_is_reported() {
    with_broker(|broker| async move {
        let slower = Timing { ipn_wait_ms: 500, ..Timing::default() };
        let topology = Topology::new(broker.topology.prefix(), slower).unwrap();
        broker.management.apply(&topology).await.unwrap();
        let old = broker.topology.wait_queue(WaitQueue::Ipn);
        let differences = broker.management.check(&topology).await.unwrap();
        assert!(
            differences.contains(&Difference::UnexpectedQueue { name: old }),
            "{differences:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn every_message_we_publish_lands_in_one_of_the_tables_queues() {
    with_broker(|broker| async move {
        let topology = &broker.topology;
        let queues: BTreeSet<String> = WorkQueue::ALL
            .map(|queue| topology.work_queue(queue))
            .into_iter()
            .chain(DeadLetterQueue::ALL.map(|queue| topology.dead_letter_queue(queue)))
            .collect();
        for (id, route) in (1..).zip(Route::ALL).filter(|(_, route)| route.mandatory()) {
            broker.publish(outgoing(id, route, "{}")).await;
            let what = format!("{route} in one of {queues:?}");
            let id = id.to_string();
            let found = eventually(&what, async || {
                for queue in &queues {
                    if let Some(found) = broker.take(queue).await {
                        return Some(found.delivery.properties.message_id().clone().unwrap());
                    }
                }
                None
            })
            .await;
            assert_eq!(found.as_str(), id);
        }
    })
    .await;
}

#[tokio::test]
async fn queue_lengths_are_reported_once_the_broker_has_counted_them() {
    with_broker(|broker| async move {
        broker.publish(outgoing(1, Route::Expiry, "{}")).await;
        let queue = broker.topology.work_queue(WorkQueue::Expiry);
        let counts = eventually("a count of 1", async || {
            let counts = broker.management.queue_counts(&broker.topology).await.unwrap();
            counts.get(&queue).copied().filter(|counts| counts.total == 1)
        })
        .await;
        assert_eq!((counts.ready, counts.unacknowledged), (1, 0));
    })
    .await;
}
