use std::time::{Duration, Instant};

use gateway::broker::{
    route::{Route, WorkQueue},
    topology::Timing,
};
use support::server::broker::{SHORT, outgoing, with_broker};

#[tokio::test]
async fn a_message_in_the_wait_queue_returns_to_work_after_its_ttl_and_not_before() {
    let Timing { ipn_wait_ms, payout_webhook_wait_ms } = SHORT;
    let cases = [
        (Route::IpnWait, WorkQueue::Ipn, ipn_wait_ms),
        (Route::PayoutWebhookWait, WorkQueue::PayoutWebhook, payout_webhook_wait_ms),
    ];
    with_broker(|broker| async move {
        for (id, (route, queue, wait_ms)) in (1..).zip(cases) {
            let queue = broker.topology.work_queue(queue);
            let started = Instant::now();
            broker.publish(outgoing(id, route, r#"{"same":"body"}"#)).await;
            let arrived = broker.arrival(&queue).await;
            let waited = started.elapsed();
            assert!(waited >= Duration::from_millis(wait_ms), "{route} waited {waited:?} only");
            assert_eq!(arrived.delivery.data, br#"{"same":"body"}"#);
            let message_id = arrived.delivery.properties.message_id().clone().unwrap();
            assert_eq!(message_id.as_str(), id.to_string());
        }
    })
    .await;
}
