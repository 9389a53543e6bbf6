//! Afterwards: a receipt to keep, and a way to start again.

use serde_json::json;
use support::shop::Shop;

use super::{inspect, page, with_browser};

async fn paid(shop: &Shop) -> String {
    let order = json!({
        "order_id": "ORDER <b>7</b>", "order_description": "Two cups of coffee",
        "success_url": "https://shop.example/thanks",
    });
    shop.invoice_of(order).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paid_payment_has_a_receipt_that_prints_on_white() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        tab.stays().await;
        let id = paid(&shop).await;
        let url = page(&shop, &id);
        tab.open(&format!("{url}/receipt")).await;
        // Nothing is paid yet: its own page, and no receipt.
        tab.phase("paying").await;
        assert!(tab.text("#rate").await.starts_with("1 USDT = USD\u{a0}1.00, fixed at "));
        let one = shop.pay(&id, "40").await;
        let two = shop.pay(&id, "60").await;
        tab.phase("paid").await;
        tab.click("#receipt").await;
        tab.shows("document.querySelector('#receipt-page') !== null").await;
        let text = tab.text("#receipt-page").await;
        for part in [
            "Test shop",
            "USD\u{a0}100.00",
            "100 USDT",
            "ORDER <b>7</b>",
            "Two cups of coffee",
            &id,
            "Polygon",
            "1 USDT = USD\u{a0}1.00",
            "40 USDT",
            "60 USDT",
            &one.txid,
            &two.txid,
            "UTC",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        inspect(&tab, "receipt").await;
        // On paper: no buttons, and dark ink on white whatever the buyer's scheme is.
        let dark = json!([{ "name": "prefers-color-scheme", "value": "dark" }]);
        let paper = json!({ "media": "print", "features": dark });
        tab.call("Emulation.setEmulatedMedia", paper).await;
        let hidden = "getComputedStyle(document.querySelector('.unprinted')).display";
        assert_eq!(tab.eval(hidden).await, json!("none"));
        let ground = "getComputedStyle(document.documentElement).backgroundColor";
        assert_eq!(tab.eval(ground).await, json!("rgb(255, 255, 255)"));
        let printed = tab.call("Page.printToPDF", json!({})).await;
        assert!(printed["data"].as_str().unwrap().len() > 1_000);
        tab.call("Emulation.setEmulatedMedia", json!({ "media": "" })).await;
        assert_eq!(tab.complaints().await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_of_nothing_says_no_more_than_its_page() {
    with_browser(|shop, _| async move {
        let id = paid(&shop).await;
        let open = shop.stack.buyer().get(&format!("/pay/{id}/receipt")).await;
        assert_eq!((open.status, open.header("location")), (303, Some(&*format!("/pay/{id}"))));
        for odd in ["pzi_00000000000000000000000000", "x", "%00"] {
            let missing = shop.stack.buyer().get(&format!("/pay/{odd}/receipt")).await;
            assert_eq!(missing.status, 404, "{odd}");
            assert!(missing.body.contains("There is no such payment"), "{odd}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_expired_can_be_started_again_at_the_shop_or_on_its_link() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        tab.stays().await;
        let basket = json!({ "cancel_url": "https://shop.example/basket" });
        let id = shop.invoice_of(basket).await;
        shop.end_window(&id, 1).await;
        tab.open(&page(&shop, &id)).await;
        tab.phase("expired").await;
        assert_eq!(tab.text("#return").await, "Start again at shop.example");

        let link = json!({ "type": "payment", "title": "Two cups", "price_amount": 10, "price_currency": "usd" });
        let link = shop.merchant.client.post("/v1/links", &link).await.json();
        let link_id = link["link_id"].as_str().unwrap().to_owned();
        tab.open(&format!("http://{}/l/{link_id}", shop.stack.checkout)).await;
        assert_eq!(tab.text("#payee").await, "Test shop");
        tab.click(".send button").await;
        tab.phase("choosing").await;
        let path = tab.eval("location.pathname").await;
        let id = path.as_str().unwrap().trim_start_matches("/pay/").to_owned();
        shop.end_window(&id, 1).await;
        tab.phase("expired").await;
        tab.click("#again").await;
        tab.shows("document.querySelector('#link') !== null").await;
        let path = tab.eval("location.pathname").await;
        assert_eq!(path, json!(format!("/l/{link_id}")));
    })
    .await;
}
