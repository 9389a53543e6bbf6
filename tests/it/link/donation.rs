//! Donations: the donor's amount and words, and the metadata in every IPN.

use gateway::invoice::Status;
use serde_json::{Value, json};
use support::shop::{Shop, with_shop};

use super::{created, id, payment_id, send};

/// Creates a donation, chooses a currency for it and returns its id.
async fn donated(shop: &Shop, link: &Value, fields: &[(&str, &str)]) -> String {
    let buyer = shop.stack.buyer();
    let payment = payment_id(&send(&buyer, id(link), fields).await);
    let choice = json!({ "token_id": "usdtmatic@polygon" });
    let chosen = buyer.post(&format!("/api/pay/{payment}/select"), &choice).await;
    assert_eq!(chosen.status, 200, "{}", chosen.body);
    payment
}

async fn donation_link(shop: &Shop, changes: Value) -> Value {
    let mut body = json!({
        "type": "donation", "title": "Lights", "price_amount": 10, "ipn_callback_url": shop.receiver.url,
    });
    body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    created(&shop.merchant.client, &body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_donor_s_words_are_in_every_ipn_of_his_donation_finished_ones_too() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let link = donation_link(&shop, json!({})).await;
        let fields = [
            ("amount", "12.50"),
            ("donor_name", "Ada Lovelace"),
            ("donor_email", "Ada@Example.com"),
            ("message", "For the lights.\r\nBcc: evil@example.com"),
        ];
        let payment = donated(&shop, &link, &fields).await;
        let expected = json!({
            "link_id": id(&link), "donor_name": "Ada Lovelace", "donor_email": "ada@example.com",
            "message": "For the lights. Bcc: evil@example.com", "anonymous": false, "suggested_amount": "10",
            "suggested_currency": "usd",
        });
        shop.pay(&payment, "12.5").await;
        let paid = shop.webhook(1).await;
        assert_eq!(paid["payment_status"], "finished");
        assert_eq!(paid["invoice_type"], "donation");
        assert_eq!(paid["price_amount"].to_string(), "12.5");
        assert_eq!(paid["_gateway"], json!({ "donation": expected }));
        // A deposit after the end: the notice and the metadata side by side.
        shop.pay(&payment, "1").await;
        let late = shop.webhook(2).await;
        assert_eq!(late["_gateway"]["notice"]["type"], "late_deposit_received");
        assert_eq!(late["_gateway"]["donation"], expected);
        // The feed tells the same, also of its creation; other invoices have no such part.
        let feed = shop.merchant.client.get("/v1/events?limit=50").await.json();
        let told = feed["data"].as_array().unwrap();
        assert!(told.len() >= 3, "{feed}");
        assert!(told.iter().all(|event| event["payload"]["_gateway"]["donation"] == expected), "{feed}");
        let read = shop.payment(&payment).await;
        assert_eq!(read.get("_gateway"), None, "the payment object itself stays as the specification has it");
        let plain = shop.invoice().await;
        shop.pay(&plain, "100").await;
        assert_eq!(shop.webhook_about(&plain, 1).await.get("_gateway"), None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_anonymous_donor_s_name_and_address_are_stored_nowhere() {
    with_shop(|shop| async move {
        let link = donation_link(&shop, json!({ "price_amount": null })).await;
        let fields = [
            ("amount", "20"),
            ("donor_name", "NAME-CANARY"),
            ("donor_email", "mail-canary@example.com"),
            ("message", "keep going"),
            ("anonymous", "1"),
        ];
        let payment = donated(&shop, &link, &fields).await;
        shop.stack.gateway.cancel_invoice(&payment).await.unwrap();
        let feed = shop.merchant.client.get("/v1/events?limit=50").await;
        let donation = &feed.json()["data"][0]["payload"]["_gateway"]["donation"];
        assert_eq!(
            *donation,
            json!({
                "link_id": id(&link), "donor_name": null, "donor_email": null, "message": "keep going", "anonymous": true,
                "suggested_amount": null, "suggested_currency": null,
            })
        );
        for table in [
            "select count(*) from invoice i where i::text ilike '%canary%'",
            "select count(*) from event e where e::text ilike '%canary%'",
            "select count(*) from delivery d where d::text ilike '%canary%'",
            "select count(*) from outbox o where o::text ilike '%canary%'",
        ] {
            assert_eq!(shop.number(table).await, 0, "{table}");
        }
        assert_eq!(shop.status(&payment).await, Status::Cancelled);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn words_have_limits_and_come_back_escaped_when_they_are_refused() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let link = donation_link(&shop, json!({})).await;
        let buyer = shop.stack.buyer();
        let (long_name, long_message) = ("x".repeat(101), "é".repeat(501));
        for (fields, words) in [
            ([("amount", "10"), ("donor_name", &*long_name)], "more than 100 characters"),
            ([("amount", "10"), ("message", &*long_message)], "more than 500 characters"),
            ([("amount", "10"), ("donor_email", "ada")], "enter an e-mail address"),
            (
                [("amount", "10"), ("donor_email", "a@x.example\r\nBcc: b@y.example")],
                "enter an e-mail address",
            ),
            (
                [("amount", "10"), ("donor_email", "\"><script>alert(1)</script>@x")],
                "enter an e-mail address",
            ),
        ] {
            let refused = send(&buyer, id(&link), &fields).await;
            assert_eq!(refused.status, 400, "{fields:?}");
            assert!(refused.body.contains(words), "{fields:?}: {}", refused.body);
            assert!(!refused.body.contains("<script"), "{}", refused.body);
            assert!(refused.body.contains("value=\"10\""), "the amount stays: {}", refused.body);
        }
        assert_eq!(shop.number("select count(*) from invoice").await, 0);
        // Another type of link keeps no words at all.
        let payment = created(&shop.merchant.client, &json!({})).await;
        payment_id(&send(&buyer, id(&payment), &[("donor_name", "Ada")]).await);
        assert_eq!(shop.number("select count(*) from invoice where donation is not null").await, 0);
    })
    .await;
}
