//! `gatewayctl check-receiver`: full marks for a good receiver, and a fault for each bad habit.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Bytes, http::StatusCode, response::Response, routing::any};
use http::{HeaderMap, header};
use serde_json::Value;
use support::{
    client::ctl::{Ctl, Ran},
    server::processes::{Launch, Process, free_port, program, within},
};

const SECRET: &str = "5f0c0011223344556677889900aabbccddeeff00112233445566778899aabbcc";

async fn checked(url: &str, channel: &str) -> Ran {
    let arguments = ["--json", "check-receiver", url, "--channel", channel, "--secret", SECRET];
    Ctl::default().run(&arguments).await
}

/// A receiver that answers as `answer` decides from the request's headers and body.
async fn receiver(answer: fn(&HeaderMap, &[u8]) -> StatusCode) -> String {
    let router = Router::new().fallback(any(move |headers: HeaderMap, body: Bytes| async move {
        let mut response = Response::new(axum::body::Body::empty());
        *response.status_mut() = answer(&headers, &body);
        if response.status().is_redirection() {
            response.headers_mut().insert(header::LOCATION, "/elsewhere".parse().unwrap());
        }
        response
    }));
    served(router).await
}

async fn served(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// The names of the cases that a receiver fails.
async fn failed(answer: fn(&HeaderMap, &[u8]) -> StatusCode) -> Vec<String> {
    let ran = checked(&receiver(answer).await, "ipn").await;
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{ran:?}");
    let graded = ran.json();
    assert_eq!(graded["passed"], false);
    let cases = graded["cases"].as_array().unwrap();
    let bad = cases.iter().filter(|case| case["passed"] == false);
    bad.map(|case| case["case"].as_str().unwrap().to_owned()).collect()
}

fn is_signed(headers: &HeaderMap, _: &[u8]) -> StatusCode {
    let is_there = headers.get("x-gateway-sig").is_some_and(|value| value.len() == 128);
    if is_there { StatusCode::OK } else { StatusCode::UNAUTHORIZED }
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_receiver_has_full_marks_on_both_channels() {
    let port = free_port();
    let _listen = Process::start(&Launch {
        name: "listen".into(),
        program: program("gatewayctl"),
        arguments: ["listen", "--secret", SECRET, "--port", &port.to_string()]
            .map(str::to_owned)
            .to_vec(),
        environment: vec![],
        owner: None,
    });
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    within(std::time::Duration::from_secs(60), "it listens", async || {
        let socket = tokio::net::TcpStream::connect(address).await;
        socket.map(drop).map_err(|error| error.to_string())
    })
    .await;
    for (path, channel) in [("ipn", "ipn"), ("payouts", "payout")] {
        let graded = checked(&format!("http://{address}/{path}"), channel).await.expect_ok().json();
        assert_eq!(graded["passed"], true, "{graded:#}");
        assert!(graded["cases"].as_array().unwrap().len() >= 19);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_believes_everything_fails_every_forgery() {
    let bad = failed(|_, _| StatusCode::OK).await;
    // Axum itself refuses eight megabytes.
    assert_eq!(bad.len(), 9, "{bad:?}");
    assert!(bad.contains(&"signed an hour ago".to_owned()), "{bad:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_only_looks_for_a_signature_fails_by_wrong_ones() {
    let bad = failed(is_signed).await;
    for case in ["the signature of another secret", "one byte more than was signed"] {
        assert!(bad.contains(&case.to_owned()), "{bad:?}");
    }
    assert!(!bad.contains(&"no signature".to_owned()), "{bad:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_redirects_or_breaks_takes_no_event() {
    for answer in [
        |_: &HeaderMap, _: &[u8]| StatusCode::FOUND,
        |_: &HeaderMap, _: &[u8]| StatusCode::INTERNAL_SERVER_ERROR,
    ] {
        let bad = failed(answer).await;
        assert!(bad.contains(&"a genuine event".to_owned()), "{bad:?}");
        assert!(bad.contains(&"no signature".to_owned()), "{bad:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_where_nothing_listens_is_an_error_and_no_grade() {
    let url = format!("http://127.0.0.1:{}/ipn", free_port());
    checked(&url, "ipn").await.expect_failure("does not answer");
    checked("ftp://127.0.0.1/ipn", "ipn").await.expect_wrong_usage("must begin with http");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_sample_says_that_it_is_a_test() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let router = Router::new().fallback(any(move |body: Bytes| async move {
        kept.lock().unwrap().push(body);
        StatusCode::OK
    }));
    let url = served(router).await;
    for channel in ["ipn", "payout"] {
        checked(&url, channel).await;
    }
    let seen = seen.lock().unwrap();
    assert!(seen.len() > 40, "{}", seen.len());
    for body in seen.iter() {
        let event: Value = serde_json::from_slice(body).unwrap();
        assert_eq!(event["_gateway"]["test"], true, "{event}");
    }
}
