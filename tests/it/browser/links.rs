//! The pages of payment links on a phone: several languages, no script, hostile words, small.

use serde_json::{Value, json};
use support::shop::Shop;

use super::{inspect, with_browser};

async fn link(shop: &Shop, body: Value) -> String {
    let created = shop.merchant.client.post("/v1/links", &body).await;
    assert_eq!(created.status, 201, "{}", created.body);
    created.json()["url"].as_str().unwrap().to_owned()
}

fn donation(shop: &Shop) -> Value {
    json!({
        "type": "donation", "title": "Keep the lights on", "description": "Every cent goes into the lamps of the harbour.",
        "price_currency": "usd", "min_amount": 2, "max_amount": 5000, "suggested_amounts": [5, 25, 400],
        "ipn_callback_url": shop.receiver.url,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_donor_chooses_an_amount_without_scripts_and_pays_on_a_phone() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        tab.call("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await;
        let url = link(&shop, donation(&shop)).await;
        tab.open(&url).await;
        assert_eq!(tab.text("h1").await, "Keep the lights on");
        tab.click(".suggested li:nth-child(2) a").await;
        tab.shows("document.querySelector('#amount')?.value === '25'").await;
        assert!(tab.has(".suggested li:nth-child(2) a[aria-current]").await);
        tab.click("#donor_name").await;
        tab.write("Ada").await;
        tab.click("label[for=anonymous]").await;
        tab.click(".send button").await;
        tab.shows("document.querySelector('input[name=token_id]') !== null").await;
        tab.click("input[value='usdtmatic@polygon']").await;
        tab.click(".go button").await;
        tab.phase("paying").await;
        tab.click(".sandbox button[value=rest]").await;
        let id = tab.eval("location.pathname.split('/').pop()").await.as_str().unwrap().to_owned();
        let ipn = shop.webhook_about(&id, 1).await;
        assert_eq!(ipn["_gateway"]["donation"]["anonymous"], true);
        assert_eq!(ipn["price_amount"].to_string(), "25");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn link_pages_are_accessible_in_every_language_and_state() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let gift = link(&shop, donation(&shop)).await;
        let fixed = json!({
            "type": "payment", "title": "Two cups of coffee", "price_amount": 4.5, "price_currency": "eur",
        });
        let fixed = link(&shop, fixed).await;
        for (url, name) in [
            (format!("{gift}?amount=25"), "link-donation"),
            (format!("{gift}?amount=0.5&lang=de"), "link-donation-small"),
            (format!("{gift}?lang=ar"), "link-donation-arabic"),
            (fixed.clone(), "link-fixed"),
            (format!("{}x", &fixed[..fixed.len() - 1]), "link-missing"),
        ] {
            tab.open(&url).await;
            tab.eval("document.querySelectorAll('details').forEach((one) => { one.open = true })").await;
            inspect(&tab, name).await;
        }
        tab.open(&gift).await;
        tab.click("#amount").await;
        tab.write("0.5").await;
        tab.click(".send button").await;
        tab.shows("document.querySelector('.notice') !== null").await;
        inspect(&tab, "link-refused").await;
        assert_eq!(tab.requests().iter().filter(|url| url.ends_with(".js")).count(), 0);
    })
    .await;
}

/// Markup and bidirectional text in everything that a merchant writes into a link.
#[tokio::test(flavor = "multi_thread")]
async fn hostile_words_of_a_link_stay_words() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        for words in [
            "<script>alert(1)</script>",
            "\"><img src=x onerror=alert(1)>",
            "</title></style></noscript><svg onload=alert(1)>",
            "{{7*7}}${7*7}<%= 7*7 %>",
            "\u{202e}gpj.exe\u{2066}\u{200f} \u{0430}pple",
        ] {
            let body = json!({
                "type": "donation", "title": words, "description": words, "price_currency": "usd",
                "price_amount": 10,
            });
            let url = link(&shop, body).await;
            tab.open(&url).await;
            assert_eq!(tab.text("h1 > bdi").await, words);
            assert_eq!(tab.text(".about-link > bdi").await, words);
        }
        tab.picture("link-hostile", 360).await;
        assert_eq!(tab.complaints().await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_view_of_a_link_is_under_60_kb() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        tab.call("Network.setCacheDisabled", json!({ "cacheDisabled": true })).await;
        let url = link(&shop, donation(&shop)).await;
        tab.open(&format!("{url}?amount=400")).await;
        let bytes = tab.bytes_received();
        assert!(bytes > 1000 && bytes < 60 * 1024, "{bytes} bytes");
    })
    .await;
}
