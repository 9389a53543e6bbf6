//! The widget in a shop's own page: the demonstration shop of `examples/shop`, as `make run` starts
//! it.

use std::time::Duration;

use gateway::invoice::Status;
use serde_json::{Value, json};
use support::{client::browser::Tab, server::broker::eventually, shop::roastery::Roastery};

use super::{Shop, inspect, with_browser};

/// Buys two cups of coffee; returns the payment's id.
async fn buy(tab: &Tab, roastery: &Roastery) -> String {
    tab.open(&format!("{}/", roastery.url)).await;
    tab.click(".good button").await;
    tab.shows("document.querySelector('#log')?.textContent === 'onLoad'").await;
    let id: Value = tab.eval("document.querySelector('#pay').dataset.paymentId").await;
    id.as_str().unwrap().to_owned()
}

async fn log(tab: &Tab) -> Vec<String> {
    let lines =
        tab.eval("[...document.querySelectorAll('#log li')].map((line) => line.textContent)");
    serde_json::from_value(lines.await).unwrap()
}

/// Chooses the currency in the frame.
async fn choose(shop: &Shop, tab: &Tab, roastery: &Roastery, id: &str) {
    let choose = "document.querySelector(\"input[value='usdtmatic@polygon']\").click(); \
                  document.querySelector('.go button').click()";
    tab.eval_in(&roastery.checkout, choose).await;
    eventually("the currency is chosen", async || {
        let status = shop.stack.gateway.buyer_status(id).await.unwrap().unwrap();
        (!status.status.is_terminal() && status.asset.is_some()).then_some(())
    })
    .await;
}

