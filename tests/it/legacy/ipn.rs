//! IPNs in the dialect: bytes, signature, retries, and what else is told of such an invoice.

use std::collections::BTreeMap;

use gateway::asset::Network;
use serde_json::json;
use support::shop::{Shop, receiver::Received, with_shop};
use url::form_urlencoded;

use super::{Legacy, hmac, order};

/// The fields of an IPN whose signature and headers are right.
fn verified(shop: &Shop, received: &Received) -> BTreeMap<String, String> {
    let secret = shop.merchant.new.webhook_secret.reveal();
    assert_eq!(received.header("hmac"), hmac(secret, &received.body));
    assert_eq!(received.header("content-type"), "application/x-www-form-urlencoded");
    assert!(!received.headers.contains_key("x-gateway-sig"));
    let fields: BTreeMap<_, _> = form_urlencoded::parse(&received.body).into_owned().collect();
    assert_eq!(format!("evt_{}", fields["ipn_id"]), received.header("x-gateway-event-id"));
    assert_eq!((&*fields["ipn_version"], &*fields["ipn_mode"]), ("1.0", "hmac"));
    assert_eq!(fields["merchant"], shop.merchant.new.id.simple().to_string());
    fields
}

/// Creates a transaction and returns its `txn_id` and its `payment_id`.
async fn created(shop: &Shop, legacy: &Legacy, fields: &[(&str, &str)]) -> (String, String) {
    let url = shop.receiver.url.clone();
    let mut order = order(fields);
    order.push(("ipn_url", &url));
    let made = legacy.result("create_transaction", &order).await;
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    (text("txn_id"), text("checkout_url").rsplit('/').next().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paid_transaction_is_told_with_everything_that_its_order_said() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let legacy = Legacy::of(&shop.stack, &shop.merchant).await;
        let fields = [
            ("buyer_name", "Ada (Byron)"),
            ("item_name", "2 × tea!"),
            ("item_number", "T-2"),
            ("invoice", "A-1"),
            ("custom", "it's = 42 & more ~"),
        ];
        let (txn_id, payment_id) = created(&shop, &legacy, &fields).await;
        // The first answer is a failure: the second attempt has the same bytes.
        shop.receiver.answer_first(&[500]);
        shop.pay(&payment_id, "12.5").await;
        let received = shop.receiver.wait_for(1).await;
        let told = verified(&shop, &received[0]);
        for (name, value) in [
            ("ipn_type", "api"),
            ("status", "100"),
            ("status_text", "Complete"),
            ("txn_id", txn_id.as_str()),
            ("currency1", "USD"),
            ("currency2", "USDT.POL"),
            ("amount1", "12.5"),
            ("amount2", "12.50000000"),
            ("received_amount", "12.50000000"),
            ("email", "ada@example.com"),
        ] {
            assert_eq!(told[name], value, "{name}");
        }
        for (name, value) in fields {
            assert_eq!(told[name], value, "{name}");
        }
        let body = String::from_utf8(received[0].body.to_vec()).unwrap();
        assert!(body.contains("buyer_name=Ada+(Byron)&"), "{body}");
        assert!(body.contains("item_name=2+%C3%97+tea!&"), "{body}");
        assert!(body.contains("custom=it's+%3D+42+%26+more+~"), "{body}");
        // The feed tells it as it tells every event.
        let feed = shop.merchant.client.get("/v1/events?limit=50").await.json();
        let events = feed["data"].as_array().unwrap();
        let paid = events.iter().find(|event| event["type"] == "invoice.paid").unwrap();
        assert_eq!(paid["payload"]["payment_status"], "finished");
        // Money after the end is a notice with the same status.
        shop.pay(&payment_id, "1").await;
        let late = support::server::broker::eventually("a notice", async || {
            let received = shop.receiver.received();
            let notice = |one: &&Received| String::from_utf8_lossy(&one.body).contains("&notice=");
            received.iter().find(notice).cloned()
        })
        .await;
        let late = verified(&shop, &late);
        assert_eq!((&*late["status"], &*late["notice"]), ("100", "late_deposit_received"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_transaction_is_told_as_timed_out_and_v1_keeps_its_own_dialect() {
    with_shop(|shop| async move {
        let legacy = Legacy::of(&shop.stack, &shop.merchant).await;
        let (_, payment_id) = created(&shop, &legacy, &[]).await;
        // A deadline waits for a watcher that has looked since; it is tried again half a minute
        // later.
        shop.look(Network::Polygon).await;
        shop.end_window(&payment_id, 600).await;
        shop.stack.start_all();
        let told = verified(&shop, &shop.receiver.wait_for(1).await[0]);
        assert_eq!((&*told["status"], &*told["status_text"]), ("-1", "Cancelled / Timed Out"));
        shop.receiver.forget();
        // The same merchant's invoices of /v1 are told as ever.
        shop.expired(json!({})).await;
        assert_eq!(shop.webhook(1).await["payment_status"], "expired");
    })
    .await;
}
