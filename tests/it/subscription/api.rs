//! `/v1/subscriptions`, and the page of a subscription's link.

use chrono::{DateTime, Months, Utc};
use gateway::config::Profile;
use serde_json::json;
use support::{client::Client, shop::with_shop};

use super::{form, link, pay, payment_id, read, reminded, rows_of, subscribed, terms, thirty_days};

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
                refused.status == 400 && refused.body.contains("e-mail address such as"),
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
        // The first payment is the anchor, and the last change.
        let [paid, next] = ["updated_at", "next_renewal_at"]
            .map(|name| one[name].as_str().unwrap().parse::<DateTime<Utc>>().unwrap());
        assert_eq!(next, paid + Months::new(1));
        assert!(!list.to_string().contains("pzr_") && !ipn.to_string().contains("pzr_"));
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
        let link_id = link(&shop, thirty_days()).await;
        let (one, path) = reminded(&shop, &link_id, "ada@example.com").await;
        let token = path.strip_prefix("/renew/").unwrap();
        assert_eq!(token.len(), "pzr_".len() + 26);
        let rows = rows_of(&shop, token).await;
        assert_eq!(rows, 1, "its hash alone is kept");
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
        assert_eq!(payment_id(&form(&shop, &path, &[]).await), open);
        // The subscriber's own cancellation.
        assert_eq!(form(&shop, &format!("{path}/cancel"), &[]).await.status, 303);
        let cancel =
            format!("/v1/subscriptions/{}/cancel", one["subscription_id"].as_str().unwrap());
        let again = shop.merchant.client.post(&cancel, &json!({})).await;
        assert_eq!((again.status, again.json()), (200, read(&shop, &one).await));
        assert_eq!(read(&shop, &one).await["state"], "cancelled");
        assert_eq!(read(&shop, &one).await["next_renewal_at"], json!(null));
        let page = buyer.get(&path).await.body;
        assert!(page.contains("is cancelled") && !page.contains("<form"), "{page}");
        assert_eq!(form(&shop, &path, &[]).await.status, 200, "nothing to pay");
        // Who subscribes again gets another subscription; the first stays as it ended.
        let again = subscribed(&shop, &link_id, "ada@example.com").await;
        assert_ne!(again["subscription_id"], one["subscription_id"]);
        assert_eq!(again["subscription_cycle"], 1);
        assert_eq!(read(&shop, &one).await["state"], "cancelled");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_link_changes_new_subscribers_only() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let link_id = link(&shop, thirty_days()).await;
        let (one, page) = reminded(&shop, &link_id, "ada@example.com").await;
        let path = format!("/v1/links/{link_id}");
        let changed = shop
            .merchant
            .client
            .send(http::Method::PATCH, &path, r#"{"price_amount": 15, "title": "Tea club"}"#)
            .await;
        assert_eq!(changed.status, 200, "{}", changed.body);
        let renewal = payment_id(&form(&shop, &page, &[]).await);
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

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_a_subscription_s_terms_is_refused_by_name() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let client = &shop.merchant.client;
        for (changes, word) in [
            (json!({ "price_amount": null }), "price_amount"),
            (json!({ "interval": null }), "interval"),
            (json!({ "interval": "hour" }), "interval"),
            (json!({ "interval": null, "interval_count": 2 }), "interval_count"),
            (json!({ "interval_count": 0 }), "interval_count"),
            (json!({ "interval_count": 1.5 }), "interval_count"),
            (json!({ "interval": "day", "interval_count": 6 }), "interval_count"),
            (json!({ "interval": "year", "interval_count": 11 }), "interval_count"),
            (json!({ "cycles_max": 0 }), "cycles_max"),
            (json!({ "sandbox_day_seconds": 0 }), "sandbox_day_seconds"),
            (json!({ "single_use": true }), "single_use"),
            (json!({ "type": "payment" }), "interval"),
        ] {
            let answer = client.post("/v1/links", &terms(&shop, &changes)).await;
            answer.expect_error(400, "INVALID_REQUEST");
            assert!(answer.json()["message"].as_str().unwrap().contains(word), "{}", answer.body);
        }
        assert_eq!(client.get("/v1/links").await.json()["total"], 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn production_refuses_days_that_pass_faster_or_are_skipped() {
    with_shop(|shop| async move {
        let production = shop.stack.replica_of(|config| config.profile = Profile::Production).await;
        let client = Client::new(production).with_key(shop.merchant.new.api_key.reveal());
        let quick = json!({ "sandbox_day_seconds": 60, "ipn_callback_url": null });
        let quick = terms(&shop, &quick);
        let refused = client.post("/v1/links", &quick).await;
        refused.expect_error(400, "INVALID_REQUEST");
        assert!(refused.body.contains("sandbox_day_seconds"), "{}", refused.body);
        let body = json!({ "subscription_id": "pzs_00000000000000000000000000", "days": 1 });
        client.post("/v1/sandbox/advance", &body).await.expect_error(404, "NOT_FOUND");
        assert_eq!(shop.number("select count(*) from link").await, 0);
    })
    .await;
}
