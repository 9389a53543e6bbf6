//! `/v1/subscriptions`, and the page of a subscription's link.

use chrono::{DateTime, Months, Utc};
use serde_json::json;
use support::shop::with_shop;

use super::{form, link, pay, payment_id, read, subscribed, token};

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_begins_with_its_first_payment_and_is_read_and_listed_from_then_on() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let link_id = link(&shop, json!({})).await;
        let page = shop.stack.buyer().get(&format!("/l/{link_id}")).await.body;
        assert!(page.contains("Renews every month.") && page.contains("name=\"email\""), "{page}");
        let path = format!("/l/{link_id}");
        for email in ["", "ada", "a@x.example\r\nBcc: b@y.example"] {
            let refused = form(&shop, &path, &[("email", email)]).await;
            assert!(
                refused.status == 400 && refused.body.contains("no e-mail address"),
                "{}",
                refused.body
            );
        }
        let payment = payment_id(&form(&shop, &path, &[("email", "Ada@Example.com")]).await);
        let draft = shop.payment(&payment).await;
        for (name, value) in [
            ("invoice_type", json!("subscription")),
            ("subscriber_email", json!("ada@example.com")),
            ("subscription_cycle", json!(1)),
            ("price_amount", json!(10)),
        ] {
            assert_eq!(draft[name], value, "{name}");
        }
        assert!(draft["next_renewal_at"].is_string(), "{draft}");
        let list = shop.merchant.client.get("/v1/subscriptions").await.json();
        assert_eq!(list, json!({ "data": [], "has_more": false, "next": null }));
        pay(&shop, &payment).await;
        let ipn = shop.webhook_about(&payment, 1).await;
        assert_eq!(
            (&ipn["payment_status"], &ipn["subscription_cycle"]),
            (&json!("finished"), &json!(1))
        );
        let list = shop.merchant.client.get("/v1/subscriptions").await.json();
        let one = list["data"][0].clone();
        for (name, value) in [
            ("state", json!("active")),
            ("subscriber_email", json!("ada@example.com")),
            ("link_id", json!(link_id)),
            ("price_amount", json!(10)),
            ("interval", json!("month")),
            ("interval_count", json!(1)),
            ("cycles_max", json!(null)),
            ("subscription_cycle", json!(1)),
            ("next_renewal_at", ipn["next_renewal_at"].clone()),
        ] {
            assert_eq!(one[name], value, "{name} of {one}");
        }
        assert_eq!(read(&shop, &one).await, one);
        let next: DateTime<Utc> = one["next_renewal_at"].as_str().unwrap().parse().unwrap();
        let month = Utc::now() + Months::new(1);
        assert!((next - month).num_minutes().abs() < 5, "{next}");
        // Nothing of the subscriber's own page is shown to anybody but him.
        let token = token(&shop).await;
        assert!(!list.to_string().contains(&token) && !ipn.to_string().contains(&token));
        let kinds: Vec<_> = shop.merchant.client.get("/v1/events?limit=50").await.json()["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["type"].as_str().unwrap().to_owned())
            .collect();
        assert!(kinds.contains(&"subscription.started".to_owned()), "{kinds:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_merchants_subscription_is_as_unknown_as_one_that_never_was() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let link_id = link(&shop, json!({})).await;
        let one = subscribed(&shop, &link_id, "ada@example.com").await;
        let rival = shop.stack.merchant().await.client;
        for id in [one["subscription_id"].as_str().unwrap(), "pzs_00000000000000000000000000", "x"]
        {
            rival
                .get(&format!("/v1/subscriptions/{id}"))
                .await
                .expect_error(404, "SUBSCRIPTION_NOT_FOUND");
            let cancel = rival.post(&format!("/v1/subscriptions/{id}/cancel"), &json!({})).await;
            cancel.expect_error(404, "SUBSCRIPTION_NOT_FOUND");
            let body = json!({ "subscription_id": id, "days": 1 });
            rival
                .post("/v1/sandbox/advance", &body)
                .await
                .expect_error(404, "SUBSCRIPTION_NOT_FOUND");
        }
        assert_eq!(rival.get("/v1/subscriptions").await.json()["data"], json!([]));
        assert_eq!(read(&shop, &one).await["state"], "active");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_token_is_130_bits_and_a_get_of_its_page_starts_nothing() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let link_id = link(&shop, json!({})).await;
        let one = subscribed(&shop, &link_id, "ada@example.com").await;
        let token = token(&shop).await;
        assert_eq!(token.len(), 30);
        let path = format!("/renew/{token}");
        let buyer = shop.stack.buyer();
        for _ in 0..3 {
            let page = buyer.get(&path).await;
            assert!(page.status == 200 && page.body.contains("Coffee club"), "{}", page.body);
            assert!(
                !page.body.contains("ada@example.com") && !page.body.contains("<script"),
                "{}",
                page.body
            );
            assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        }
        assert_eq!(shop.number("select count(*) from invoice").await, 1);
        for wrong in
            ["pzr_00000000000000000000000000", "x", "%00", one["subscription_id"].as_str().unwrap()]
        {
            let page = buyer.get(&format!("/renew/{wrong}")).await;
            assert!(
                page.status == 404 && page.body.contains("no such subscription"),
                "{}",
                page.body
            );
            assert_eq!(form(&shop, &format!("/renew/{wrong}"), &[]).await.status, 404);
            assert_eq!(form(&shop, &format!("/renew/{wrong}/cancel"), &[]).await.status, 404);
        }
        // The button opens one draft; pressed again it leads to the same.
        let first = payment_id(&form(&shop, &path, &[]).await);
        assert_eq!(payment_id(&form(&shop, &path, &[]).await), first);
        assert_eq!(shop.payment(&first).await["subscription_cycle"], 2);
        pay(&shop, &first).await;
        assert_eq!(read(&shop, &one).await["subscription_cycle"], 2);
        // A stranger who types the address on the link's page gets a draft of his own.
        let open = payment_id(&form(&shop, &path, &[]).await);
        let stranger = form(&shop, &format!("/l/{link_id}"), &[("email", "ada@example.com")]).await;
        assert_ne!(payment_id(&stranger), open);
        // The subscriber's own cancellation.
        assert_eq!(form(&shop, &format!("{path}/cancel"), &[]).await.status, 303);
        assert_eq!(read(&shop, &one).await["state"], "cancelled");
        assert_eq!(read(&shop, &one).await["next_renewal_at"], json!(null));
        let page = buyer.get(&path).await.body;
        assert!(page.contains("is cancelled") && !page.contains("<form"), "{page}");
        assert_eq!(form(&shop, &path, &[]).await.status, 200, "nothing to pay");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_link_changes_new_subscribers_only() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let link_id = link(&shop, json!({})).await;
        let one = subscribed(&shop, &link_id, "ada@example.com").await;
        let token = token(&shop).await;
        let path = format!("/v1/links/{link_id}");
        let changed = shop
            .merchant
            .client
            .send(http::Method::PATCH, &path, r#"{"price_amount": 15, "title": "Tea club"}"#)
            .await;
        assert_eq!(changed.status, 200, "{}", changed.body);
        let renewal = payment_id(&form(&shop, &format!("/renew/{token}"), &[]).await);
        assert_eq!(shop.payment(&renewal).await["price_amount"], 10);
        assert_eq!(read(&shop, &one).await["price_amount"], 10);
        let two = subscribed(&shop, &link_id, "eve@example.com").await;
        assert_eq!(two["price_amount"], 15);
        for name in ["interval", "cycles_max", "type"] {
            let body = format!(r#"{{"{name}": "week"}}"#);
            let refused = shop.merchant.client.send(http::Method::PATCH, &path, &body).await;
            refused.expect_error(400, "INVALID_REQUEST");
        }
    })
    .await;
}
