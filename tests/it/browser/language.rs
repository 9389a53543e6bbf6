//! The languages of the pages, two directions of writing.

use std::collections::HashSet;

use gateway::mail::Language;
use serde_json::json;

use super::{inspect, page, with_browser};

#[tokio::test(flavor = "multi_thread")]
async fn a_buyer_reads_the_language_of_the_browser_and_may_choose_another() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let paying = shop.invoice_of(json!({ "success_url": "https://shop.example/thanks" })).await;
        let choosing = shop.invoice_of(json!({ "pay_currency": "all" })).await;
        let german = json!({ "headers": { "Accept-Language": "de-AT,de;q=0.9,en;q=0.5" } });
        tab.call("Network.setExtraHTTPHeaders", german).await;
        tab.open(&page(&shop, &paying)).await;
        assert_eq!(tab.text("#send-only").await, "Senden Sie nur USDT im Netzwerk Polygon");
        inspect(&tab, "paying-de").await;
        tab.open(&page(&shop, &choosing)).await;
        inspect(&tab, "choosing-de").await;
        tab.click("footer a[lang=ar]").await;
        tab.shows("document.documentElement.dir === 'rtl'").await;
        inspect(&tab, "choosing-ar").await;
        // The requested language stays, through the form and beyond.
        tab.click("input[value='usdtmatic@polygon']").await;
        tab.click(".go button").await;
        tab.phase("paying").await;
        assert_eq!(tab.eval("document.documentElement.lang").await, "ar");
        let address = tab.text("#address").await;
        assert_eq!(tab.read_qr("[data-qr=address] svg").await, address);
        inspect(&tab, "paying-ar").await;
        tab.stays().await;
        tab.open(&format!("{}?lang=ar", page(&shop, &paying))).await;
        shop.pay(&paying, "100").await;
        tab.phase("paid").await;
        inspect(&tab, "paid-ar").await;
    })
    .await;
}

/// Text that is cut off, or stands out of its card or of the screen.
pub(super) const OUT_OF_PLACE: &str = "[...document.querySelectorAll('main *')].filter((one) => !one.closest('.unseen, .trap, svg')).map((one) => {\
     const box = one.getBoundingClientRect(), card = one.parentElement.closest('.card');\
     const edge = card ? card.getBoundingClientRect() : { left: 0, right: innerWidth };\
     return box.width && (box.right > edge.right + 1 || box.left < edge.left - 1) ? one.textContent.trim().slice(0, 60) : '';\
     }).filter(Boolean)";

/// Opens everything that is folded.
pub(super) const UNFOLD: &str =
    "document.querySelectorAll('details').forEach((one) => { one.open = true }), true";

#[tokio::test(flavor = "multi_thread")]
async fn every_language_fits_the_smallest_phone_and_leads_to_the_others_by_their_own_names() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let paying = shop.invoice_of(json!({ "success_url": "https://shop.example/thanks" })).await;
        let choosing = shop.invoice_of(json!({ "pay_currency": "all" })).await;
        let over = shop.invoice_of(json!({ "success_url": "https://shop.example/thanks" })).await;
        shop.pay(&over, "130").await;
        let body = json!({
            "type": "subscription", "title": "Coffee club", "price_amount": 10, "price_currency": "eur", "interval": "month",
            "ipn_callback_url": shop.receiver.url,
        });
        let created = shop.merchant.client.post("/v1/links", &body).await;
        let link = created.json()["url"].as_str().unwrap().to_owned();
        tab.open(&page(&shop, &over)).await;
        tab.phase("overpaid").await;
        let mut headings = HashSet::new();
        for language in Language::ALL {
            let addresses = [
                (page(&shop, &paying), "paying"),
                (page(&shop, &choosing), "choosing"),
                (page(&shop, &over), "overpaid"),
                (format!("{}/receipt", page(&shop, &over)), "receipt"),
                (link.clone(), "subscription"),
            ];
            for (address, name) in addresses {
                let name = format!("language-{language}-{name}");
                tab.open(&format!("{address}?lang={language}")).await;
                tab.resize(320).await;
                tab.eval(UNFOLD).await;
                assert_eq!(tab.eval("document.documentElement.lang").await, language.as_str());
                let direction = if language.is_right_to_left() { "rtl" } else { "ltr" };
                assert_eq!(tab.eval("getComputedStyle(document.body).direction").await, direction);
                let overflow = tab.eval("document.documentElement.scrollWidth - innerWidth").await;
                assert!(overflow.as_i64().unwrap() <= 0, "{name} is wider than 320 px by {overflow}");
                assert_eq!(tab.eval(OUT_OF_PLACE).await, json!([]), "{name}");
                let raw = tab.eval("document.body.innerText.match(/[{}]|undefined/)").await;
                assert_eq!(raw, json!(null), "{name} shows a placeholder");
                if name.ends_with("-paying") {
                    let heading = tab.text("h1").await;
                    assert!(headings.insert(heading.clone()), "{name} says {heading:?}, as another language does");
                }
                tab.resize(360).await;
                tab.picture(&name, 360).await;
                assert_eq!(tab.complaints().await, Vec::<String>::new(), "{name}");
            }
            let menu = tab.eval("[...document.querySelectorAll('footer nav a')].map((one) => one.lang)").await;
            assert_eq!(menu, json!(Language::ALL.map(Language::as_str)));
            assert_eq!(tab.eval("document.querySelector('footer nav [aria-current]').lang").await, language.as_str());
        }
    })
    .await;
}
