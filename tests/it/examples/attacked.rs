//! What `gatewayctl check-receiver` sends: each snippet comes to the verdict that it deserves.

use std::sync::{Arc, Mutex};

use axum::{Router, body::Bytes, http::StatusCode, routing::any};
use http::HeaderMap;
use serde_json::{Value, json};
use support::{
    client::ctl::Ctl,
    server::scratch::Scratch,
    shop::{roastery::Roastery, with_shop},
};

use super::languages::{CHECKS, verdicts};

const SECRET: &str = "5f0c0011223344556677889900aabbccddeeff00112233445566778899aabbcc";
/// The case whose deliveries come five at once.
const MANY: (&str, usize) = ("the same five times at once", 5);

/// Records the deliveries of a run, as the check programs read them, with the case of each.
async fn recorded(channel: &str, header: &'static str) -> (Value, Vec<Value>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let router = Router::new()
        .fallback(any(move |headers: HeaderMap, body: Bytes| async move {
            let signature = headers.get(header).map(|value| value.to_str().unwrap().to_owned());
            kept.lock().unwrap().push(json!({
                "name": "", "body": String::from_utf8(body.to_vec()).unwrap(),
                "signature": signature,
            }));
            StatusCode::OK
        }))
        .layer(axum::extract::DefaultBodyLimit::disable());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let arguments = ["--json", "check-receiver", &url, "--channel", channel, "--secret", SECRET];
    let graded = Ctl::default().run(&arguments).await.json();
    let cases: Vec<_> = graded["cases"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|case| {
            let copies = if case["case"] == MANY.0 { MANY.1 } else { 1 };
            std::iter::repeat_n(case.clone(), copies)
        })
        .collect();
    let mut deliveries = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!(deliveries.len(), cases.len());
    let first: Value = serde_json::from_str(deliveries[0]["body"].as_str().unwrap()).unwrap();
    let signed_at = first.get("event_at").or(first.get("eventAt")).unwrap().clone();
    for (place, delivery) in deliveries.iter_mut().enumerate() {
        delivery["name"] = place.to_string().into();
        delivery["received_at"] = signed_at.clone();
    }
    (json!({ "secret": SECRET, "deliveries": deliveries }), cases)
}

/// A snippet refuses exactly what a receiver must not take, and acts on no sample: each says that
/// it is a test.
#[track_caller]
fn deserves(language: &str, case: &Value, verdict: &str) {
    let is_refused = verdict == "forged" || verdict == "stale";
    let is_genuine = case["expected"] == "2xx";
    assert_eq!(is_refused, !is_genuine, "{language}: {} is {verdict}", case["case"]);
    assert!(is_refused || verdict == "duplicate", "{language}: {} is {verdict}", case["case"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_snippet_gets_full_marks() {
    let channels = [
        ("verify-ipn", "ipn", "x-gateway-sig"),
        ("verify-payout-webhook", "payout", "x-gateway-signature"),
    ];
    for (folder, channel, header) in channels {
        let (recording, cases) = recorded(channel, header).await;
        let scratch = Scratch::new();
        let path = scratch.fresh("recorded");
        std::fs::write(&path, recording.to_string()).unwrap();
        for (language, check) in CHECKS {
            let said = verdicts(check, folder, &path);
            assert_eq!(said.len(), cases.len(), "{language}: {said:?}");
            for (line, case) in said.iter().zip(&cases) {
                deserves(language, case, line.split_once(": ").unwrap().1);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demonstration_shop_gets_full_marks() {
    with_shop(|shop| async move {
        let roastery = Roastery::start(&shop.stack).await;
        let url = format!("{}/ipn", roastery.url);
        let arguments = ["check-receiver", &url, "--secret", &roastery.webhook_secret];
        let ran = Ctl::default().run(&arguments).await.expect_ok();
        assert!(ran.stdout.contains("20 of 20 passed"), "{ran:?}");
    })
    .await;
}
