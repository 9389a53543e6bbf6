//! A draft: the buyer picks a currency, once, and pays in it.

use gateway::{
    app::sandbox::simulate::{Deposit, PaidIn, Payee},
    asset::Network,
};
use serde_json::json;
use support::shop::{Shop, deposit, unconfirmed};

use super::{TEST_CHAIN, inspect, page, with_browser, with_browser_on};

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
        assert!(tab.text(".unavailable").await.contains("only from USD\u{a0}20.00"));
        inspect(&tab, "choosing").await;
        tab.click("#search").await;
        tab.write("bnb smart").await;
        tab.shows("document.querySelector('#found').textContent.startsWith('Not available for this payment: ')").await;
        assert!(tab.text("#found").await.contains("only from USD\u{a0}20.00"));
        tab.eval("document.querySelector('#search').value = ''; true").await;
        tab.write("no such coin").await;
        tab.shows("document.querySelector('#found').textContent.startsWith('Nothing matches')").await;
        assert!(tab.has(".go[hidden]").await, "there is nothing to go on with");
        tab.eval("document.querySelector('#search').value = ''; true").await;
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
        assert!(tab.text(".lead").await.contains("start again at "));
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
    with_browser_on(TEST_CHAIN, |shop, browser| async move {
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

#[tokio::test(flavor = "multi_thread")]
async fn what_this_browser_chose_last_comes_first_and_is_not_chosen_by_itself() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        tab.open(&page(&shop, &draft(&shop).await)).await;
        let first = "document.querySelector('.coin .way input').value";
        assert_ne!(tab.eval(first).await, json!("usdcmatic@polygon"));
        tab.click("input[value='usdcmatic@polygon']").await;
        tab.click(".go button").await;
        tab.phase("paying").await;
        tab.open(&page(&shop, &draft(&shop).await)).await;
        tab.phase("choosing").await;
        assert_eq!(tab.eval(first).await, json!("usdcmatic@polygon"));
        assert!(!tab.has("input[name=token_id]:checked").await);
        assert_eq!(tab.complaints().await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_currency_can_be_changed_until_a_payment_was_seen_and_the_old_address_is_watched() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let id = draft(&shop).await;
        tab.open(&page(&shop, &id)).await;
        tab.click("input[value='usdtmatic@polygon']").await;
        tab.click(".go button").await;
        tab.phase("paying").await;
        let (old, ends) = (tab.text("#address").await, ends_at(&shop, &id).await);
        tab.click("#change").await;
        tab.phase("choosing").await;
        assert!(
            tab.text(".choose .notice").await.contains("You chose USDT on the Polygon network")
        );
        inspect(&tab, "changing").await;
        tab.click("input[value='usdcmatic@polygon']").await;
        tab.click(".go button").await;
        tab.phase("paying").await;
        assert_eq!(tab.text("#send-only").await, "Send only USDC on the Polygon network");
        assert_ne!(tab.text("#address").await, old);
        assert_eq!(ends_at(&shop, &id).await, ends, "a change gives no more time");

        // Whoever had sent something already has lost nothing.
        let sent = Deposit {
            payee: Payee::Address { network: Network::Polygon, address: old },
            paid_in: PaidIn { currency: Some("usdtmatic".into()), contract: None },
            ..deposit(&id, "10")
        };
        shop.send(&sent).await;
        tab.shows("document.querySelector('[data-kind=wrong_token]') !== null").await;
        assert!(!tab.has("#change").await, "something was seen");
        shop.pay(&id, "10").await;
        tab.phase("paid").await;
    })
    .await;
}

async fn ends_at(shop: &Shop, id: &str) -> serde_json::Value {
    let status = shop.stack.anybody().get(&format!("/v1/invoices/{id}/status")).await.json();
    status["expires_at"].clone()
}

/// Attacks: a change behind a payment that was seen, from a page that is out of date, of an invoice
/// whose merchant chose the currency, and again and again to use addresses up.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_would_lose_a_payment_or_cost_addresses_is_refused() {
    with_browser(|shop, _| async move {
        let change = async |id: &str, before: &str, token: &str| {
            let body = format!("instead_of={before}&token_id={token}").replace('@', "%40");
            shop.stack.buyer().send(http::Method::POST, &format!("/pay/{id}/select"), &body).await
        };
        let (usdt, usdc) = ("usdtmatic@polygon", "usdcmatic@polygon");
        let id = draft(&shop).await;
        shop.stack.gateway.select_currency(&id, usdt).await.unwrap();
        let stale = change(&id, usdc, usdt).await;
        assert_eq!(stale.status, 409);
        assert!(stale.body.contains("was chosen already"), "{}", stale.body);
        for turn in 0..4 {
            let (from, to) = if turn % 2 == 0 { (usdt, usdc) } else { (usdc, usdt) };
            assert_eq!(change(&id, from, to).await.status, 303, "{turn}");
        }
        let often = change(&id, usdt, usdc).await;
        assert_eq!(often.status, 409);
        assert!(often.body.contains("changed too often"), "{}", often.body);
        shop.send(&unconfirmed(&id, "4")).await;
        support::server::broker::eventually("it is seen", async || {
            let status = shop.stack.gateway.buyer_status(&id).await.unwrap().unwrap();
            (!status.changeable).then_some(())
        })
        .await;

        let seen = draft(&shop).await;
        shop.stack.gateway.select_currency(&seen, usdt).await.unwrap();
        shop.send(&unconfirmed(&seen, "4")).await;
        support::server::broker::eventually("it is seen", async || {
            let status = shop.stack.gateway.buyer_status(&seen).await.unwrap().unwrap();
            (!status.changeable).then_some(())
        })
        .await;
        let refused = change(&seen, usdt, usdc).await;
        assert_eq!(refused.status, 409);
        assert!(refused.body.contains("was seen already"), "{}", refused.body);

        let fixed = shop.invoice().await;
        assert_eq!(change(&fixed, usdt, usdc).await.status, 409);
        let page = shop.stack.buyer().get(&format!("/pay/{fixed}?choose=1")).await;
        assert!(!page.body.contains("id=\"change\"") && page.body.contains("Send only"));
    })
    .await;
}
