//! Connections that end too early.

use super::*;
use support::fault::fired::fired;

const WHOLE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhello, world";
const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n";

#[tokio::test]
async fn a_post_cut_at_any_byte_is_one_failed_attempt() {
    let egress = local();
    for whole in [WHOLE, CHUNKED] {
        let head = whole.windows(4).position(|w| w == b"\r\n\r\n").expect("a head") + 4;
        for n in 0..whole.len() {
            for act in
                [Act::SayAndClose(whole[..n].to_vec()), Act::SayAndReset(whole[..n].to_vec())]
            {
                let reset = matches!(act, Act::SayAndReset(_));
                let receiver = Hostile::always(act).await;
                let error = post(&egress, &receiver.url("/")).await.expect_err("a cut answer");
                // A reset may overtake the head that was sent before it.
                let status = (n >= head).then_some(200);
                let fits = error == EgressError::Cut { status }
                    || reset && error == EgressError::Cut { status: None };
                assert!(fits, "{n} of {}: {error:?}", whole.len());
                assert_eq!(receiver.request_count(), 1, "cut after {n}");
                fired(1);
            }
        }
        let receiver = Hostile::always(Act::SayAndClose(whole.to_vec())).await;
        let answer = post(&egress, &receiver.url("/")).await.expect("the whole answer");
        assert_eq!(&answer.body[..], b"hello, world");
    }
}

#[tokio::test]
async fn a_get_cut_at_any_byte_is_tried_once_more_and_not_twice() {
    let egress = local();
    for n in 0..WHOLE.len() {
        let receiver = Hostile::start(move |request| match request {
            0 => Act::SayAndClose(WHOLE[..n].to_vec()),
            _ => Act::Say(WHOLE.to_vec()),
        })
        .await;
        let answer = get(&egress, &receiver.url("/")).await.expect("the second answer");
        assert_eq!((&answer.body[..], receiver.request_count()), (&b"hello, world"[..], 2));
        fired(1);
    }
    let receiver = Hostile::always(Act::SayAndReset(WHOLE[..20].to_vec())).await;
    let error = get(&egress, &receiver.url("/")).await.expect_err("cut twice");
    assert_eq!((error.kind(), receiver.request_count()), ("cut", 2));
}

/// The keep-alive race: the receiver closes an idle connection just as we reuse it.
#[tokio::test]
async fn a_pooled_connection_that_dies_is_retried_for_get_and_reported_for_post() {
    let script = |request| match request {
        1 => Act::SayAndReset(vec![]),
        _ => Act::Say(WHOLE.to_vec()),
    };
    let receiver = Hostile::start(script).await;
    let egress = local();
    get(&egress, &receiver.url("/")).await.expect("an answer");
    get(&egress, &receiver.url("/")).await.expect("an answer by the second try");
    assert_eq!((receiver.request_count(), receiver.connection_count()), (3, 2));

    let receiver = Hostile::start(script).await;
    let egress = local();
    post(&egress, &receiver.url("/")).await.expect("an answer");
    let error = post(&egress, &receiver.url("/")).await.expect_err("a failed attempt");
    assert_eq!(error, EgressError::Cut { status: None });
    assert_eq!((receiver.request_count(), receiver.connection_count()), (2, 1));
}

#[tokio::test]
async fn an_unknown_host_is_distinguished_from_a_local_failure() {
    // Bound but not listening: the port is ours and refuses.
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let target = format!("http://{}/", socket.local_addr().expect("a bound socket"));
    let error = post(&local(), &target).await.expect_err("nobody listens");
    assert_eq!(error, EgressError::Connect("connection refused"));

    let unknown = with_names(PublicPolicy::default(), |_| Err(std::io::Error::other("nxdomain")));
    assert_eq!(
        post(&unknown, "https://shop.example/").await.expect_err("no name"),
        EgressError::Resolve
    );
    let empty = with_names(PublicPolicy::default(), |_| Ok(vec![]));
    assert_eq!(
        post(&empty, "https://shop.example/").await.expect_err("no name"),
        EgressError::Resolve
    );
}

#[tokio::test]
async fn no_error_shows_the_url() {
    let gone = "http://127.0.0.1:1/hook-sekret?token=sekret";
    let closing = Hostile::always(Act::SayAndClose(b"sekret\r\n\r\n".to_vec())).await;
    for target in [
        gone.to_owned(),
        closing.url("/sekret?sekret"),
        "http://user:sekret@shop.example/".to_owned(),
        "https://169.254.169.254/sekret".to_owned(),
    ] {
        let error = post(&local(), &target).await.expect_err("a failure");
        let shown = format!("{error} {error:?} {}", error.kind());
        assert!(!shown.contains("sekret"), "{shown}");
    }
}
