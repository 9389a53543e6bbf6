//! The till on a phone: every language, one hand, without scripts, through sleep and a lost line.

use gateway::mail::Language;
use serde_json::{Value, json};
use support::{client::browser::Tab, shop::Shop};

use super::{inspect, with_browser};
use crate::till::noon_zone;

const PIN: &str = "2580";

/// Creates a till and returns its address and the address that enrols a device.
async fn till(shop: &Shop, changes: Value) -> (String, String) {
    let mut body = json!({
        "type": "pos", "title": "Harbour café", "price_currency": "eur", "ipn_callback_url": shop.receiver.url,
    });
    body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let made = shop.merchant.client.post("/v1/links", &body).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let link = made.json();
    let path = format!("/v1/links/{}/devices", link["link_id"].as_str().unwrap());
    let device = shop.merchant.client.post(&path, &json!({ "name": "Counter 1" })).await.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&link["url"]), text(&device["enrol_url"]))
}

async fn enrol(tab: &Tab, enrol_url: &str) {
    tab.open(enrol_url).await;
    tab.click("#pin").await;
    tab.write(PIN).await;
    tab.click("#pin_again").await;
    tab.write(PIN).await;
    tab.click(".send button").await;
    tab.shows("document.querySelector('#till')?.dataset.key === 'ready'").await;
}

/// The smallest phone that is in use, and back.
async fn small_phone(tab: &Tab, is_small: bool) {
    let (width, height) = if is_small { (360, 640) } else { (360, 740) };
    let size = json!({ "width": width, "height": height, "deviceScaleFactor": 2, "mobile": true });
    tab.call("Emulation.setDeviceMetricsOverride", size).await;
}

async fn keys(tab: &Tab, keys: &[&str]) {
    for key in keys {
        tab.click(&format!(".key[value='{key}']")).await;
    }
}

async fn phase(tab: &Tab, name: &str) {
    tab.shows(&format!("document.querySelector('#till')?.dataset.phase === '{name}'")).await;
}

/// The charge that the page shows.
async fn shown(tab: &Tab) -> String {
    let key = tab.eval("document.querySelector('#till').dataset.key").await;
    key.as_str().unwrap().split('|').next().unwrap().to_owned()
}

async fn pay(shop: &Shop, id: &str) {
    let due = shop.payment(id).await["pay_amount"].to_string();
    shop.pay(id, &due).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cashier_charges_and_the_paid_screen_comes_by_itself_with_a_sound() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let count = "window.tones = 0; const start = OscillatorNode.prototype.start;\
                     OscillatorNode.prototype.start = function (at) { window.tones += 1; return start.call(this, at); };";
        tab.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": count })).await;
        let zone = noon_zone(&shop.stack).await;
        let (_, enrol_url) = till(&shop, json!({ "time_zone": zone })).await;
        enrol(&tab, &enrol_url).await;
        assert!(!tab.eval("location.href").await.as_str().unwrap().contains("enrol"));
        keys(&tab, &["1", "2", "back", "3", ".", "5"]).await;
        assert_eq!(tab.eval("document.querySelector('#amount').value").await, "13.5");
        tab.click(".go-charge").await;
        phase(&tab, "choosing").await;
        let id = shown(&tab).await;
        let scanned = tab.read_qr(".qr svg").await;
        assert!(scanned.ends_with(&format!("/pay/{id}")), "{scanned}");
        tab.click("#coins summary").await;
        tab.click("button[value='usdtmatic@polygon']").await;
        phase(&tab, "paying").await;
        pay(&shop, &id).await;
        phase(&tab, "paid").await;
        tab.shows("window.tones === 2").await;
        tab.click("#next").await;
        tab.shows("document.querySelector('#till')?.dataset.key === 'ready'").await;
        tab.click("a.button.quiet").await;
        tab.shows("document.body.innerText.includes('EUR\\u{a0}13.50')").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_step_works_without_scripts() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        tab.call("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await;
        let (url, enrol_url) = till(&shop, json!({ "accepted": ["usdtmatic@polygon"] })).await;
        enrol(&tab, &enrol_url).await;
        for (key, amount) in [("7", "7"), (".", "7."), ("5", "7.5")] {
            tab.click(&format!(".key[value='{key}']")).await;
            tab.shows(&format!("document.querySelector('#amount')?.value === '{amount}'")).await;
        }
        tab.click(".go-charge").await;
        phase(&tab, "paying").await;
        pay(&shop, &shown(&tab).await).await;
        shop.webhook(1).await;
        tab.open(&url).await;
        phase(&tab, "paid").await;
        tab.click("#next").await;
        tab.shows("document.querySelector('#till')?.dataset.key === 'ready'").await;
        tab.click(".locking button").await;
        tab.shows("document.querySelector('#till')?.dataset.key === 'locked'").await;
        tab.click("#pin").await;
        tab.write(PIN).await;
        tab.click(".send button").await;
        tab.shows("document.querySelector('#till')?.dataset.key === 'ready'").await;
    })
    .await;
}

