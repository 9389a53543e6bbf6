//! A slow client holds a connection for a while, not for ever.

use std::time::Duration;

use gateway::serve::Limits;
use serde_json::json;
use support::{client::Client, raw::RawClient, stack::with_stack};

use super::{order, rows_written};

/// More than the server keeps of a head, less than hyper would.
const HEAD_BYTES: usize = 40 * 1024;
const SHORT: Duration = Duration::from_millis(300);
/// Far above that, so that it only ends a test whose server waits for ever.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_never_end_and_silence_are_both_cut_off() {
    with_stack(|stack| async move {
        let limits = Limits { connections_max: 2, header_timeout: SHORT };
        let server = stack.replica_within(limits, "").await;
        let whole = b"GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n";
        for begun in [&b""[..], b"GET", b"GET /v1/status HTTP/1.1\r\nHost: x\r\nx-a: ", whole] {
            // More of them than there are connections: each must be closed before the next is
            // served.
            let mut slow = [RawClient::connect(server).await, RawClient::connect(server).await];
            for client in &mut slow {
                client.say(begun).await;
            }
            let heard = slow[0].hear_all().await;
            assert_eq!(heard.starts_with(b"HTTP/1.1 200"), begun == whole);
            slow[1].hear_all().await;
            let patient = Client::new(server);
            let answer = tokio::time::timeout(PATIENCE, patient.get("/v1/status")).await;
            assert_eq!(answer.expect("the slow ones are cut off").status, 200);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_is_too_large_is_not_kept_until_it_ends() {
    with_stack(|stack| async move {
        let mut client = RawClient::connect(stack.api).await;
        let begun = "GET /v1/status HTTP/1.1\r\nHost: x\r\nx-a: ";
        client.say(begun.as_bytes()).await;
        client.say(&[b'x'; HEAD_BYTES]).await;
        let cut_off = tokio::time::timeout(Limits::default().header_timeout / 2, client.hear_all());
        assert!(cut_off.await.is_ok(), "it may still go on");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_asks_and_never_reads_is_cut_off() {
    with_stack(|stack| async move {
        let limits = Limits { connections_max: 1, header_timeout: SHORT };
        let server = stack.replica_within(limits, "").await;
        let mut greedy = RawClient::connect(server).await;
        // Many megabytes of responses: no buffer on the way holds them.
        let asked = "GET /v1/currencies HTTP/1.1\r\nHost: x\r\n\r\n".repeat(2_000);
        greedy.say(asked.as_bytes()).await;
        // The only connection is free again while the greedy client still holds its end.
        let patient = Client::new(server);
        let answer = tokio::time::timeout(PATIENCE, patient.get("/v1/status")).await;
        assert_eq!(answer.expect("the greedy client is cut off").status, 200);
        drop(greedy);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_arrive_is_the_client_s_fault() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let key = merchant.new.api_key.reveal();
        let body = order(&json!({})).to_string();
        let head = format!(
            "POST /v1/payment HTTP/1.1\r\nHost: x\r\nx-api-key: {key}\r\nContent-Length: {}\r\n\r\n",
            body.len() + 1
        );
        let mut client = RawClient::connect(stack.api).await;
        client.say(head.as_bytes()).await;
        client.say(body.as_bytes()).await;
        let heard = String::from_utf8(client.hear_all().await).unwrap();
        assert!(heard.starts_with("HTTP/1.1 400"), "{heard}");
        assert!(heard.contains("INVALID_REQUEST") && heard.contains("8 seconds"), "{heard}");
        assert_eq!(rows_written(&stack).await, [0; 4]);
    })
    .await;
}
