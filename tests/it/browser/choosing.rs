//! A draft: the buyer picks a currency, once, and pays in it.

use serde_json::json;
use support::shop::Shop;

use super::{inspect, page, with_browser};

async fn draft(shop: &Shop) -> String {
    shop.invoice_of(json!({
        "pay_currency": "all", "price_amount": 10, "order_description": "Two cups of coffee",
    }))
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_buyer_searches_chooses_and_pays_with_the_sandbox_s_button() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let id = draft(&shop).await;
        tab.open(&page(&shop, &id)).await;
        tab.phase("choosing").await;
        // Too small for BNB Smart Chain, which is shown with the reason instead of left out.
        assert!(tab.text(".unavailable").await.contains("only from 20 USD"));
        inspect(&tab, "choosing").await;
        tab.click("#search").await;
        tab.write("tether polyg").await;
        tab.shows("document.querySelectorAll('.way:not([hidden])').length === 1").await;
        assert_eq!(tab.text("#found").await, "Ways to pay: 1");
        assert!(tab.text(".way:not([hidden]) .about").await.starts_with("about 10 USDT"));
        // By keyboard alone.
        tab.press("Enter").await;
        inspect(&tab, "chosen").await;
        tab.press("Enter").await;
        tab.phase("paying").await;
        assert_eq!(tab.text("#send-only").await, "Send only USDT on the Polygon network");
        tab.click(".sandbox button[value=half]").await;
        tab.shows("document.querySelector('#amount')?.textContent === '5'").await;
        tab.click(".sandbox button[value=rest]").await;
        tab.phase("paid").await;
        assert_eq!(shop.webhook_about(&id, 1).await["payment_status"], "finished");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tabs_give_one_choice_and_back_leads_to_the_payment() {
    with_browser(|shop, browser| async move {
        let one = browser.phone().await;
        let id = draft(&shop).await;
        let url = page(&shop, &id);
        one.open(&url).await;
        let two = one.beside().await;
        two.open(&url).await;
        two.click("input[value='usdtmatic@polygon']").await;
        one.click("input[value='usdcmatic@polygon']").await;
        one.click(".go button").await;
        one.phase("paying").await;
        // The second tab gets a friendly notice, regardless of its own poll.
        let submit = "document.querySelector('.go button')?.click(); true";
        two.eval(submit).await;
        two.front().await;
        two.phase("paying").await;
        assert_eq!(two.text("#send-only").await, "Send only USDC on the Polygon network");
        assert_eq!(shop.number("select count(*) from deposit_address").await, 1);
        // Reload and the back button lead to the same payment, never to a second choice.
        one.eval("history.back()").await;
        one.phase("paying").await;
        one.call("Page.reload", json!({})).await;
        one.phase("paying").await;
        assert_eq!(shop.number("select count(*) from deposit_address").await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn choosing_a_currency_after_the_window_shows_an_explanation() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let id = draft(&shop).await;
        tab.call("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await;
        tab.open(&page(&shop, &id)).await;
        tab.click("input[value='usdtmatic@polygon']").await;
        shop.end_window(&id, 1).await;
        tab.click(".go button").await;
        tab.shows("document.querySelector('#state') !== null").await;
        assert!(tab.text(".lead").await.contains("start again in the shop"));
        tab.call("Emulation.setScriptExecutionDisabled", json!({ "value": false })).await;
        tab.open(&page(&shop, &id)).await;
        tab.phase("expired").await;
        inspect(&tab, "expired-draft").await;
    })
    .await;
}

/// Forms and links alone: nothing of the pages needs a script.
#[tokio::test(flavor = "multi_thread")]
async fn everything_works_without_scripts() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        tab.call("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await;
        let id = draft(&shop).await;
        tab.open(&page(&shop, &id)).await;
        tab.picture("choosing-without-scripts", 360).await;
        tab.click("input[value='usdtmatic@polygon']").await;
        tab.click(".go button").await;
        tab.phase("paying").await;
        tab.click("label[for=code-uri]").await;
        assert!(tab.read_qr(".of-uri svg").await.starts_with("ethereum:0x"));
        tab.picture("paying-without-scripts", 360).await;
        tab.click(".sandbox button[value=rest]").await;
        shop.webhook_about(&id, 1).await;
        tab.open(&page(&shop, &id)).await;
        tab.phase("paid").await;
    })
    .await;
}
