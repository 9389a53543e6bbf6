//! The second channel: its attempts, and the meaning of a response (spec, "Mass-payout webhooks").

use std::time::Duration;

use gateway::{
    asset::Network,
    broker::route::{DeadLetterQueue, WorkQueue},
    storage::deliveries::{self, AttemptRow, DeliveryRow},
};
use serde_json::json;
use support::{
    fault::{
        fired::fired,
        hostile::{Act, Hostile},
    },
    server::{
        broker::{SHORT, eventually, move_messages},
        stack::{only, with_configured_stack},
    },
    shop::payouts::Payer,
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
        if row.state.as_str() != state {
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
        let why = stack.broker.why_dead(&dead).await;
        assert_eq!(why, (Some("the receiver answered 599".into()), Some("599".into())));
        let operator = stack.broker.management_as(gateway::broker::topology::Role::Operator).await;
        move_messages(&operator, &dead, &work).await;
        let (again, _) = event_is(&payer, &id, 0, "delivered").await;
        assert_eq!((again.cycle, again.event_id), (2, row.event_id));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_4xx_to_a_payout_webhook_is_final() {
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

/// An order whose events go to a receiver that does `act` to the first and takes all others.
async fn told_to(payer: &Payer, act: Act) -> (String, Hostile) {
    let receiver = Hostile::start(move |number| match number {
        0 => act.clone(),
        _ => Act::answer("200 OK", "fine"),
    })
    .await;
    let mut rows = two_rows();
    rows["callbackUrl"] = json!(receiver.url("/payouts"));
    let id = payer.draft(EVM, rows).await["id"].as_str().unwrap().to_owned();
    payer.confirm(EVM, &id).await;
    (id, receiver)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_4xx_drops_and_a_2xx_delivers_even_if_the_body_breaks_off() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let head = |status: &str| {
            format!("HTTP/1.1 {status}\r\nContent-Length: 100000\r\n\r\nhalf").into_bytes()
        };
        for (act, state, status) in [
            (Act::SayAndClose(head("410 Gone")), "dropped", 410),
            (Act::SayAndHang(head("404 Not Found")), "dropped", 404),
            (Act::SayAndClose(head("200 OK")), "delivered", 200),
        ] {
            let (id, receiver) = told_to(&payer, act.clone()).await;
            let (_, attempts) = event_is(&payer, &id, 0, state).await;
            let statuses: Vec<_> = attempts.iter().map(|attempt| attempt.status).collect();
            assert_eq!(statuses, [Some(status)], "{act:?}");
            assert_eq!(receiver.request_count(), 1, "{act:?}");
            fired(1);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_ends_after_fifteen_seconds_and_not_after_the_other_channel_s_ten() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let silent = told_to(&payer, Act::SayAndHang(Vec::new())).await;
        let busy = Act::Trickle(b"HTTP/1.1 200 OK\r\nx-a: ".to_vec(), Duration::from_millis(100));
        let busy = told_to(&payer, busy).await;
        for (id, receiver) in [silent, busy] {
            let (_, attempts) = event_is(&payer, &id, 0, "delivered").await;
            assert_eq!((attempts.len(), attempts[0].status), (2, None), "{attempts:?}");
            // It ends by its own limit: not before, and not by one that is much longer.
            assert!((15_000..25_000).contains(&attempts[0].duration_ms), "{attempts:?}");
            assert_eq!(receiver.request_count(), 2);
            fired(1);
        }
    })
    .await;
}
