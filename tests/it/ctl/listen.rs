//! `gatewayctl listen`: hands webhooks on to a developer's receiver, byte for byte, and posts the
//! feed's events where nothing can reach the developer.

use std::{net::SocketAddr, time::Duration};

use gateway::{
    merchant::WebhookSecret,
    webhook::{ipn, payout},
};
use http::Method;
use serde_json::json;
use support::{
    client::{Answer, Client, ctl::Ctl},
    server::processes::{Launch, Process, free_port, program, within},
    shop::{Shop, receiver::Receiver, with_shop},
};

const SECRET: &str = "5f0c0011223344556677889900aabbccddeeff00112233445566778899aabbcc";
const LIMIT: Duration = Duration::from_secs(60);

fn listen(arguments: &[&str], environment: Vec<(String, String)>) -> Process {
    let arguments = ["listen"].iter().chain(arguments).map(|text| (*text).to_owned()).collect();
    let program = program("gatewayctl");
    Process::start(&Launch { name: "listen".into(), program, arguments, environment, owner: None })
}

/// A listener that hands on to these receivers.
async fn forwarding(ipn: &str, payouts: &str) -> (Process, SocketAddr) {
    let port = free_port();
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let port = port.to_string();
    let arguments =
        ["--secret", SECRET, "--port", &port, "--forward", ipn, "--forward-payouts", payouts];
    let listening = listen(&arguments, vec![]);
    within(LIMIT, "it listens", async || {
        let socket = tokio::net::TcpStream::connect(address).await;
        socket.map(drop).map_err(|error| error.to_string())
    })
    .await;
    (listening, address)
}

