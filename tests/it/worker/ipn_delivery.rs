//! Successive attempts: their number, their signatures, and the responses that count (spec,
//! "Payment IPN").

use std::time::Duration;

use gateway::{
    broker::{
        envelope::{DeliveryRef, Turn, decode},
        route::DeadLetterQueue,
    },
    merchant::settings::Settings,
    storage::deliveries::AttemptRow,
};
use gateway_workers::Role;
use serde_json::json;
use support::{
    fault::{
        fired::fired,
        hostile::{Act, Hostile},
    },
    server::broker::{SHORT, eventually},
    shop::{Shop, receiver::Receiver, with_configured_shop, with_shop},
};

/// From the end of each attempt to the start of the next, in milliseconds.
fn gaps(attempts: &[AttemptRow]) -> Vec<i64> {
    let pairs = attempts.windows(2);
    pairs
        .map(|pair| {
            let between = pair[1].started_at - pair[0].started_at;
            between.num_milliseconds() - i64::from(pair[0].duration_ms)
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_receiver_gets_five_attempts_and_then_the_dead_letter_waits() {
    with_shop(|shop| async move {
        shop.receiver.answer(500);
        shop.stack.start(&[Role::IpnDelivery]);
        let id = shop.expired(json!({})).await;
        let (row, attempts) = shop.delivery_becomes(&id, "dead").await;
        assert_eq!((row.cycle, row.attempts, row.last_status), (1, 5, Some(500)));
        let numbers: Vec<_> = attempts.iter().map(|attempt| attempt.attempt).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5]);
        for attempt in &attempts {
            assert_eq!((attempt.cycle, attempt.status), (1, Some(500)));
            assert_eq!(attempt.error.as_deref(), Some("the receiver answered 500"));
            assert_eq!(attempt.excerpt.as_deref(), Some("noted"));
        }
        let wait = i64::try_from(SHORT.ipn_wait_ms).unwrap();
        assert!(gaps(&attempts).iter().all(|gap| *gap >= wait - 5), "{:?}", gaps(&attempts));

        let dead = shop.stack.broker.topology.dead_letter_queue(DeadLetterQueue::Ipn);
        let why = shop.stack.broker.why_dead(&dead).await;
        assert_eq!(why, (Some("the receiver answered 500".into()), Some("500".into())));
        let parked = shop.stack.broker.arrival(&dead).await;
        let parked: DeliveryRef = decode(&parked.delivery.data).unwrap();
        let fresh = Turn { cycle: 2, attempt: 1 };
        assert_eq!(parked, DeliveryRef::new(row.id, &row.event_id, fresh));
        let received = shop.receiver.received();
        assert_eq!(received.len(), 5);
        for one in &received {
            let body = shop.verified(one);
            assert_eq!(body["event_id"], row.event_id.as_str());
            assert!(body["event_at"].is_u64(), "{body}");
        }
        // Five attempts 0.4 s apart span at least one second, and each is stamped and signed anew.
        let stamped = |n: usize| received[n].json()["event_at"].as_u64().unwrap();
        assert!(stamped(4) > stamped(0));
        assert_ne!(received[4].header("x-gateway-sig"), received[0].header("x-gateway-sig"));
    })
    .await;
}

/// Starts a delivery to a receiver that reacts to its first request with `act`, and to all others
/// with 200.
async fn answered_by(shop: &Shop, act: Act) -> (String, Hostile) {
    let receiver = Hostile::start(move |number| match number {
        0 => act.clone(),
        _ => Act::answer("200 OK", "fine"),
    })
    .await;
    (shop.expired(json!({ "ipn_callback_url": receiver.url("/ipn") })).await, receiver)
}

#[tokio::test(flavor = "multi_thread")]
async fn any_2xx_is_success_at_once() {
    with_shop(|shop| async move {
        shop.stack.start(&[Role::IpnDelivery]);
        for status in ["200 OK", "201 Created", "202 Accepted", "206 Partial Content", "299 Odd"] {
            let (id, receiver) = answered_by(&shop, Act::answer(status, "")).await;
            let (_, attempts) = shop.delivery_becomes(&id, "delivered").await;
            assert_eq!(attempts.len(), 1, "{status}");
            assert_eq!(attempts[0].error, None);
            assert_eq!(receiver.request_count(), 1);
            fired(1);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_2xx_is_success_once_its_headers_are_read_even_if_its_body_breaks_off() {
    with_shop(|shop| async move {
        shop.stack.start(&[Role::IpnDelivery]);
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
        let chunks = "HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
        let bytes = |text: &str| text.as_bytes().to_vec();
        for (act, status) in [
            (Act::SayAndClose(bytes(&format!("{head}half"))), 200),
            (Act::SayAndClose(bytes(head)), 200),
            (Act::Say(bytes(chunks)), 202),
            (Act::SayAndHang(bytes(head)), 200),
            (Act::Trickle(bytes(head), Duration::from_millis(50)), 200),
        ] {
            let (id, receiver) = answered_by(&shop, act.clone()).await;
            let (_, attempts) = shop.delivery_becomes(&id, "delivered").await;
            let told: Vec<_> = attempts.iter().map(|one| (one.status, one.error.clone())).collect();
            assert_eq!(told, [(Some(status), None)], "{act:?}");
            assert_eq!(receiver.request_count(), 1, "{act:?}");
            // A body that hangs takes up one second of the ten.
            assert!(attempts[0].duration_ms < 9_000, "{act:?}: {attempts:?}");
            fired(1);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_else_is_a_failure_and_tried_again() {
    with_shop(|shop| async move {
        shop.stack.start(&[Role::IpnDelivery]);
        let elsewhere = Receiver::answering(200).await;
        let redirect = |status: &str| {
            let to = &elsewhere.url;
            let head = format!("HTTP/1.1 {status}\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
            Act::Say(head.into_bytes())
        };
        let cut = b"HTTP/1.1 500 Oh\r\nContent-Length: 9\r\n\r\nhalf".to_vec();
        let mut under_way = Vec::new();
        for (act, status) in [
            (redirect("301 Moved Permanently"), Some(301)),
            (redirect("302 Found"), Some(302)),
            (redirect("307 Temporary Redirect"), Some(307)),
            (redirect("308 Permanent Redirect"), Some(308)),
            (Act::answer("304 Not Modified", ""), Some(304)),
            (Act::answer("400 Bad Request", "no"), Some(400)),
            (Act::answer("401 Unauthorized", "no"), Some(401)),
            (Act::answer("404 Not Found", "no"), Some(404)),
            (Act::answer("410 Gone", "no"), Some(410)),
            (Act::answer("429 Too Many Requests", "no"), Some(429)),
            (Act::answer("500 Internal Server Error", "no"), Some(500)),
            (Act::answer("503 Service Unavailable", "no"), Some(503)),
            (Act::SayAndReset(Vec::new()), None),
            (Act::SayAndClose(Vec::new()), None),
            (Act::SayAndClose(b"HTTP/1.1 200".to_vec()), None),
            (Act::Say(b"nonsense\r\n\r\n".to_vec()), None),
            (Act::SayAndClose(cut), Some(500)),
        ] {
            under_way.push((answered_by(&shop, act.clone()).await, act, status));
        }
        for ((id, receiver), act, status) in under_way {
            let (_, attempts) = shop.delivery_becomes(&id, "delivered").await;
            let statuses: Vec<_> = attempts.iter().map(|attempt| attempt.status).collect();
            assert_eq!(statuses, [status, Some(200)], "{act:?}");
            assert!(attempts[0].error.as_ref().is_some_and(|text| !text.is_empty()), "{act:?}");
            assert_eq!(receiver.request_count(), 2, "{act:?}");
            fired(1);
        }
        assert!(elsewhere.received().is_empty(), "a redirect was followed");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_ends_after_ten_seconds_however_busy_the_receiver_looks() {
    with_shop(|shop| async move {
        shop.stack.start(&[Role::IpnDelivery]);
        let head = b"HTTP/1.1 200 OK\r\nx-a: ".to_vec();
        let mut under_way = Vec::new();
        for act in [
            Act::SayAndHang(Vec::new()),
            Act::SayAndHang(b"HTTP/1.1 200 OK\r\n".to_vec()),
            Act::Trickle(head, Duration::from_millis(100)),
        ] {
            under_way.push((answered_by(&shop, act.clone()).await, act));
        }
        for ((id, _receiver), act) in under_way {
            let (_, attempts) = shop.delivery_becomes(&id, "delivered").await;
            assert_eq!((attempts.len(), attempts[0].status), (2, None), "{act:?}");
            assert!((10_000..12_000).contains(&attempts[0].duration_ms), "{attempts:?}");
            fired(1);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_secret_signs_from_the_next_attempt_on() {
    with_shop(|shop| async move {
        shop.receiver.answer_first(&[500]);
        let id = shop.expired(json!({})).await;
        shop.stack.start(&[Role::IpnDelivery]);
        let first = shop.receiver.wait_for(1).await.remove(0);
        let rotated = shop.stack.gateway.rotate_secret(shop.merchant.new.id).await.unwrap();
        first.verify(shop.merchant.new.webhook_secret.reveal());
        shop.delivery_becomes(&id, "delivered").await;
        let second = shop.receiver.wait_for(2).await.remove(1);
        second.verify(rotated.reveal());
        assert_eq!(first.json()["event_id"], second.json()["event_id"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_are_not_public_are_refused_and_never_called() {
    let guarded = "egress.allow_private = false\n";
    with_configured_shop(guarded, Settings::default(), |shop| async move {
        let inside = Hostile::always(Act::answer("200 OK", "secret")).await;
        let port = inside.address.port();
        let mut under_way = Vec::new();
        for host in
            ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254"]
        {
            // Independent of the API's check of such an address at creation, the dialled address
            // decides.
            let id = shop.expired(json!({ "ipn_callback_url": "https://shop.example/ipn" })).await;
            let url = format!("http://{host}:{port}/ipn");
            let mut connection = shop.stack.database.connect().await;
            sqlx::query("update delivery set url = $1 where invoice_id = $2")
                .bind(&url)
                .bind(shop.row_id(&id).await)
                .execute(&mut connection)
                .await
                .unwrap();
            under_way.push((id, url));
        }
        shop.stack.start(&[Role::IpnDelivery]);
        for (id, url) in under_way {
            let attempts = eventually(&format!("an attempt at {url}"), async || {
                Some(shop.delivery(&id).await.1).filter(|attempts| !attempts.is_empty())
            })
            .await;
            let refused = &attempts[0];
            let error = refused.error.as_deref().unwrap_or_default();
            assert_eq!(refused.status, None, "{url}");
            assert!(error.starts_with("the address may not be called"), "{url}: {error}");
        }
        assert_eq!(inside.connection_count(), 0);
    })
    .await;
}
