//! The merchant's name, logo, contact and colour, on every page.

use gateway::app::merchant::front::{FrontChange, LogoChange};
use serde_json::json;
use support::{
    client::{browser::Tab, picture},
    shop::Shop,
};

use super::{inspect, page, with_browser};

async fn front(shop: &Shop, colour: &str, contact: &str) {
    let gateway = &shop.stack.gateway;
    let merchant = shop.merchant.new.id;
    let seen = gateway.front_of(merchant).await.unwrap().unwrap().version;
    let change = FrontChange {
        colour: Some(colour.to_owned()),
        contact: Some(contact.to_owned()),
        logo: LogoChange::File(picture::noise(600, 300)),
    };
    gateway.change_front(merchant, &seen, change).await.unwrap();
}

async fn accent(tab: &Tab) -> String {
    let style = "getComputedStyle(document.documentElement).getPropertyValue('--accent')";
    tab.eval(style).await.as_str().unwrap().trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_says_who_is_paid_and_where_to_write() {
    with_browser(|shop, browser| async move {
        // A yellow that nobody could read on white, nor white upon it.
        front(&shop, "#ffe000", "help@shop.example").await;
        let tab = browser.phone().await;
        tab.stays().await;
        let draft = shop.invoice_of(json!({ "pay_currency": "all", "price_amount": 10 })).await;
        let id = shop.invoice().await;
        for (name, id, phase) in [("choosing", &draft, "choosing"), ("paying", &id, "paying")] {
            tab.open(&page(&shop, id)).await;
            tab.phase(phase).await;
            assert_eq!(tab.text("#payee").await, "Test shop");
            let width = tab.eval("document.querySelector('.payee img').naturalWidth").await;
            assert_eq!(width, json!(192), "the logo is loaded from the checkout itself");
            let link = tab.eval("document.querySelector('#contact').href").await;
            assert_eq!(link, json!(format!("mailto:help@shop.example?subject={id}")));
            tab.scheme("light").await;
            assert_ne!(accent(&tab).await, "#ffe000", "made darker until it can be read");
            tab.scheme("dark").await;
            assert_eq!(accent(&tab).await, "#ffe000");
            inspect(&tab, &format!("payee-{name}")).await;
        }
        shop.pay(&id, "250").await;
        tab.phase("overpaid").await;
        assert!(tab.text(".lead").await.contains("write to Test shop"));
        // Where it asks to write, not at the foot of the page alone.
        assert_eq!(tab.text(".own .ask a").await, "Write to help@shop.example");
        let link = tab.eval("document.querySelector('.own .ask a').href").await;
        assert_eq!(link, json!(format!("mailto:help@shop.example?subject={id}")));
        inspect(&tab, "payee-overpaid").await;
        let host = format!("http://{}/", shop.stack.checkout);
        let elsewhere: Vec<_> =
            tab.requests().into_iter().filter(|url| !url.starts_with(&host)).collect();
        assert_eq!(elsewhere, Vec::<String>::new());
    })
    .await;
}

/// Attack: markup and marks of direction as a merchant's name, in a row older than its check.
#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_name_is_plain_text_and_a_page_as_contact_opens_beside_the_payment() {
    with_browser(|shop, browser| async move {
        front(&shop, "#7a1fa2", "https://shop.example/help?a=1").await;
        let id = shop.invoice().await;
        shop.stack
            .sql("update merchant set name = '</title><img src=x onerror=alert(1)>\u{202e}gpj'")
            .await;
        let tab = browser.phone().await;
        tab.open(&page(&shop, &id)).await;
        tab.phase("paying").await;
        assert_eq!(tab.text("#payee").await, "</title><img src=x onerror=alert(1)>gpj");
        assert_eq!(tab.text("#contact").await, "shop.example/help");
        let target = tab.eval("document.querySelector('#contact').target").await;
        assert_eq!(target, json!("_blank"));
        assert_eq!(tab.complaints().await, Vec::<String>::new());
    })
    .await;
}
