//! Receivers that send too much, or too slowly.

use tokio::time::Instant;

use super::*;
use support::fault::fired::fired;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
const GIGABYTE: &str = "1073741824";
const SHORT: Duration = Duration::from_millis(300);

async fn times_out(act: Act, scheme: &str) {
    let shown = format!("{act:?} over {scheme}");
    let receiver = Hostile::always(act).await;
    let started = Instant::now();
    let target = url(&format!("{scheme}://{}/", receiver.address));
    let error = local().send(Call::post(target, "{}", SHORT)).await.expect_err("no answer");
    assert_eq!(error, EgressError::TimedOut, "{shown}");
    let took = started.elapsed();
    assert!(took >= SHORT && took < SHORT * 10, "{shown} took {took:?}");
    // The connection goes with the call.
    receiver.open_at_most(0, LONG).await;
    fired(receiver.request_count());
}

#[tokio::test]
async fn one_deadline_covers_every_phase_of_a_request() {
    let beat = Duration::from_millis(20);
    times_out(Act::SayAndHang(vec![]), "http").await;
    times_out(Act::SayAndHang(b"HTTP/1.1 200".to_vec()), "http").await;
    times_out(Act::SayAndHang(HEAD.to_vec()), "http").await;
    times_out(Act::SayAndHang([HEAD, b"some"].concat()), "http").await;
    times_out(Act::Trickle(b"HTTP/1.1 200 OK\r\nA: ".to_vec(), beat), "http").await;
    times_out(Act::Trickle(HEAD.to_vec(), beat), "http").await;
    times_out(Act::Flood(vec![], b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()), "http").await;
}

#[tokio::test]
async fn the_deadline_covers_the_handshake_and_the_lookup() {
    // A listener that accepts and sends nothing: the handshake never begins.
    let silent = Hostile::always(Act::SayAndHang(vec![])).await;
    let target = url(&format!("https://{}/", silent.address));
    let error = local().send(Call::get(target, SHORT)).await.expect_err("no handshake");
    assert_eq!(error, EgressError::TimedOut);

    struct Never;
    impl Resolve for Never {
        fn resolve(&self, _: &str) -> Resolving {
            Box::pin(std::future::pending())
        }
    }
    let lost = Egress::with_resolver(Policy::public(), Arc::new(Never));
    let call = Call::get(url("https://shop.example/"), SHORT);
    assert_eq!(lost.send(call).await.expect_err("no address"), EgressError::TimedOut);
}

#[tokio::test]
async fn a_response_body_of_a_gigabyte_is_read_only_up_to_the_limit() {
    let block = vec![b'x'; 64 * 1024];
    let sized = format!("HTTP/1.1 200 OK\r\nContent-Length: {GIGABYTE}\r\n\r\n").into_bytes();
    let endless = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    let chunk = [b"10000\r\n", &block[..], b"\r\n"].concat();
    for act in [
        Act::Flood(sized, block.clone()),
        Act::Flood(endless, block.clone()),
        Act::Flood(chunked, chunk),
    ] {
        let receiver = Hostile::always(act).await;
        let mut call = Call::post(url(&receiver.url("/")), "{}", LONG);
        call.body_bytes_max = 1000;
        let answer = local().send(call).await.expect("an answer");
        assert_eq!((answer.status, answer.body.len(), answer.truncated), (200, 1000, true));
        receiver.open_at_most(0, LONG).await;
        // Bytes sent beyond the limit are at most in socket buffers.
        assert!(receiver.bytes_sent() < 64 * 1024 * 1024, "{} bytes", receiver.bytes_sent());
        fired(receiver.request_count());
    }
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_is_whole() {
    for (body_bytes_max, kept, truncated) in
        [(4, 4, true), (5, 5, false), (6, 5, false), (0, 0, true)]
    {
        let receiver = Hostile::always(Act::answer("200 OK", "hello")).await;
        let call = Call { body_bytes_max, ..Call::get(url(&receiver.url("/")), LONG) };
        let answer = local().send(call).await.expect("an answer");
        assert_eq!((answer.body.len(), answer.truncated), (kept, truncated), "{body_bytes_max}");
    }
}

#[tokio::test]
async fn response_headers_without_end_are_refused() {
    let head = b"HTTP/1.1 200 OK\r\n".to_vec();
    for act in [
        Act::Flood(head.clone(), b"X-Line: again\r\n".to_vec()),
        Act::Flood([&head[..], b"X-Long: "].concat(), vec![b'x'; 1024]),
        Act::Flood(vec![], vec![b'x'; 1024]),
        Act::Say([&head[..], &b"A: b\r\n".repeat(101)[..], b"\r\n"].concat()),
    ] {
        let receiver = Hostile::always(act).await;
        let error = post(&local(), &receiver.url("/")).await.expect_err("too much");
        assert_eq!(error.kind(), "protocol", "{error:?}");
        fired(receiver.request_count());
        receiver.open_at_most(0, LONG).await;
        assert!(receiver.bytes_sent() < 64 * 1024 * 1024, "{} bytes", receiver.bytes_sent());
    }
}
