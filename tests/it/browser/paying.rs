//! From the first look at the page to the end of the payment.

use serde_json::{Value, json};
use support::shop::Shop;

use super::{TEST_CHAIN, inspect, page, with_browser, with_browser_on};

async fn row(shop: &Shop, id: &str) -> Value {
    shop.stack.anybody().get(&format!("/v1/invoices/{id}/status")).await.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn text_and_codes_say_what_the_row_says() {
    with_browser_on(TEST_CHAIN, |shop, browser| async move {
        let tab = browser.phone().await;
        let id = shop.invoice_of(json!({ "price_amount": 25.5 })).await;
        tab.open(&page(&shop, &id)).await;
        tab.phase("paying").await;
        let row = row(&shop, &id).await;
        let (address, uri) =
            (row["pay_address"].as_str().unwrap(), row["payment_uri"].as_str().unwrap());
        assert_eq!(tab.text("#address").await, address);
        assert_eq!(tab.text("#amount").await, row["amount_remaining"]);
        assert_eq!(tab.text("#send-only").await, "Send only USDT on the Polygon network");
        // Of all that is read here the amount is the largest.
        let larger = "[...document.querySelectorAll('main *')].filter((one) => one.textContent.trim() && \
                      parseFloat(getComputedStyle(one).fontSize) > parseFloat(getComputedStyle(document.querySelector('#amount')).fontSize))\
                      .map((one) => one.textContent)";
        assert_eq!(tab.eval(larger).await, json!([]));
        // A wallet of an EVM network gets the bare address first, and the amount on request.
        assert_eq!(tab.read_qr(".of-address svg").await, address);
        tab.click("label[for=code-uri]").await;
        assert_eq!(tab.read_qr(".of-uri svg").await, uri);
        inspect(&tab, "paying").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_counts_down_follows_quietly_and_copies_exactly() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let id = shop.invoice().await;
        tab.allow("clipboardReadWrite").await;
        tab.open(&page(&shop, &id)).await;
        let row = row(&shop, &id).await;
        tab.shows("/^29:[0-5][0-9]$/.test(document.querySelector('#countdown').textContent)").await;
        let seconds = "(() => { const [m, s] = document.querySelector('#countdown').textContent.split(':'); \
                       return 60 * m + Number(s); })()";
        let shown = tab.eval(seconds).await.as_i64().unwrap();
        tab.shows(&format!("{seconds} < {shown}")).await;
        let left = async || self::row(&shop, &id).await["seconds_left"].as_i64().unwrap();
        let (most, least) = (row["seconds_left"].as_i64().unwrap(), left().await);
        assert!((least - 1..=most + 1).contains(&shown), "{shown} shown, {least} to {most} left");
        for (button, expected) in [("#copy-amount", "100"), ("#copy-address", row["pay_address"].as_str().unwrap())] {
            tab.click(button).await;
            tab.shows(&format!("document.querySelector({button:?}).textContent.trim() === 'Copied'")).await;
            assert_eq!(tab.eval("navigator.clipboard.readText()").await, expected);
        }
        tab.click("#copy-all").await;
        tab.shows("document.querySelector('#copy-all').textContent.trim() === 'Copied'").await;
        let all = format!(
            "Amount to send: 100 USDT\nNetwork: Polygon\nAddress: {}",
            row["pay_address"].as_str().unwrap()
        );
        assert_eq!(tab.eval("navigator.clipboard.readText()").await, json!(all));
        // Without a change the page is not requested again.
        for polls in 1..=3 {
            tab.eval("dispatchEvent(new Event('online')); true").await;
            tab.until_answers("/status", polls).await;
        }
        assert_eq!(tab.answers(&id), [200]);
        // Wallets would send real coins to the sandbox, by a link and by a code.
        for leading in [".wallet", "#wallets", "#code-uri", "[data-qr=uri]"] {
            assert!(!tab.has(leading).await, "{leading}");
        }
        assert!(!row["payment_uri"].is_null(), "integrations are tested with it");
    })
    .await;
}

/// Uses only the keyboard, from the first key to the payment.
#[tokio::test(flavor = "multi_thread")]
async fn a_keyboard_reaches_everything_in_order_and_shows_where_it_is() {
    with_browser(|shop, browser| async move {
        let tab = browser.desktop().await;
        let id = shop.invoice().await;
        tab.open(&page(&shop, &id)).await;
        tab.phase("paying").await;
        tab.shows("document.documentElement.classList.contains('scripted')").await;
        let focused = "(() => { const e = document.activeElement; const s = getComputedStyle(e); \
                       return (e.id || e.textContent.trim()) + (s.outlineStyle === 'none' && e.type !== 'radio' ? ' unseen' : ''); })()";
        let mut order = Vec::new();
        for _ in 0..8 {
            tab.press("Tab").await;
            order.push(tab.eval(focused).await.as_str().unwrap().to_owned());
        }
        let expected = [
            "copy-amount", "copy-address", "copy-all", "Large code", "Cancel this payment",
            "Pay", "Pay half", "Pay too much",
        ];
        assert_eq!(order, expected);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_fills_the_screen_and_its_button_a_tap_and_escape_lead_back() {
    with_browser_on(TEST_CHAIN, |shop, browser| async move {
        let tab = browser.phone().await;
        let id = shop.invoice().await;
        tab.open(&page(&shop, &id)).await;
        tab.phase("paying").await;
        let address = tab.text("#address").await;
        tab.shows("document.documentElement.classList.contains('scripted')").await;
        tab.click(".of-address .enlarge").await;
        let width =
            "document.querySelector('.of-address svg').getBoundingClientRect().width / innerWidth";
        assert!(tab.eval(width).await.as_f64().unwrap() > 0.85);
        assert_eq!(tab.read_qr(".of-address svg").await, address);
        assert_eq!(tab.text(".large .enlarge").await, "Close the large code");
        inspect(&tab, "paying-large-code").await;
        tab.press("Escape").await;
        for back in [".of-address .enlarge", ".of-address svg"] {
            tab.shows("document.querySelector('.large') === null").await;
            let focused = "document.activeElement.matches('.of-address .enlarge')";
            assert_eq!(tab.eval(focused).await, json!(true));
            assert_eq!(tab.text(".of-address .enlarge").await, "Large code");
            tab.click(".of-address .enlarge").await;
            tab.shows("document.querySelector('.large') !== null").await;
            tab.click(back).await;
        }
        tab.shows("document.querySelector('.large') === null").await;
        // A tap on the small code opens nothing, and the focus is never behind the large one.
        tab.click(".of-address svg").await;
        assert!(!tab.has(".large").await);
        tab.click(".of-address .enlarge").await;
        tab.press("Tab").await;
        tab.shows("document.querySelector('.large') === null").await;
        // Both ways of the code stand beside one another at every width.
        for width in [320, 360, 720, 736, 768, 800, 834, 1024, 1280] {
            tab.resize(width).await;
            let tops = "new Set([...document.querySelectorAll('.codes label')].map((label) => \
                        Math.round(label.getBoundingClientRect().top))).size";
            assert_eq!(tab.eval(tops).await, json!(1), "{width}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_app_of_a_wallet_is_opened_for_a_simulated_chain() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let id = shop.invoice().await;
        tab.open(&page(&shop, &id)).await;
        shop.pay(&id, "99.5").await;
        tab.shows("document.querySelector('#amount')?.textContent === '0.5'").await;
        let hosts = "[...document.querySelectorAll('a')].map((link) => link.protocol + link.host)";
        let elsewhere =
            tab.eval(&format!("{hosts}.filter((one) => one !== 'http:' + location.host)")).await;
        assert_eq!(elsewhere, json!([]), "a wallet would send real coins to the sandbox");
        // A buyer who sent all of it learns where the rest went, and how to send it.
        tab.click("#fee summary").await;
        assert!(tab.text("#fee").await.contains("What is missing is exactly 0.5 USDT"));
        inspect(&tab, "paying-after-a-fee").await;
    })
    .await;
}