/// The answer to a charge is lost: pressed again, it makes no second one.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_line_and_sleep_lose_nothing_and_charge_nothing_twice() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let (url, enrol_url) = till(&shop, json!({ "accepted": ["usdtmatic@polygon"] })).await;
        enrol(&tab, &enrol_url).await;
        let line = |offline: bool| {
            json!({ "offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 })
        };
        keys(&tab, &["9"]).await;
        tab.call("Network.emulateNetworkConditions", line(true)).await;
        tab.click(".go-charge").await;
        tab.shows("document.querySelector('#offline').textContent !== ''").await;
        assert_eq!(tab.eval("document.querySelector('#amount').value").await, "9");
        tab.call("Network.emulateNetworkConditions", line(false)).await;
        // The request arrives and its answer does not.
        let lose = "(() => { const real = window.fetch; window.fetch = async (...all) => {\
                    await real(...all); window.fetch = real; throw new TypeError('lost'); }; return true; })()";
        tab.eval(lose).await;
        tab.click(".go-charge").await;
        tab.shows("document.querySelector('#offline').textContent !== ''").await;
        tab.click(".go-charge").await;
        phase(&tab, "paying").await;
        let id = shown(&tab).await;
        assert_eq!(shop.number("select count(*) from invoice").await, 1);
        // A reload, and the app opened again, come back to it; paid meanwhile, it shows that.
        tab.open(&url).await;
        assert_eq!(shown(&tab).await, id);
        let wallet = tab.beside().await;
        wallet.front().await;
        tab.shows("document.hidden").await;
        pay(&shop, &id).await;
        shop.webhook_about(&id, 1).await;
        tab.front().await;
        phase(&tab, "paid").await;
    })
    .await;
}

/// A page that was asked for before the next customer's charge arrives after it, and is not shown:
/// the old "paid" would give the goods away.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_page_of_the_last_customer_never_covers_the_next_charge() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let (_, enrol_url) = till(&shop, json!({ "accepted": ["usdtmatic@polygon"] })).await;
        enrol(&tab, &enrol_url).await;
        keys(&tab, &["9"]).await;
        tab.click(".go-charge").await;
        phase(&tab, "paying").await;
        let first = shown(&tab).await;
        // Holds the page, as a slow line does, that the script asks for when the payment is paid.
        let hold = "(() => { const real = window.fetch; window.held = []; window.fetch = async (...all) => {\
                    const answer = await real(...all); const is_page = !all[1]?.method && !String(all[0]).endsWith('/state');\
                    if (is_page) await new Promise((go) => window.held.push(go)); return answer; }; return true; })()";
        tab.eval(hold).await;
        pay(&shop, &first).await;
        shop.webhook(1).await;
        tab.shows("window.held.length === 1").await;
        // The keypad of the next customer, as the form of the page puts it there.
        let keypad = "(() => { const form = document.querySelector('.cancel form');\
                      form.action = document.querySelector('#till').dataset.here + '/next'; form.requestSubmit(); return true; })()";
        tab.eval(keypad).await;
        tab.shows("document.querySelector('#till')?.dataset.key === 'ready'").await;
        keys(&tab, &["8"]).await;
        tab.click(".go-charge").await;
        phase(&tab, "paying").await;
        let second = shown(&tab).await;
        assert_ne!(first, second);
        tab.eval("(() => { window.held.splice(0).forEach((go) => go()); return true; })()").await;
        // Two polls later it is still the second customer's.
        tokio::time::sleep(std::time::Duration::from_secs(4)).await;
        tab.eval("(() => { window.held.splice(0).forEach((go) => go()); return true; })()").await;
        assert_eq!(shown(&tab).await, second);
        phase(&tab, "paying").await;
    })
    .await;
}

