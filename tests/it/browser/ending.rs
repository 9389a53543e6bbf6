//! Each end of a payment has its own calm page.

use gateway::asset::Network;
use serde_json::json;
use support::shop::{Shop, unconfirmed};

use super::{TEST_CHAIN, inspect, page, with_browser, with_browser_on};

const URLS: [(&str, &str); 2] =
    [("success_url", "https://shop.example/thanks"), ("cancel_url", "https://shop.example/basket")];

async fn invoice(shop: &Shop) -> String {
    let [success, cancel] = URLS;
    shop.invoice_of(json!({ success.0: success.1, cancel.0: cancel.1 })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partial_payment_shows_the_rest_due_and_the_rest_finishes_the_invoice() {
    with_browser_on(TEST_CHAIN, |shop, browser| async move {
        let tab = browser.phone().await;
        tab.stays().await;
        let id = invoice(&shop).await;
        tab.open(&page(&shop, &id)).await;
        tab.phase("paying").await;
        shop.pay(&id, "40").await;
        // No reload: the page follows.
        tab.shows("document.querySelector('#amount')?.textContent === '60'").await;
        // It is shown as seen before it counts.
        let counted = "Received 40 of 100 USDT";
        tab.shows(&format!(
            "document.querySelector('.arrived strong')?.textContent === '{counted}'"
        ))
        .await;
        assert!(!tab.has(".cancel").await, "what was paid in part cannot be cancelled");
        tab.click("label[for=code-uri]").await;
        assert!(tab.read_qr(".of-uri svg").await.ends_with("&uint256=60000000"));
        inspect(&tab, "partial").await;
        // The chosen code stays chosen when the page renews itself.
        let waiting = shop.send(&unconfirmed(&id, "10")).await;
        tab.shows("document.querySelector('#amount')?.textContent === '50'").await;
        assert_eq!(tab.eval("document.querySelector('#code-uri').checked").await, json!(true));
        shop.send(&unconfirmed(&id, "50")).await;
        tab.phase("confirming").await;
        assert!(!tab.has("#address").await, "whoever paid now would pay twice");
        inspect(&tab, "confirming").await;
        // Confirmations as they come; the page waits for the latest payment.
        shop.stack.gateway.simulate_confirm(&waiting.txid).await.unwrap();
        shop.stack.gateway.simulate_mine(Network::Polygon, 3).await.unwrap();
        tab.shows(
            "document.querySelector('.progress')?.textContent.trim() === '3 of 16 confirmations'",
        )
        .await;
        shop.stack.gateway.simulate_mine(Network::Polygon, 20).await.unwrap();
        tab.phase("paid").await;
        assert_eq!(tab.text("#return").await, "Return to shop.example");
        let link = tab.eval("document.querySelector('#return').href").await;
        assert_eq!(link, URLS[0].1);
        inspect(&tab, "paid").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_much_expired_and_late_each_say_what_to_do() {
    with_browser(|shop, browser| async move {
        let (tab, other) = (browser.phone().await, browser.phone().await);
        tab.stays().await;
        other.stays().await;
        let id = invoice(&shop).await;
        tab.open(&page(&shop, &id)).await;
        let paid = shop.pay(&id, "250").await;
        tab.phase("overpaid").await;
        assert!(tab.text(".lead").await.contains("150 USDT more than asked"));
        // Whoever has to write needs what stands here, and is not taken away from it.
        assert_eq!(tab.text(".own code").await, format!("{id} {}", paid.txid));
        assert_eq!(tab.eval("document.querySelector('#leaving').hidden").await, json!(true));
        assert!(tab.text(".own .ask").await.contains("site where you ordered"));
        inspect(&tab, "overpaid").await;

        let id = invoice(&shop).await;
        other.open(&page(&shop, &id)).await;
        shop.pay(&id, "40").await;
        // Counted, not only seen: what was first seen after the moved deadline would be late.
        let counted =
            "document.querySelector('.arrived strong')?.textContent === 'Received 40 of 100 USDT'";
        other.shows(counted).await;
        shop.end_window(&id, 1).await;
        other.phase("expired").await;
        assert!(other.text(".lead").await.contains("40 of 100 USDT arrived"));
        assert!(other.text(".own code").await.starts_with(&id), "the reference to give the shop");
        // Whoever has paid a part must not be led to pay the whole once more.
        assert_eq!(other.text("#return").await, "Return to shop.example");
        assert!(!other.has(".late").await, "it is asked about what was seen, not whether");
        let link = other.eval("document.querySelector('#return').href").await;
        assert_eq!(link, URLS[1].1);
        // The page of an expired payment goes on looking; opened again it shows the change at
        // once.
        shop.pay(&id, "60").await;
        shop.webhook_about(&id, 2).await;
        other.open(&page(&shop, &id)).await;
        assert!(other.text(".lead").await.contains("100 of 100 USDT arrived"));
        inspect(&other, "expired").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_buyer_cancels_with_two_taps_and_only_while_nothing_was_seen() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        tab.stays().await;
        let id = invoice(&shop).await;
        tab.open(&page(&shop, &id)).await;
        let beside = tab.beside().await;
        beside.stays().await;
        beside.open(&page(&shop, &id)).await;
        tab.click(".cancel summary").await;
        inspect(&tab, "cancelling").await;
        tab.click(".cancel button").await;
        tab.phase("cancelled").await;
        assert!(tab.text(".late").await.contains(&id), "the number to give the shop");
        inspect(&tab, "cancelled").await;
        // The other tab shows it by itself, at once when it becomes visible.
        beside.front().await;
        beside.phase("cancelled").await;

        let id = invoice(&shop).await;
        tab.open(&page(&shop, &id)).await;
        tab.click(".cancel summary").await;
        // Another payer's payment arrives between the view and the tap.
        tab.call("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await;
        shop.send(&unconfirmed(&id, "1")).await;
        support::server::broker::eventually("it is seen", async || {
            let status = shop.stack.gateway.buyer_status(&id).await.unwrap().unwrap();
            (!status.cancellable).then_some(())
        })
        .await;
        tab.click(".cancel button").await;
        tab.call("Emulation.setScriptExecutionDisabled", json!({ "value": false })).await;
        tab.shows("document.querySelector('.notice') !== null").await;
        assert!(tab.text(".notice").await.contains("could not be cancelled"));
        // With scripts, the page that says so follows the payment as every other, although it
        // stands at the address of the form.
        tab.open(&page(&shop, &id)).await;
        let send = format!(
            "{{ const form = document.createElement('form'); form.method = 'post'; \
             form.action = '/pay/{id}/cancel'; document.body.append(form); form.submit(); true }}"
        );
        tab.eval(&send).await;
        tab.shows("document.querySelector('.notice') !== null").await;
        shop.pay(&id, "99").await;
        // The first unit has no confirmation yet.
        tab.phase("confirming").await;
        assert_eq!(tab.eval("location.pathname").await, json!(format!("/pay/{id}")));
    })
    .await;
}

/// A page of ours stands for the shop's; nothing else listens here.
async fn invoice_back_to(shop: &Shop, path: &str) -> String {
    let back = format!("http://{}{path}", shop.stack.api);
    shop.invoice_of(json!({ "success_url": back, "cancel_url": back })).await
}

/// The same of a draft, whose buyer knew no address and has nothing to note when it ends.
async fn draft_back_to(shop: &Shop, path: &str) -> String {
    let back = format!("http://{}{path}", shop.stack.api);
    shop.invoice_of(json!({ "pay_currency": "all", "cancel_url": back })).await
}

const LEAVING: &str = "!document.querySelector('#leaving').hidden";

#[tokio::test(flavor = "multi_thread")]
async fn the_end_leads_back_to_the_shop_after_a_wait_that_is_shown() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let id = invoice_back_to(&shop, "/docs?paid").await;
        tab.open(&page(&shop, &id)).await;
        tab.phase("paying").await;
        shop.pay(&id, "100").await;
        tab.phase("paid").await;
        tab.shows(LEAVING).await;
        // Seconds go by in sight; a screen reader hears of it once, in words.
        let seconds = "Number(document.querySelector('#leaving-left').textContent)";
        tab.shows(&format!("{seconds} > 0 && {seconds} < 10")).await;
        let heard = tab.text("#announce").await;
        assert!(heard.contains("You are being taken to"), "{heard}");
        tab.shows("location.pathname + location.search === '/docs?paid'").await;
        // Back by the browser's button: the buyer wants to see the payment, and is not sent away
        // again.
        tab.eval("history.back(); true").await;
        tab.phase("paid").await;
        tab.shows("document.querySelector('#leaving').hidden").await;

        let id = draft_back_to(&shop, "/docs?cancelled").await;
        shop.stack.gateway.cancel_invoice(&id).await.unwrap();
        tab.open(&page(&shop, &id)).await;
        tab.shows("location.pathname + location.search === '/docs?cancelled'").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_buyer_may_stay_and_the_page_in_a_frame_never_leaves() {
    with_browser(|shop, browser| async move {
        let id = draft_back_to(&shop, "/docs").await;
        shop.stack.gateway.cancel_invoice(&id).await.unwrap();
        let longer_than_the_wait =
            "new Promise((done) => setTimeout(() => done(location.pathname), 12000))";
        let stopped = async |tab: &support::client::browser::Tab| {
            assert_eq!(tab.eval("document.querySelector('#leaving').hidden").await, json!(true));
            assert!(tab.has("#return").await, "the way back is still there");
            assert_eq!(tab.eval(longer_than_the_wait).await, json!(format!("/pay/{id}")));
        };
        let (pressing, escaping) = (browser.phone().await, browser.phone().await);
        pressing.open(&page(&shop, &id)).await;
        pressing.shows(LEAVING).await;
        // The focus is not lost with the button.
        pressing.eval("document.querySelector('#stay').focus(); true").await;
        pressing.eval("document.querySelector('#stay').click(); true").await;
        assert_eq!(pressing.eval("document.activeElement.id").await, json!("return"));
        stopped(&pressing).await;
        escaping.front().await;
        escaping.open(&page(&shop, &id)).await;
        escaping.shows(LEAVING).await;
        escaping
            .eval("document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' })); true")
            .await;
        stopped(&escaping).await;

        // The wait itself can be read by everybody: here its clock stands.
        let still = browser.phone().await;
        let source = json!({ "source": "window.setInterval = () => 1" });
        still.call("Page.addScriptToEvaluateOnNewDocument", source).await;
        still.open(&page(&shop, &id)).await;
        still.shows(LEAVING).await;
        inspect(&still, "leaving").await;
        still.open(&format!("http://{}/embed/{id}", shop.stack.checkout)).await;
        still.phase("cancelled").await;
        assert!(still.has("#return").await && !still.has("#leaving").await);
    })
    .await;
}
