//! Default addresses of a merchant, by every way to a payment.

use gateway::{
    app::merchant::change::{Changes, Setting},
    merchant::settings::{DefaultUrls, Settings},
};
use serde_json::{Value, json};
use support::server::stack::with_stack;

use crate::api::order;

const HOOK: &str = "https://shop.example/ipn";
const PAID: &str = "https://shop.example/thanks";
const BACK: &str = "https://shop.example/back";

fn settings() -> Settings {
    let text = |text: &str| Some(text.to_owned());
    let default_urls =
        DefaultUrls { ipn_callback: text(HOOK), success: text(PAID), cancel: text(BACK) };
    Settings { default_urls, ..Settings::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_gets_the_addresses_of_the_first_answer_after_the_defaults_have_changed() {
    with_stack(|stack| async move {
        let merchant = stack.merchant_with(settings()).await;
        let keyed = merchant.client.clone().with_header("idempotency-key", "k");
        let hosted = merchant.client.clone().with_header("idempotency-key", "h");
        let body = order(&json!({}));
        let price = json!({ "price_amount": 25, "price_currency": "usd", "success_url": "https://other.example/" });
        let first = (keyed.post("/v1/payment", &body).await, hosted.post("/v1/invoice", &price).await);
        assert_eq!(first.0.json()["ipn_callback_url"], HOOK);
        let shown = |invoice: &Value| json!([invoice["ipn_callback_url"], invoice["success_url"], invoice["cancel_url"]]);
        assert_eq!(shown(&first.1.json()), json!([HOOK, "https://other.example/", BACK]));

        let changes = Changes {
            default_ipn_callback_url: Setting::Removed,
            default_cancel_url: Setting::Set("https://new.example/".to_owned()),
            ..Changes::default()
        };
        stack.gateway.change_merchant(merchant.new.id, changes).await.unwrap();
        let again = (keyed.post("/v1/payment", &body).await, hosted.post("/v1/invoice", &price).await);
        assert_eq!((again.0.body, again.1.body), (first.0.body, first.1.body));
        assert_eq!(again.0.headers["x-gateway-idempotent-replay"], "true");
        let new = merchant.client.post("/v1/invoice", &price).await.json();
        assert_eq!(shown(&new), json!([null, "https://other.example/", "https://new.example/"]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invoices_of_links_take_the_default_of_webhooks_alone() {
    with_stack(|stack| async move {
        let merchant = stack.merchant_with(settings()).await;
        for (url, expected) in [(Value::Null, HOOK), (json!("https://link.example/"), "https://link.example/")] {
            let body = json!({
                "type": "payment", "title": "Two cups", "price_amount": 25, "price_currency": "usd", "ipn_callback_url": url,
            });
            let link = merchant.client.post("/v1/links", &body).await.json();
            assert_eq!(link["ipn_callback_url"], url, "the link itself keeps what it was given");
            let path = format!("/l/{}", link["link_id"].as_str().unwrap());
            let sent = stack.buyer().send(http::Method::POST, &path, "").await;
            assert_eq!(sent.status, 303, "{}", sent.body);
            let location = sent.header("location").unwrap();
            let id = location.trim_start_matches("/pay/").split('?').next().unwrap();
            let made = merchant.client.get(&format!("/v1/payment/{id}")).await.json();
            assert_eq!(made["ipn_callback_url"], expected);
            assert_eq!(stack.gateway.redirects_of_payment(id).await.unwrap(), (None, None));
        }
    })
    .await;
}
