use std::time::Duration;

use gateway::broker::{
    BrokerError,
    consumer::{Consumer, Message},
    route::{DeadLetterQueue, Route, WorkQueue},
};
use support::{
    fault::fired::fired,
    server::broker::{TestBroker, eventually, outgoing, with_broker},
};

async fn consumer(broker: &TestBroker, queue: WorkQueue) -> Consumer {
    Consumer::open(&broker.url, &broker.topology.work_queue(queue), 10).await.unwrap()
}

async fn next(consumer: &mut Consumer) -> Message {
    let next = tokio::time::timeout(Duration::from_secs(30), consumer.next()).await;
    next.expect("a message").unwrap().expect("not cancelled")
}

#[tokio::test]
async fn a_missing_queue_is_named() {
    with_broker(|broker| async move {
        let error = Consumer::open(&broker.url, "no-such-queue", 1).await.err().unwrap();
        assert_eq!(
            error.to_string(),
            "queue no-such-queue does not exist; apply the topology first"
        );
    })
    .await;
}

#[tokio::test]
async fn acknowledged_is_gone_requeued_comes_again_and_rejected_is_a_dead_letter() {
    with_broker(|broker| async move {
        let cases = [
            (Route::DepositFinal, WorkQueue::Deposit, DeadLetterQueue::Deposit),
            (Route::Expiry, WorkQueue::Expiry, DeadLetterQueue::Expiry),
            (Route::Ipn, WorkQueue::Ipn, DeadLetterQueue::Ipn),
            (Route::IpnSlow, WorkQueue::IpnSlow, DeadLetterQueue::Ipn),
        ];
        for (route, queue, dead) in cases {
            let mut consumer = consumer(&broker, queue).await;
            broker.publish(outgoing(1, route, r#"{"n":1}"#)).await;
            let message = next(&mut consumer).await;
            assert_eq!((message.body.as_slice(), message.redelivered), (&br#"{"n":1}"#[..], false));
            message.requeue().await.unwrap();
            let message = next(&mut consumer).await;
            assert!(message.redelivered);
            message.reject().await.unwrap();
            let buried = broker.arrival(&broker.topology.dead_letter_queue(dead)).await;
            assert_eq!(buried.delivery.data, br#"{"n":1}"#);
            broker.publish(outgoing(2, route, r#"{"n":2}"#)).await;
            next(&mut consumer).await.ack().await.unwrap();
            consumer.close().await.unwrap();
            assert!(broker.take(&broker.topology.work_queue(queue)).await.is_none());
        }
    })
    .await;
}

#[tokio::test]
async fn a_message_that_keeps_crashing_its_worker_becomes_a_dead_letter() {
    with_broker(|broker| async move {
        broker.publish(outgoing(1, Route::Ipn, "{}")).await;
        let mut consumer = consumer(&broker, WorkQueue::Ipn).await;
        let dead = broker.topology.dead_letter_queue(DeadLetterQueue::Ipn);
        // The delivery limit allows 20 requeues; the 21st delivery is the last.
        for _ in 0..21 {
            next(&mut consumer).await.requeue().await.unwrap();
            fired(1);
        }
        broker.arrival(&dead).await;
    })
    .await;
}

#[tokio::test]
async fn after_a_cancel_signed_rows_are_finished_and_the_rest_is_refunded() {
    with_broker(|broker| async move {
        let batch: Vec<_> = (1..=5).map(|id| outgoing(id, Route::Ipn, "{}")).collect();
        broker.publisher().await.publish(&batch).await.unwrap();
        let mut consumer = consumer(&broker, WorkQueue::Ipn).await;
        let taken = next(&mut consumer).await;
        eventually("the other four fetched ahead", async || {
            (consumer.ready().await.unwrap() == 0).then_some(())
        })
        .await;
        consumer.cancel().await.unwrap();
        // Prefetched messages still come out; they stay unanswered here, so the close requeues
        // them.
        for _ in 0..4 {
            let ahead = consumer.next().await.unwrap().unwrap();
            assert!(!ahead.redelivered);
        }
        assert!(consumer.next().await.unwrap().is_none());
        taken.ack().await.unwrap();
        consumer.close().await.unwrap();
        let queue = broker.topology.work_queue(WorkQueue::Ipn);
        for _ in 0..4 {
            assert!(broker.arrival(&queue).await.delivery.redelivered);
        }
        assert!(broker.take(&queue).await.is_none());
    })
    .await;
}

#[tokio::test]
async fn the_end_of_the_queue_is_an_error_and_so_is_an_answer_after_it() {
    with_broker(|broker| async move {
        broker.publish(outgoing(1, Route::Ipn, "{}")).await;
        let mut consumer = consumer(&broker, WorkQueue::Ipn).await;
        let message = next(&mut consumer).await;
        broker.delete(&["queues", broker.management.vhost(), consumer.queue()]).await;
        let ended = tokio::time::timeout(Duration::from_secs(30), consumer.next()).await.unwrap();
        assert!(matches!(ended, Err(BrokerError::ConsumerEnded { .. })), "{ended:?}");
        let missing = consumer.ready().await.unwrap_err();
        assert!(matches!(missing, BrokerError::QueueMissing { .. }), "{missing}");
        consumer.close().await.unwrap();
        let lost = message.ack().await.unwrap_err();
        assert!(matches!(lost, BrokerError::AnswerLost), "{lost}");
    })
    .await;
}

#[tokio::test]
async fn the_consumer_watchdog_detects_messages_left_beyond_the_prefetch() {
    with_broker(|broker| async move {
        let queue = broker.topology.work_queue(WorkQueue::Ipn);
        let consumer = Consumer::open(&broker.url, &queue, 2).await.unwrap();
        let batch: Vec<_> = (1..=5).map(|id| outgoing(id, Route::Ipn, "{}")).collect();
        broker.publisher().await.publish(&batch).await.unwrap();
        eventually("3 of 5 ready", async || (consumer.ready().await.unwrap() == 3).then_some(()))
            .await;
    })
    .await;
}
