//! The second channel: its attempts, and the meaning of a response (spec, "Mass-payout webhooks").

use gateway::{
    asset::Network,
    broker::route::{DeadLetterQueue, WorkQueue},
    storage::deliveries::{self, AttemptRow, DeliveryRow},
};
use serde_json::json;
use support::{
    broker::{SHORT, eventually, move_messages},
    payouts::Payer,
    stack::{only, with_configured_stack},
};

use super::{EVM, two_rows};

async fn event_is(
    payer: &Payer,
    id: &str,
    at: usize,
    state: &str,
) -> (DeliveryRow, Vec<AttemptRow>) {
    eventually(&format!("event {at} is {state}"), async || {
        let row = payer.story(id).await.events.into_iter().nth(at)?;
        if row.state != state {
            return None;
        }
        let mut connection = payer.stack.gateway.db.connection().await.unwrap();
        let attempts = deliveries::attempts(&mut connection, row.id).await.unwrap();
        Some((row, attempts))
    })
    .await
}

/// A confirmed order, refreshed once: two events, the second of which waits for the first.
async fn two_events(payer: &Payer) -> String {
    let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
    payer.confirm(EVM, &id).await;
    let refreshed =
        payer.merchant.client.post(&format!("{EVM}/{id}/refresh-quote"), &json!({})).await;
    assert_eq!(refreshed.status, 200, "{}", refreshed.body);
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn server_errors_and_redirects_are_tried_five_times_and_then_wait_for_an_operator() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        payer.receiver.answer_first(&[500, 503, 302, 500, 599]);
        let id = two_events(&payer).await;
        let (row, attempts) = event_is(&payer, &id, 0, "dead").await;
        let statuses: Vec<_> = attempts.iter().map(|attempt| attempt.status.unwrap()).collect();
        assert_eq!(statuses, [500, 503, 302, 500, 599]);
        let wait = i64::try_from(SHORT.payout_webhook_wait_ms).unwrap();
        for pair in attempts.windows(2) {
            let between = pair[1].started_at - pair[0].started_at;
            let gap = between.num_milliseconds() - i64::from(pair[0].duration_ms);
            assert!(gap >= wait - 5, "{gap}");
        }
        // The next event goes out once the one before has ended, and not earlier.
        event_is(&payer, &id, 1, "delivered").await;
        let names = payer.event_names(6).await;
        assert_eq!(
            names,
            ["created", "created", "created", "created", "created", "quote_refreshed"]
        );
        let ids: Vec<_> = payer.events().iter().map(|event| event["eventId"].clone()).collect();
        assert!(ids[..5].iter().all(|id| *id == row.event_id.as_str()));

        let topology = &stack.broker.topology;
        let dead = topology.dead_letter_queue(DeadLetterQueue::PayoutWebhook);
        let work = topology.work_queue(WorkQueue::PayoutWebhook);
        let operator = stack.broker.management_as(gateway::broker::topology::Role::Operator).await;
        move_messages(&operator, &dead, &work).await;
        let (again, _) = event_is(&payer, &id, 0, "delivered").await;
        assert_eq!((again.cycle, again.event_id), (2, row.event_id));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_4xx_is_the_receiver_s_last_word() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        payer.receiver.answer_first(&[404, 429]);
        let id = two_events(&payer).await;
        let (_, attempts) = event_is(&payer, &id, 0, "dropped").await;
        assert_eq!(attempts.len(), 1);
        event_is(&payer, &id, 1, "dropped").await;
        assert_eq!(payer.receiver.received().len(), 2);
    })
    .await;
}
