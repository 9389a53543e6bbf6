//! Requests and responses with honest servers, and data that the client leaves unchanged.

use super::*;
use support::fault::fired::fired;

#[tokio::test]
async fn the_request_is_exactly_what_the_caller_wrote() {
    let receiver = Hostile::always(Act::answer("200 OK", "fine")).await;
    let target = url(&receiver.url("/ipn?shop=1&x=%20#never-sent"));
    let mut call = Call::post(target, r#"{"a":1.50}"#, LONG);
    call.headers.insert("x-gateway-signature", "abc".parse().expect("a header value"));
    let answer = local().send(call).await.expect("an answer");

    assert_eq!((answer.status, &answer.body[..], answer.truncated), (200, &b"fine"[..], false));
    assert_eq!(answer.peer, Some(receiver.address));
    let request = String::from_utf8(receiver.requests().remove(0)).expect("text");
    let (head, body) = request.split_once("\r\n\r\n").expect("a head and a body");
    assert_eq!(body, r#"{"a":1.50}"#);
    assert!(head.starts_with("POST /ipn?shop=1&x=%20 HTTP/1.1\r\n"), "{head}");
    let head = head.to_ascii_lowercase();
    assert!(head.contains(&format!("host: {}", receiver.address)), "{head}");
    assert!(head.contains("x-gateway-signature: abc") && head.contains("content-length: 10"));
    for absent in ["accept-encoding", "never-sent", "transfer-encoding", "proxy"] {
        assert!(!head.contains(absent), "{absent} in {head}");
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_never_followed() {
    let other = Hostile::always(Act::answer("200 OK", "")).await;
    for status in [300, 301, 302, 303, 307, 308] {
        let raw = format!(
            "HTTP/1.1 {status} Moved\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n",
            other.url("/")
        );
        let receiver = Hostile::always(Act::Say(raw.into_bytes())).await;
        for answer in [
            get(&local(), &receiver.url("/")).await.expect("an answer"),
            post(&local(), &receiver.url("/")).await.expect("an answer"),
        ] {
            assert_eq!(answer.status, status);
            assert!(!answer.is_success());
        }
    }
    assert_eq!(other.connection_count(), 0);
}

#[tokio::test]
async fn a_gzip_bomb_is_not_decompressed() {
    // The first bytes of a gzip stream; its content does not matter, because the client does not
    // decode it.
    let mut raw =
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 14\r\n\r\n".to_vec();
    let packed = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xec\xc1\x01\x01";
    raw.extend_from_slice(packed);
    let receiver = Hostile::always(Act::Say(raw)).await;
    let answer = get(&local(), &receiver.url("/")).await.expect("an answer");
    assert_eq!(&answer.body[..], packed);
    fired(receiver.request_count());
}

#[tokio::test]
async fn interim_answers_are_skipped_and_odd_ones_are_failures() {
    let cases: [(&[u8], Result<u16, &str>); 8] = [
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", Ok(204)),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Ok(200)),
        (b"HTTP/1.0 200 OK\r\n\r\nold", Ok(200)),
        (b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n", Ok(410)),
        (b"just text, as in HTTP/0.9", Err("protocol")),
        (b"HTTP/1.1 999999 Huh\r\n\r\n", Err("protocol")),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", Err("protocol")),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnot-a-size\r\n", Err("protocol")),
    ];
    for (raw, expected) in cases {
        let receiver = Hostile::always(Act::SayAndClose(raw.to_vec())).await;
        let outcome = post(&local(), &receiver.url("/")).await;
        let shown = String::from_utf8_lossy(raw);
        match expected {
            Ok(status) => assert_eq!(outcome.expect("an answer").status, status, "{shown}"),
            Err(kind) => assert_eq!(outcome.expect_err("a failure").kind(), kind, "{shown}"),
        }
        assert_eq!(receiver.request_count(), 1, "{shown}");
    }
}

#[tokio::test]
async fn connections_are_reused_bounded_and_soon_closed() {
    let receiver = Hostile::always(Act::answer("200 OK", "")).await;
    let egress = local();
    for _ in 0..3 {
        get(&egress, &receiver.url("/")).await.expect("an answer");
    }
    assert_eq!(receiver.connection_count(), 1, "kept alive between calls");
    let target = receiver.url("/");
    let calls = (0..32).map(|_| get(&egress, &target));
    for answer in futures_util::future::join_all(calls).await {
        answer.expect("an answer");
    }
    receiver.open_at_most(4, LONG).await;
    receiver.open_at_most(0, LONG).await;
}

/// Runs in a child process, because the environment of this one is shared by all tests.
#[test]
fn proxy_variables_of_the_environment_are_not_read() {
    const CHILD: &str = "EGRESS_TEST_PROXY_CHILD";
    if std::env::var_os(CHILD).is_some() {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let receiver = Hostile::always(Act::answer("200 OK", "direct")).await;
            let answer = get(&local(), &receiver.url("/")).await.expect("an answer");
            assert_eq!(&answer.body[..], b"direct");
        });
        return;
    }
    let name = "egress::answers::proxy_variables_of_the_environment_are_not_read";
    let mut child = std::process::Command::new(std::env::current_exe().expect("this test"));
    child.args([name, "--exact"]).env(CHILD, "1");
    for variable in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "https_proxy"] {
        // Port 9 is the discard port; no server listens there.
        child.env(variable, "http://127.0.0.1:9");
    }
    let output = child.output().expect("a child process");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