async fn hears(tab: &Tab, callback: &str) {
    tab.shows(&format!("document.querySelector('#log').textContent.includes({callback:?})")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_widget_tells_the_shop_of_each_change_once_and_the_shop_ships_on_the_signed_webhook() {
    with_browser(|shop, browser| async move {
        let roastery = Roastery::start(&shop.stack).await;
        let tab = browser.phone().await;
        tab.open(&format!("{}/", roastery.url)).await;
        inspect(&tab, "shop").await;
        let id = buy(&tab, &roastery).await;
        tab.picture("widget-choosing", 1280).await;
        // Messages from any window but the checkout's frame are ignored.
        let forged = json!({ "source": "gateway-widget", "v": 1, "type": "status", "paymentId": id, "status": "paid" });
        tab.eval(&format!("postMessage({forged}, '*'); true")).await;
        choose(&shop, &tab, &roastery, &id).await;
        shop.pay(&id, "4").await;
        hears(&tab, "onPartial: partial, 4 of 9.5 received").await;
        inspect(&tab, "widget").await;
        shop.pay(&id, "1").await;
        frame_holds(&tab, &roastery, "document.querySelector('#amount')?.textContent === '4.5'")
            .await;
        shop.pay(&id, "4.5").await;
        hears(&tab, "onSuccess").await;
        tab.shows("document.querySelector('#told').textContent === 'finished'").await;
        let expected =
            ["onLoad", "onPartial: partial, 4 of 9.5 received", "onSuccess: paid, 9.5 of 9.5 received"];
        assert_eq!(log(&tab).await, expected);
        assert_eq!(tab.complaints().await, Vec::<String>::new());
    })
    .await;
}

/// From the next message on, keeps an answer in the frame from its reader until it is let go.
const KEEP_ANSWER: &str = "(() => {
    const real = globalThis.fetch;
    const kept = new Promise((let_go) => { globalThis.letGo = let_go; });
    const keep = async (...request) => {
        globalThis.fetch = real;
        const answer = await real(...request);
        globalThis.isKept = true;
        await kept;
        return answer;
    };
    addEventListener('message', () => { globalThis.fetch = keep; }, { once: true });
})()";

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_comes_late_does_not_tell_the_shop_what_was_before() {
    with_browser(|shop, browser| async move {
        let roastery = Roastery::start(&shop.stack).await;
        let tab = browser.phone().await;
        let id = buy(&tab, &roastery).await;
        choose(&shop, &tab, &roastery, &id).await;
        frame_shows(&tab, &roastery, "#amount").await;
        tab.eval_in(&roastery.checkout, KEEP_ANSWER).await;
        let ask = "const frame = document.querySelector('iframe').contentWindow;
            for (const type of ['keep', 'ask']) frame.postMessage({ source: 'gateway-widget', type }, '*');
            true";
        tab.eval(ask).await;
        frame_holds(&tab, &roastery, "globalThis.isKept === true").await;
        shop.pay(&id, "4").await;
        eventually("the payment counts", async || {
            let status = shop.stack.gateway.buyer_status(&id).await.unwrap().unwrap();
            (status.status == Status::Partial).then_some(())
        })
        .await;
        // What else asks, if anything does, has time to tell of it.
        let _ = tokio::time::timeout(Duration::from_secs(3), hears(&tab, "onPartial")).await;
        tab.eval_in(&roastery.checkout, "letGo()").await;
        hears(&tab, "onPartial").await;
        shop.pay(&id, "1").await;
        frame_holds(&tab, &roastery, "document.querySelector('#amount')?.textContent === '4.5'")
            .await;
        shop.pay(&id, "4.5").await;
        hears(&tab, "onSuccess").await;
        let expected = [
            "onLoad",
            "onPartial: partial, 4 of 9.5 received",
            "onSuccess: paid, 9.5 of 9.5 received",
        ];
        assert_eq!(log(&tab).await, expected);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_widget_tells_the_shop_of_cancellation_and_expiry() {
    with_browser(|shop, browser| async move {
        let roastery = Roastery::start(&shop.stack).await;
        let tab = browser.phone().await;
        buy(&tab, &roastery).await;
        let cancel = "document.querySelector('.cancel').open = true; document.querySelector('.cancel button').click()";
        tab.eval_in(&roastery.checkout, cancel).await;
        hears(&tab, "onCancel: cancelled").await;
        assert_eq!(log(&tab).await.len(), 2);
        let id = buy(&tab, &roastery).await;
        shop.end_window(&id, 1).await;
        hears(&tab, "onExpired: expired").await;
        tab.shows("document.querySelector('#told').textContent === 'expired'").await;
        // In a dialog of its own, closed by its button.
        tab.eval(&format!("GatewayWidget.open({{ paymentId: {id:?}, onClose: () => document.title = 'closed' }}); true"))
            .await;
        tab.picture("widget-dialog", 360).await;
        tab.click("dialog button").await;
        tab.shows("document.title === 'closed' && !document.querySelector('dialog')").await;
        // The same from an attribute, without a line of script.
        tab.eval(&format!("document.querySelector('h1').dataset.gatewayPaymentId = {id:?}; true")).await;
        tab.click("h1").await;
        tab.shows("document.querySelector('dialog[open] iframe[title=Payment]') !== null").await;
        assert_eq!(tab.complaints().await, Vec::<String>::new());
    })
    .await;
}

/// The frame of the checkout shows `selector`.
async fn frame_shows(tab: &Tab, roastery: &Roastery, selector: &str) {
    frame_holds(tab, roastery, &format!("document.querySelector({selector:?}) !== null")).await;
}

async fn frame_holds(tab: &Tab, roastery: &Roastery, expression: &str) {
    eventually(expression, async || {
        (tab.eval_in(&roastery.checkout, expression).await == json!(true)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_widget_begins_with_a_link_and_tells_of_the_payment_that_its_visitor_created() {
    with_browser(|shop, browser| async move {
        let roastery = Roastery::start(&shop.stack).await;
        let link = json!({
            "type": "payment", "title": "Two cups", "price_amount": 9.5, "price_currency": "usd",
        });
        let link = shop.merchant.client.post("/v1/links", &link).await.json();
        let tab = browser.phone().await;
        buy(&tab, &roastery).await;
        tab.eval(&format!(
            "GatewayWidget.open({{ linkId: {}, onLoad: (said) => document.title = said.paymentId, \
             onSuccess: (said) => document.title = 'paid ' + said.paymentId }}); true",
            link["link_id"]
        ))
        .await;
        frame_shows(&tab, &roastery, "#link .send button").await;
        tab.eval_in(&roastery.checkout, "document.querySelector('.send button').click()").await;
        tab.shows("document.title.startsWith('pzi_')").await;
        let id = tab.eval("document.title").await.as_str().unwrap().to_owned();
        frame_shows(&tab, &roastery, "input[value='usdtmatic@polygon']").await;
        choose(&shop, &tab, &roastery, &id).await;
        shop.pay(&id, "9.5").await;
        tab.shows(&format!("document.title === 'paid {id}'")).await;
        assert_eq!(tab.complaints().await, Vec::<String>::new());
    })
    .await;
}
