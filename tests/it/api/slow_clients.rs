//! A slow client holds a connection for a while, not for ever.

use std::{net::SocketAddr, time::Duration};

use gateway::serve::Limits;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::{
    body::Bytes,
    client::conn::http1::{SendRequest, handshake},
};
use hyper_util::rt::TokioIo;
use serde_json::json;
use support::{
    client::{Client, raw::RawClient},
    server::stack::with_stack,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{order, rows_written};

/// More than the server keeps of a head, less than hyper would.
const HEAD_BYTES: usize = 40 * 1024;
const SHORT: Duration = Duration::from_millis(300);
/// Far above that, so that it only ends a test whose server waits for ever.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_never_end_and_silence_are_both_cut_off() {
    with_stack(|stack| async move {
        let limits = Limits { connections_max: 2, header_timeout: SHORT, idle_timeout: SHORT };
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

/// Clients that write a request in two pieces are common. One whose request is refused by its head
/// must be able to write the rest, or it may never read why.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_request_may_come_in_two_pieces() {
    with_stack(|stack| async move {
        let order = order(&json!({})).to_string();
        for (request, status) in [
            ("POST /v1/nothing", "HTTP/1.1 404"),
            ("POST /v1/payment", "HTTP/1.1 401"),
            ("PUT /v1/payment", "HTTP/1.1 405"),
        ] {
            let mut socket = TcpStream::connect(stack.api).await.unwrap();
            let head =
                format!("{request} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", order.len());
            // The second request shows that the connection outlives the first.
            for _ in 0..2 {
                socket.write_all(head.as_bytes()).await.unwrap();
                let mut answer = vec![0; 4096];
                let read = socket.read(&mut answer).await.unwrap();
                assert!(answer[..read].starts_with(status.as_bytes()), "{request}: {read} bytes");
                socket.write_all(order.as_bytes()).await.unwrap();
            }
        }
    })
    .await;
}

/// A request on a kept connection, and its answer's status.
async fn ask(sender: &mut SendRequest<Empty<Bytes>>) -> u16 {
    let request = Request::get("/v1/status").header("host", "test").body(Empty::new()).unwrap();
    sender.ready().await.expect("the connection is kept");
    let answer = sender.send_request(request).await.expect("the connection is kept");
    let status = answer.status().as_u16();
    answer.into_body().collect().await.unwrap();
    status
}

async fn keep(server: SocketAddr) -> SendRequest<Empty<Bytes>> {
    let socket = TokioIo::new(TcpStream::connect(server).await.unwrap());
    let (sender, connection) = handshake(socket).await.unwrap();
    tokio::spawn(connection);
    sender
}

/// The pause between two requests has a limit of its own: a proxy that keeps its connections for a
/// minute must not meet closed ones.
#[tokio::test(flavor = "multi_thread")]
async fn a_kept_connection_may_be_silent_for_longer_than_a_head_may_take() {
    with_stack(|stack| async move {
        let limits = Limits { header_timeout: SHORT, ..Limits::default() };
        assert!(limits.idle_timeout >= Duration::from_secs(75));
        let server = stack.replica_within(limits, "").await;
        let mut kept = keep(server).await;
        for _ in 0..3 {
            assert_eq!(ask(&mut kept).await, 200);
            // Heads that never end show that the time of a head has passed since.
            for begun in [&b"GET /v1/status HTTP/1.1\r\nHost: x\r\nx-a: "[..], b""] {
                let mut slow = RawClient::connect(server).await;
                slow.say(begun).await;
                assert_eq!(slow.hear_all().await, b"");
            }
        }
        assert_eq!(ask(&mut kept).await, 200);
        // On a kept connection a head has no more time than on a new one.
        let mut socket = TcpStream::connect(server).await.unwrap();
        socket.write_all(b"GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let mut heard = Vec::new();
        while !heard.ends_with(b"}") {
            assert!(socket.read_buf(&mut heard).await.unwrap() > 0);
        }
        socket.write_all(b"GET /v1/st").await.unwrap();
        let cut_off = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut heard)).await;
        cut_off.expect("the head had its time").unwrap();
        assert_eq!(ask(&mut kept).await, 200);
    })
    .await;
}

/// Idle connections that fill the house make room: the limit of a head is theirs then.
#[tokio::test(flavor = "multi_thread")]
async fn kept_connections_make_room_when_few_are_left() {
    with_stack(|stack| async move {
        let limits = Limits { connections_max: 4, header_timeout: SHORT, ..Limits::default() };
        let server = stack.replica_within(limits, "").await;
        let mut kept = Vec::new();
        for _ in 0..4 {
            let mut sender = keep(server).await;
            assert_eq!(ask(&mut sender).await, 200);
            kept.push(sender);
        }
        let patient = Client::new(server);
        let answer = tokio::time::timeout(PATIENCE, patient.get("/v1/status")).await;
        assert_eq!(answer.expect("the idle ones make room").status, 200);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn request_headers_that_are_too_large_are_refused_before_they_end() {
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
        let limits = Limits { connections_max: 1, header_timeout: SHORT, ..Limits::default() };
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
