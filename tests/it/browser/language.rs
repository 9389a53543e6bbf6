//! Three languages, two directions of writing.

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
        assert_eq!(tab.read_qr(".of-address svg").await, address);
        inspect(&tab, "paying-ar").await;
        tab.stays().await;
        tab.open(&format!("{}?lang=ar", page(&shop, &paying))).await;
        shop.pay(&paying, "100").await;
        tab.phase("paid").await;
        inspect(&tab, "paid-ar").await;
    })
    .await;
}
