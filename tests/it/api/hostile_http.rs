//! Requests that are broken below JSON: on the wire itself. One meaning or none.

use serde_json::json;
use support::{
    client::raw::{self, RawClient},
    server::stack::with_stack,
};

use super::{order, rows_written};

#[tokio::test(flavor = "multi_thread")]
async fn malformed_http_is_refused_without_an_effect_or_a_5xx() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let key = merchant.new.api_key.reveal();
        let body = order(&json!({})).to_string();
        let length = body.len();
        let post = |headers: &str, body: &str| {
            format!(
                "POST /v1/payment HTTP/1.1\r\nHost: x\r\nConnection: close\r\nx-api-key: {key}\r\n{headers}\r\n{body}"
            )
        };
        let long = "x".repeat(600_000);
        let many: String = (0..200).map(|number| format!("x-{number}: y\r\n")).collect();
        let requests = [
            "\r\n\r\n\r\nnonsense\r\n\r\n".to_owned(),
            "GET\r\n\r\n".to_owned(),
            "GET /v1/status HTTP/9.9\r\n\r\n".to_owned(),
            "GET /v1/status SPDY/1\r\n\r\n".to_owned(),
            "\u{16}\u{3}\u{1}\u{2}\0".to_owned() + "\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
            format!("GET /{long} HTTP/1.1\r\nHost: x\r\n\r\n"),
            post(&format!("x: {long}\r\n"), ""),
            post(&many, ""),
            post(&format!("Content-Length: {length}\r\nContent-Length: 5\r\n"), &body),
            post("Content-Length: -1\r\n", &body),
            post("Content-Length: +5\r\n", &body),
            post("Content-Length: 99999999999999999999999\r\n", &body),
            post("Content-Length: 1e3\r\n", &body),
            post("Transfer-Encoding: gzip\r\n", &body),
            post("Transfer-Encoding: chunked\r\n", "zz\r\nabc\r\n0\r\n\r\n"),
            post("Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\nabc\r\n0\r\n\r\n"),
            post("bad header: 1\r\n", &body),
            post("x: a\0b\r\n", &body),
            post("\u{1}: a\r\n", &body),
        ];
        for request in requests {
            let answer = raw::exchange(stack.api, request.as_bytes()).await;
            let start: String = request.chars().take(60).collect();
            // Closing without a response is a refusal, too: HTTP/2 gets it.
            let refused = answer.status().is_none_or(|status| [400, 414, 431].contains(&status));
            assert!(refused, "{answer:?} for {start:?}");
        }
        assert_eq!(rows_written(&stack).await, [0; 4]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_second_request_hides_behind_two_lengths() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let key = merchant.new.api_key.reveal();
        let body = order(&json!({})).to_string();
        let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        let head = format!("POST /v1/payment HTTP/1.1\r\nHost: x\r\nx-api-key: {key}\r\n");
        let hidden = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        // The chunks count and the connection ends with their response (RFC 9112, 6.3). The request
        // is not refused, because hyper removes the length from the head before any code could see
        // that both were there.
        for lengths in [
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        ] {
            let before = rows_written(&stack).await[0];
            let request = format!("{head}{lengths}\r\n{chunked}{hidden}");
            let answer = raw::exchange(stack.api, request.as_bytes()).await;
            assert_eq!((answer.status(), answer.answers()), (Some(201), 1), "{answer:?}");
            assert!(answer.0.contains("\r\nconnection: close\r\n"), "{answer:?}");
            assert_eq!(rows_written(&stack).await[0], before + 1, "{lengths}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_ten_megabytes_before_reading_still_gets_the_413_response() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let key = merchant.new.api_key.reveal();
        let length = 10 * 1024 * 1024;
        let head = format!(
            "POST /v1/payment HTTP/1.1\r\nHost: x\r\nConnection: close\r\nx-api-key: {key}\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        let mut client = RawClient::connect(stack.api).await;
        assert!(client.say(head.as_bytes()).await);
        // Many clients read no response once sending has failed.
        assert!(client.say(&vec![b' '; length]).await, "the server did not take the body");
        let answer = String::from_utf8(client.hear_all().await).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert!(answer.contains("INVALID_REQUEST"), "{answer}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn raw_bytes_in_a_path_find_nothing() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let key = merchant.new.api_key.reveal();
        for path in [
            &b"/v1/payment/\xff"[..],
            b"/v1/payment/\xc3\xa9",
            b"/v1/payment/a\"b",
            b"/v1/payment/{id}",
        ] {
            let head =
                format!(" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nx-api-key: {key}\r\n\r\n");
            let request = [b"GET ", path, head.as_bytes()].concat();
            let answer = raw::exchange(stack.api, &request).await;
            assert!([Some(400), Some(404)].contains(&answer.status()), "{answer:?}");
        }
    })
    .await;
}