/// The gateway is down behind its proxy: the form stays as it is, and sent again it charges once.
#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_s_error_page_takes_nothing_away() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let (_, enrol_url) = till(&shop, json!({ "accepted": ["usdtmatic@polygon"] })).await;
        enrol(&tab, &enrol_url).await;
        keys(&tab, &["9"]).await;
        let down = "(() => { const real = window.fetch; window.fetch = async () => { window.fetch = real;\
                    return new Response('<h1>502 Bad Gateway</h1>', { status: 502 }); }; return true; })()";
        tab.eval(down).await;
        tab.click(".go-charge").await;
        tab.shows("document.querySelector('#offline').textContent !== ''").await;
        assert_eq!(tab.eval("document.querySelector('#amount').value").await, "9");
        tab.click(".go-charge").await;
        phase(&tab, "paying").await;
        assert_eq!(shop.number("select count(*) from invoice").await, 1);
    })
    .await;
}

async fn in_reach(tab: &Tab, name: &str) {
    let out_of_reach = tab
        .eval("[...document.querySelectorAll('.key, .go-charge')].map((one) => one.getBoundingClientRect())\
               .filter((box) => box.height < 48 || box.top < 0 || box.bottom > innerHeight).length")
        .await;
    assert_eq!(out_of_reach, 0, "{name}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_a_till_are_accessible_in_every_language_and_state() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let (url, enrol_url) = till(&shop, json!({})).await;
        for (query, name) in [("", "till-enrol"), ("?lang=ar", "till-enrol-arabic")] {
            tab.open(&format!("{enrol_url}{query}")).await;
            inspect(&tab, name).await;
        }
        enrol(&tab, &enrol_url).await;
        for (query, name) in [
            ("", "till-keypad"),
            ("?lang=de", "till-keypad-german"),
            ("?lang=ar", "till-keypad-arabic"),
        ] {
            tab.open(&format!("{url}{query}")).await;
            inspect(&tab, name).await;
            // One hand, on a small phone: every key is large and in sight, and so is the button.
            small_phone(&tab, true).await;
            in_reach(&tab, name).await;
            small_phone(&tab, false).await;
        }
        small_phone(&tab, true).await;
        for language in Language::ALL {
            tab.open(&format!("{url}?lang={language}")).await;
            assert_eq!(tab.eval("document.documentElement.lang").await, language.as_str());
            in_reach(&tab, language.as_str()).await;
        }
        small_phone(&tab, false).await;
        tab.open(&url).await;
        keys(&tab, &["5", "0"]).await;
        tab.click(".go-charge").await;
        phase(&tab, "choosing").await;
        tab.eval("document.querySelectorAll('details').forEach((one) => { one.open = true })")
            .await;
        inspect(&tab, "till-choosing").await;
        tab.click("button[value='usdtmatic@polygon']").await;
        phase(&tab, "paying").await;
        inspect(&tab, "till-paying").await;
        let id = shown(&tab).await;
        pay(&shop, &id).await;
        phase(&tab, "paid").await;
        inspect(&tab, "till-paid").await;
        tab.open(&format!("{url}?lang=ar")).await;
        inspect(&tab, "till-paid-arabic").await;
        tab.open(&format!("{url}/day")).await;
        inspect(&tab, "till-day").await;
        tab.open(&url).await;
        tab.click("#next").await;
        tab.shows("document.querySelector('#till')?.dataset.key === 'ready'").await;
        tab.click(".locking button").await;
        tab.shows("document.querySelector('#till')?.dataset.key === 'locked'").await;
        inspect(&tab, "till-locked").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_till_can_be_installed_and_its_first_view_is_under_60_kb() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        tab.call("Network.setCacheDisabled", json!({ "cacheDisabled": true })).await;
        let (url, enrol_url) = till(&shop, json!({})).await;
        enrol(&tab, &enrol_url).await;
        let before = tab.bytes_received();
        tab.open(&url).await;
        let bytes = tab.bytes_received() - before;
        assert!(bytes > 1000 && bytes < 60 * 1024, "{bytes} bytes");
        let manifest = tab.call("Page.getAppManifest", json!({})).await;
        assert!(manifest["url"].as_str().unwrap().ends_with("/app.webmanifest"), "{manifest}");
        assert_eq!(manifest["errors"], json!([]), "{manifest}");
        let found = tab.call("Page.getInstallabilityErrors", json!({})).await;
        let errors = found["installabilityErrors"].as_array().unwrap().iter();
        // A window without history, as a test's is, is never installed from.
        let errors: Vec<_> = errors.filter(|error| error["errorId"] != "in-incognito").collect();
        assert!(errors.is_empty(), "{errors:?}");
    })
    .await;
}