#[expect(clippy::disallowed_methods, reason = "a sender has no clock but its own")]
fn epoch_seconds() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// Posts an IPN in bytes that no JSON library would write, under this signature or the right one.
async fn post_ipn(address: SocketAddr, event_id: &str, forged: Option<&str>) -> (String, Answer) {
    let now = epoch_seconds();
    let body =
        format!(r#"{{ "payment_status":"finished",  "event_at":{now},"event_id":"{event_id}"}}"#);
    let secret = WebhookSecret::from(SECRET.to_owned());
    let signature = ipn::sign(&secret, body.as_bytes());
    let client = Client::new(address)
        .with_header("x-gateway-sig", forged.unwrap_or(&signature))
        .with_header("x-gateway-event-id", event_id)
        .with_header("content-type", ipn::CONTENT_TYPE)
        .with_header("user-agent", ipn::USER_AGENT);
    let answer = client.send_bytes(Method::POST, "/ipn", body.as_bytes()).await;
    (body, answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_verifies_is_handed_on_byte_for_byte_and_answered_as_the_receiver_answers() {
    let receiver = Receiver::answering(200).await;
    let (listening, address) = forwarding(&receiver.url, "http://127.0.0.1:1/payouts").await;
    let (body, answer) = post_ipn(address, "e1", None).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "noted"));
    let received = receiver.wait_for(1).await.remove(0);
    received.verify(SECRET);
    assert_eq!(received.body, body.as_bytes());

    // The receiver's own answer is the gateway's.
    receiver.answer_first(&[500, 409]);
    for (event_id, expected) in [("e1", 500), ("e1", 409), ("e1", 200)] {
        assert_eq!(post_ipn(address, event_id, None).await.1.status, expected);
    }
    assert_eq!(receiver.received().len(), 4);

    // What does not verify goes nowhere.
    assert_eq!(post_ipn(address, "e2", Some("00")).await.1.status, 401);
    assert_eq!(receiver.received().len(), 4);
    within(LIMIT, "all was told", async || {
        let told = listening.output();
        let lines = [
            format!("forwarded {} answered 200 in ", receiver.url),
            format!("forwarded {} answered 500 in ", receiver.url),
            "ms; so it will be tried again".to_owned(),
            "REFUSED   x-gateway-sig is not".to_owned(),
        ];
        lines.iter().all(|line| told.contains(line)).then_some(()).ok_or(told)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_receiver_is_away_the_answer_is_502_so_that_it_is_tried_again() {
    let nowhere = format!("http://127.0.0.1:{}/ipn", free_port());
    let payouts = Receiver::answering(410).await;
    let (listening, address) = forwarding(&nowhere, &payouts.url).await;
    let (_, answer) = post_ipn(address, "e1", None).await;
    assert_eq!(answer.status, 502, "{}", answer.body);
    assert!(answer.body.contains("did not answer"), "{}", answer.body);

    // The other channel has a receiver of its own, whose 4xx drops the event.
    let (now, secret) = (epoch_seconds(), WebhookSecret::from(SECRET.to_owned()));
    let body = payout::body("mass_payout.created", "pzwe_1", now.cast_signed(), "{}").unwrap();
    let client = Client::new(address)
        .with_header("x-gateway-signature", &payout::sign(&secret, body.as_bytes()))
        .with_header("x-gateway-event-id", "pzwe_1");
    let answer = client.send_bytes(Method::POST, "/payouts", body.as_bytes()).await;
    assert_eq!(answer.status, 410, "{}", answer.body);
    assert_eq!(payouts.received()[0].body, body.as_bytes());
    within(LIMIT, "both were told", async || {
        let told = listening.output();
        let lines = [format!("AWAY      {nowhere} did not answer"), "will not come again".into()];
        lines.iter().all(|line| told.contains(line)).then_some(()).ok_or(told)
    })
    .await;
}

/// Starts following the shop's feed. The key is in the environment, as a careful developer has it.
async fn following(shop: &Shop) -> Process {
    let secrets = [
        ("API_KEY".to_owned(), shop.merchant.new.api_key.reveal().to_owned()),
        ("WEBHOOK_SECRET".to_owned(), shop.merchant.new.webhook_secret.reveal().to_owned()),
    ];
    let base_url = format!("http://{}", shop.stack.api);
    let arguments = ["--feed", "--base-url", &base_url, "--forward", &shop.receiver.url];
    let process = listen(&arguments, secrets.to_vec());
    within(LIMIT, "it follows the feed", async || {
        let told = process.output();
        if told.starts_with("listening") { Ok(()) } else { Err(told) }
    })
    .await;
    process
}

#[tokio::test(flavor = "multi_thread")]
async fn events_come_from_the_feed_signed_as_webhooks_where_nothing_reaches_the_developer() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let nobody = json!({ "ipn_callback_url": null, "pay_currency": "all" });
        let before = shop.invoice_of(nobody.clone()).await;
        let process = following(&shop).await;
        shop.receiver.answer_first(&[503]);
        let id = shop.invoice_of(nobody).await;
        shop.end_window(&id, 1).await;
        shop.stack.gateway.expire_invoice(shop.row_id(&id).await).await.unwrap();
        let received = shop.receiver.wait_for(2).await;
        for one in &received {
            let event = shop.verified(one);
            assert_eq!(event["payment_id"], id.as_str());
            assert_eq!(event["payment_status"], "expired");
            assert_eq!(event["event_id"], received[0].json()["event_id"]);
        }
        let feed = shop.merchant.client.get("/v1/events?type=invoice.expired").await.json();
        assert_eq!(feed["data"][0]["event_id"], received[0].json()["event_id"]);
        let told = process.output();
        assert!(told.contains("answered 503") && told.contains("tried again in 5 s"), "{told}");
        assert!(told.contains(&format!("invoice.created  {id}  has no webhook")), "{told}");
        assert!(!told.contains(&before), "it begins now: {told}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_typed_wrong_is_said() {
    let wrong = [
        (vec!["--forward", "127.0.0.1:3000/ipn"], "must begin with http"),
        (vec!["--feed", "--api-key", "64d1"], "name --forward"),
        (vec!["--feed", "--forward", "http://127.0.0.1:3000"], "--api-key"),
        (vec!["--after", "evt_1"], "--feed"),
    ];
    for (arguments, words) in wrong {
        let all: Vec<_> = ["listen", "--secret", SECRET].into_iter().chain(arguments).collect();
        Ctl::default().run(&all).await.expect_wrong_usage(words);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_key_ends_it() {
    with_shop(|shop| async move {
        let base_url = format!("http://{}", shop.stack.api);
        let key = "0".repeat(64);
        let arguments = [
            "listen",
            "--secret",
            SECRET,
            "--feed",
            "--api-key",
            &key,
            "--base-url",
            &base_url,
            "--forward",
            &shop.receiver.url,
        ];
        Ctl::default().run(&arguments).await.expect_failure("API_KEY_NOT_FOUND");
    })
    .await;
}
