//! Addresses of payments that are created without one, as an owner sets them.

use gateway::account::Role;
use serde_json::{Value, json};

use super::{Visitor, between, with_desk};

const HOOK: &str = "https://shop.example/ipn?x=1";
const PAID: &str = "https://shop.example/thanks";
const BACK: &str = "https://shop.example/back";

/// The settings as a browser posts them, with these addresses.
async fn saved(visitor: &mut Visitor, version: &str, urls: [&str; 3]) -> (u16, String) {
    let [hook, paid, back] = urls;
    let fields = [
        ("version", version),
        ("name", "Roastery"),
        ("overpay_bps", "500"),
        ("payment_window", "900"),
        ("selection_window", "900"),
        ("accept_all", "yes"),
        ("default_ipn_callback_url", hook),
        ("default_success_url", paid),
        ("default_cancel_url", back),
    ];
    let answer = visitor.post("/settings", &fields).await;
    (answer.status, answer.body)
}

async fn version(visitor: &mut Visitor) -> String {
    let body = visitor.get("/settings").await.body;
    between(&body, "name=\"version\" value=\"", "\"").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn default_addresses_follow_the_rules_of_the_api_and_fill_what_creations_leave_out() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        let seen = version(&mut owner).await;
        let long = format!("https://shop.example/{}", "x".repeat(2_048));
        for (urls, words) in [
            (["http://169.254.169.254/meta", "", ""], "link-local addresses are not allowed"),
            (["ftp://shop.example/ipn", "", ""], "must begin with http:// or https://"),
            (["https://u:p@shop.example/ipn", "", ""], "must not contain a user name"),
            (["shop.example/ipn", "", ""], "must be an absolute URL"),
            ([&long, "", ""], "must be at most 2048 characters"),
            ([HOOK, "javascript:alert(1)", ""], "the success URL must begin with http or https"),
            ([HOOK, "", "https://u:p@shop.example"], "the cancel URL must begin with http or https"),
            ([HOOK, PAID, &long], "the cancel URL must begin with http or https"),
        ] {
            let (status, body) = saved(&mut owner, &seen, urls).await;
            assert_eq!(status, 422, "{urls:?}");
            assert!(body.contains(words), "{urls:?}: {body}");
        }
        assert_eq!(version(&mut owner).await, seen, "a refused form changed something");

        let urls = [HOOK, "HTTPS://Shop.Example/thanks", BACK];
        assert_eq!(saved(&mut owner, &seen, urls).await.0, 303);
        let page = owner.get("/settings").await.body;
        // The address of a page is kept as the parser spells it, as in the API.
        for url in [HOOK, PAID, BACK] {
            assert!(page.contains(&format!("value=\"{url}\"")), "{url}: {page}");
        }
        // Somebody who opened the form before is told, and changes nothing.
        let (status, body) = saved(&mut owner, &seen, ["", "", ""]).await;
        assert!(status == 422 && body.contains("somebody changed this meanwhile"), "{body}");

        let log = desk.gateway.audit_of(&merchant.new.id.to_string(), 1).await.unwrap();
        let expected = json!({
            "default_ipn_callback_url": HOOK, "default_success_url": PAID, "default_cancel_url": BACK,
        });
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&log[0].change[name], value, "{name}: {:?}", log[0]);
        }
        let recent = owner.get("/account").await.body;
        assert!(recent.contains("the default address of webhooks"), "{recent}");

        desk.stack.lift_rate_limits().await;
        let create = async |fields: Value| {
            let mut body = json!({ "price_amount": 25, "price_currency": "usd", "pay_currency": "usdtmatic" });
            body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            let made = merchant.client.post("/v1/payment", &body).await;
            assert_eq!(made.status, 201, "{}", made.body);
            let made = made.json();
            let id = made["payment_id"].as_str().unwrap();
            let urls = desk.gateway.redirects_of_payment(id).await.unwrap();
            json!([made["ipn_callback_url"], urls.0, urls.1])
        };
        let own = "https://other.example/x";
        for (fields, urls) in [
            (json!({}), json!([HOOK, PAID, BACK])),
            (json!({ "ipn_callback_url": null, "success_url": "", "cancel_url": null }), json!([HOOK, PAID, BACK])),
            (json!({ "ipn_callback_url": own }), json!([own, PAID, BACK])),
            (json!({ "success_url": own }), json!([HOOK, own, BACK])),
            (json!({ "ipn_callback_url": own, "success_url": own, "cancel_url": own }), json!([own, own, own])),
        ] {
            assert_eq!(create(fields.clone()).await, urls, "{fields}");
        }

        // Removed, they are gone for new payments.
        let now = version(&mut owner).await;
        assert_eq!(saved(&mut owner, &now, ["", " ", ""]).await.0, 303);
        assert_eq!(create(json!({})).await, json!([null, null, null]));
        let mut viewer = desk.signed_in("v@example.com", Role::Viewer, Some(&merchant)).await;
        let now = version(&mut viewer).await;
        assert_eq!(saved(&mut viewer, &now, [HOOK, PAID, BACK]).await.0, 403);
    })
    .await;
}
