//! Devices for their merchant: codes, the list, revocation.

use http::Method;
use serde_json::json;
use support::server::stack::with_stack;

use super::{Device, code, till};

#[tokio::test(flavor = "multi_thread")]
async fn a_till_is_a_link_without_a_price_and_a_button() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let id = till(&shop, json!({ "time_zone": "Europe/Berlin", "max_amount": 500 })).await;
        let link = shop.get(&format!("/v1/links/{id}")).await.json();
        assert_eq!(link["type"], "pos");
        assert_eq!(link["time_zone"], "Europe/Berlin");
        assert!(link["url"].as_str().unwrap().ends_with(&format!("/pos/{id}")), "{link}");
        assert_eq!((&link["button_url"], &link["button_html"]), (&json!(""), &json!("")));
        for (changes, word) in [
            (json!({ "price_amount": 5 }), "price_amount"),
            (json!({ "suggested_amounts": [5] }), "suggested_amounts"),
            (json!({ "single_use": true }), "single_use"),
            (json!({ "time_zone": "Europe/Atlantis" }), "time_zone"),
            (json!({ "time_zone": "UTC'; drop table link" }), "time_zone"),
            // Names that PostgreSQL takes for abbreviations, the same in summer and winter.
            (json!({ "time_zone": "CET" }), "time_zone"),
            (json!({ "time_zone": "europe/berlin" }), "time_zone"),
            (json!({ "interval": "month" }), "interval"),
        ] {
            let mut body = json!({ "type": "pos", "title": "x", "price_currency": "eur" });
            body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            let refused = shop.post("/v1/links", &body).await;
            refused.expect_error(400, "INVALID_REQUEST");
            assert!(refused.body.contains(word), "{word}: {}", refused.body);
        }
        let path = format!("/v1/links/{id}");
        let change = |body: serde_json::Value| {
            let (shop, path) = (shop.clone(), path.clone());
            async move { shop.send(Method::PATCH, &path, &body.to_string()).await }
        };
        let changed = change(json!({ "time_zone": "Asia/Kolkata" })).await.json();
        assert_eq!(changed["time_zone"], "Asia/Kolkata");
        change(json!({ "time_zone": "Asia/Nowhere" })).await.expect_error(400, "INVALID_REQUEST");
        assert_eq!(change(json!({ "time_zone": null })).await.json()["time_zone"], json!(null));
        // Visitors reach none of it by the pages of other links.
        let buyer = stack.buyer();
        assert_eq!(buyer.get(&format!("/l/{id}")).await.status, 404);
        let posted = buyer.send(Method::POST, &format!("/l/{id}"), "amount=5").await;
        assert_eq!(posted.status, 404);
        assert_eq!(buyer.get(&format!("/l/{id}/button.svg")).await.status, 404);
        assert_eq!(super::count(&stack, "select count(*) from invoice").await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_is_listed_from_its_code_to_its_revocation() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let id = till(&shop, json!({})).await;
        let path = format!("/v1/links/{id}/devices");
        let made = shop.post(&path, &json!({ "name": " Counter\n1 " })).await.json();
        assert_eq!(made["name"], "Counter 1");
        let code = made["code"].as_str().unwrap();
        assert!(made["enrol_url"].as_str().unwrap().ends_with(&format!("/pos/{id}/enrol/{code}")));
        let list = |what: &'static str| {
            let (shop, path) = (shop.clone(), path.clone());
            async move {
                let list = shop.get(&path).await;
                assert_eq!(list.status, 200, "{}", list.body);
                assert!(!list.body.contains("code"), "{what}: {}", list.body);
                list.json()["data"][0].clone()
            }
        };
        let waiting = list("waiting").await;
        assert_eq!(waiting["state"], "waiting");
        assert_eq!((&waiting["enrolled_at"], &waiting["seen_at"]), (&json!(null), &json!(null)));
        let mut device = Device::new(&stack, &id);
        assert_eq!(device.enrol(code, super::PIN).await.status, 303);
        let enrolled = list("enrolled").await;
        assert_eq!(enrolled["state"], "enrolled");
        assert!(enrolled["enrolled_at"].is_string() && enrolled["seen_at"].is_string());
        assert!(device.look().await.body.contains("data-key=\"ready\""));

        let one = format!("{path}/{}", made["device_id"].as_str().unwrap());
        let revoked = shop.send(Method::DELETE, &one, "").await;
        assert_eq!((revoked.status, &revoked.json()["state"]), (200, &json!("revoked")));
        // At once: its next request finds it unknown.
        assert!(device.look().await.body.contains("data-key=\"unknown\""));
        assert_eq!(shop.send(Method::DELETE, &one, "").await.json(), revoked.json());
        assert_eq!(list("revoked").await["state"], "revoked");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_merchants_devices_are_as_unknown_as_none() {
    with_stack(|stack| async move {
        let (shop, rival) = (stack.merchant().await.client, stack.merchant().await.client);
        let id = till(&shop, json!({})).await;
        let own = till(&rival, json!({})).await;
        let (_, device) = code(&shop, &id, "Counter").await;
        let path = format!("/v1/links/{id}/devices");
        rival.get(&path).await.expect_error(404, "LINK_NOT_FOUND");
        rival.post(&path, &json!({ "name": "x" })).await.expect_error(404, "LINK_NOT_FOUND");
        for (path, code) in [
            (format!("{path}/{device}"), "LINK_NOT_FOUND"),
            (format!("/v1/links/{own}/devices/{device}"), "DEVICE_NOT_FOUND"),
            (format!("/v1/links/{own}/devices/pzd_1"), "DEVICE_NOT_FOUND"),
        ] {
            rival.send(Method::DELETE, &path, "").await.expect_error(404, code);
        }
        assert_eq!(shop.get(&path).await.json()["data"][0]["state"], "waiting");
        let body = json!({
            "type": "payment", "title": "x", "price_amount": 5, "price_currency": "eur",
        });
        let other = shop.post("/v1/links", &body).await.json();
        let path = format!("/v1/links/{}/devices", other["link_id"].as_str().unwrap());
        shop.post(&path, &json!({ "name": "x" })).await.expect_error(400, "INVALID_REQUEST");
        let path = format!("/v1/links/{id}/devices");
        for name in [json!(null), json!(""), json!(" \u{200b}"), json!("x".repeat(61))] {
            let refused = shop.post(&path, &json!({ "name": name })).await;
            refused.expect_error(400, "INVALID_REQUEST");
        }
    })
    .await;
}
