use std::time::Duration;

use gateway::broker::{
    consumer::Consumer,
    envelope::{InvoiceRef, encode},
    hint::HintListener,
    publisher::{Outcome, Publisher},
    route::{Route, WorkQueue},
    topology::Role,
};
use http::Method;
use lapin::{
    Connection, ConnectionProperties,
    options::{BasicPublishOptions, QueueDeclareOptions},
    types::FieldTable,
};
use secrecy::ExposeSecret;
use support::server::broker::{eventually, outgoing, with_broker};
use uuid::Uuid;

async fn next(listener: &mut HintListener) -> InvoiceRef {
    let next = tokio::time::timeout(Duration::from_secs(30), listener.next()).await;
    next.expect("a hint").unwrap()
}

#[tokio::test]
async fn the_applications_rights_are_enough_for_all_it_does() {
    with_broker(|broker| async move {
        let (url, _) = broker.urls_of(Role::Application).await;
        let mut listener = HintListener::open(&url, &broker.topology).await.unwrap();
        let mut publisher = Publisher::connect(&url, broker.topology.clone()).await.unwrap();
        let (created, resolved) = (Uuid::now_v7(), Uuid::now_v7());
        let batch = [
            outgoing(1, Route::InvoiceCreated, &encode(&InvoiceRef { invoice_id: created })),
            outgoing(2, Route::InvoiceCreated, "not a hint"),
            outgoing(3, Route::InvoiceResolved, &encode(&InvoiceRef { invoice_id: resolved })),
            outgoing(4, Route::Ipn, "{}"),
        ];
        assert_eq!(publisher.publish(&batch).await.unwrap(), [const { Outcome::Confirmed }; 4]);
        assert_eq!(next(&mut listener).await.invoice_id, created);
        assert_eq!(next(&mut listener).await.invoice_id, resolved);
        let queue = broker.topology.work_queue(WorkQueue::Ipn);
        let mut consumer = Consumer::open(&url, &queue, 1).await.unwrap();
        consumer.next().await.unwrap().unwrap().reject().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_application_can_declare_nothing_that_stays_and_publish_nowhere_else() {
    with_broker(|broker| async move {
        let (url, _) = broker.urls_of(Role::Application).await;
        let connect = Connection::connect(url.expose_secret(), ConnectionProperties::default());
        let connection = connect.await.unwrap();
        let name = format!("{}.ipn.other", broker.topology.prefix());
        let channel = connection.create_channel().await.unwrap();
        let refused = channel
            .queue_declare(name.into(), QueueDeclareOptions::default(), FieldTable::default())
            .await
            .unwrap_err();
        assert!(refused.to_string().contains("ACCESS_REFUSED"), "{refused}");
        let channel = connection.create_channel().await.unwrap();
        channel.confirm_select(Default::default()).await.unwrap();
        let queue = broker.topology.work_queue(WorkQueue::Ipn);
        let options = BasicPublishOptions::default();
        let confirm =
            channel.basic_publish("".into(), queue.into(), options, b"{}", Default::default());
        let refused = confirm.await.unwrap().await.unwrap_err();
        assert!(refused.to_string().contains("ACCESS_REFUSED"), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn a_watchers_queue_goes_when_the_watcher_goes() {
    with_broker(|broker| async move {
        let prefix = broker.topology.hint_queue_prefix();
        let hint_queues = || async {
            let path = ["queues", broker.management.vhost()];
            let queues = broker.management.call(Method::GET, &path, None).await.unwrap().unwrap();
            let queues = queues.as_array().unwrap().clone();
            queues
                .iter()
                .filter(|queue| queue["name"].as_str().unwrap().starts_with(&prefix))
                .count()
        };
        let first = HintListener::open(&broker.url, &broker.topology).await.unwrap();
        let second = HintListener::open(&broker.url, &broker.topology).await.unwrap();
        assert_eq!(hint_queues().await, 2);
        assert_eq!(broker.management.check(&broker.topology).await.unwrap(), []);
        drop((first, second));
        eventually("no hint queue", async || (hint_queues().await == 0).then_some(())).await;
    })
    .await;
}
