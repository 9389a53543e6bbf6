//! `POST /v1/webhooks/test`.

use gateway::{
    merchant::settings::Settings,
    webhook::{Channel, event::EventKind},
};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use support::shop::{Shop, with_configured_shop, with_shop};

async fn try_out(shop: &Shop, body: &Value) -> Value {
    let answer = shop.merchant.client.post("/v1/webhooks/test", body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_of_every_webhook_is_signed_and_says_that_it_is_a_test() {
    with_shop(|shop| async move {
        let secret = shop.merchant.new.webhook_secret.reveal();
        let mut sent = 0;
        for kind in EventKind::ALL {
            let body = json!({ "type": kind, "url": shop.receiver.url });
            let Some(channel) = kind.channel() else {
                let answer = shop.merchant.client.post("/v1/webhooks/test", &body).await;
                answer.expect_error(400, "INVALID_REQUEST");
                continue;
            };
            let result = try_out(&shop, &body).await;
            sent += 1;
            assert_eq!((&result["ok"], &result["status"]), (&json!(true), &json!(200)), "{result}");
            assert_eq!((&result["excerpt"], &result["error"]), (&json!("noted"), &Value::Null));
            let received = shop.receiver.received();
            assert_eq!(received.len(), sent);
            let last = received.last().unwrap();
            assert_eq!(last.json()["_gateway"]["test"], true, "{kind}");
            match channel {
                Channel::Ipn => {
                    assert_eq!(shop.verified(last)["event_id"], result["event_id"]);
                }
                Channel::Payout => {
                    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
                    mac.update(&last.body);
                    let signature = hex::encode(mac.finalize().into_bytes());
                    assert_eq!(last.header("x-gateway-signature"), signature);
                    let body = last.json();
                    assert_eq!((&body["eventType"], &body["eventId"]), (&json!(kind), &result["event_id"]));
                }
            }
        }
        // Nothing of it is kept.
        let rows = "select (select count(*) from event) + (select count(*) from delivery) + (select count(*) from outbox)";
        assert_eq!(shop.number(rows).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_tells_what_the_receiver_said_and_goes_where_the_last_webhook_went() {
    with_shop(|shop| async move {
        let client = &shop.merchant.client;
        let nowhere = client.post("/v1/webhooks/test", &json!({ "type": "invoice.paid" })).await;
        nowhere.expect_error(400, "INVALID_REQUEST");
        assert!(nowhere.body.contains("url is required"), "{}", nowhere.body);
        shop.expired(json!({})).await;
        shop.receiver.answer(503);
        let result = try_out(&shop, &json!({ "type": "invoice.paid" })).await;
        assert_eq!(result["url"], shop.receiver.url.as_str());
        assert_eq!((&result["ok"], &result["status"]), (&json!(false), &json!(503)));
        assert!(result["error"].as_str().unwrap().contains("503"));
        assert_eq!(shop.receiver.received().len(), 1, "a trial is not repeated");
        // Nobody listens there.
        let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/ipn", closed.local_addr().unwrap());
        drop(closed);
        let result = try_out(&shop, &json!({ "type": "invoice.paid", "url": url })).await;
        assert_eq!((&result["ok"], &result["status"]), (&json!(false), &Value::Null));
        assert!(!result["error"].as_str().unwrap().is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_reaches_only_what_webhooks_reach() {
    let public = "egress.allow_private = false";
    with_configured_shop(public, Settings::default(), |shop| async move {
        for url in [
            "ftp://shop.example/ipn",
            "http://user:pw@shop.example/",
            "http://169.254.169.254/latest/meta-data",
            "http://10.0.0.1/",
            "http://[::ffff:10.0.0.1]/",
            "nonsense",
        ] {
            let body = json!({ "type": "invoice.paid", "url": url });
            let answer = shop.merchant.client.post("/v1/webhooks/test", &body).await;
            answer.expect_error(400, "INVALID_REQUEST");
            assert!(
                answer.json()["message"].as_str().unwrap().starts_with("url "),
                "{}",
                answer.body
            );
        }
        for body in [json!({}), json!({ "type": "x" }), json!({ "type": 7 })] {
            let answer = shop.merchant.client.post("/v1/webhooks/test", &body).await;
            answer.expect_error(400, "INVALID_REQUEST");
        }
    })
    .await;
}
