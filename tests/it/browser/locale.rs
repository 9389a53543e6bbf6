//! Figures and dates as a browser's `Intl` writes them, and as pages show them.

use chrono::{DateTime, NaiveDate, Utc};
use gateway::locale::Language;
use serde_json::{Value, json};
use support::client::browser::{Browser, Tab};

use super::{inspect, page, with_browser};

const AMOUNTS: [&str; 9] =
    ["0", "0.5", "9.99", "999", "1000", "1250.5", "12500", "1234567.895", "999999999999.99"];
const CURRENCIES: [&str; 3] = ["usd", "eur", "gbp"];

/// Every month, and days of one digit and of two.
fn days() -> Vec<NaiveDate> {
    (1..=12).map(|month| NaiveDate::from_ymd_opt(2026, month, month * 2).unwrap()).collect()
}

/// The language as `Intl` is asked for it: of Arabic's digits the Western ones.
fn tag(language: Language) -> &'static str {
    if language == Language::Arabic { "ar-u-nu-latn" } else { language.as_str() }
}

async fn by_intl(tab: &Tab, language: Language, values: Value, format: &str) -> Vec<String> {
    let script = format!("{values}.map((value) => ({format})({:?}, value))", tag(language));
    let texts = tab.eval(&script).await;
    let texts = texts.as_array().unwrap().iter().map(|text| text.as_str().unwrap());
    // Before a price in Arabic Intl sets a mark that it reads from the right; here a price is a
    // part of its own with its own direction.
    texts.map(|text| text.trim_start_matches('\u{200f}').to_owned()).collect()
}

/// The table is CLDR's, and this browser's data are CLDR's too. A difference is a mistake of the
/// table, or a newer CLDR.
#[tokio::test(flavor = "multi_thread")]
async fn every_language_writes_numbers_prices_and_dates_as_the_browser_does() {
    let browser = Browser::start().await;
    let tab = browser.phone().await;
    for language in Language::ALL {
        let numbers = "(tag, value) => new Intl.NumberFormat(tag, { maximumFractionDigits: 18 }).format(value)";
        let ours = AMOUNTS.map(|amount| language.number(amount));
        assert_eq!(by_intl(&tab, language, json!(AMOUNTS), numbers).await, ours, "{language}");
        for currency in CURRENCIES {
            let prices = format!(
                "(tag, value) => new Intl.NumberFormat(tag, {{ style: 'currency', currency: '{currency}', \
                 currencyDisplay: 'code', maximumFractionDigits: 18 }}).format(value)"
            );
            let ours = AMOUNTS.map(|amount| language.price(amount, currency));
            assert_eq!(by_intl(&tab, language, json!(AMOUNTS), &prices).await, ours, "{language}");
        }
        let dates = "(tag, value) => new Intl.DateTimeFormat(tag, { day: 'numeric', month: 'short', \
                     year: 'numeric', timeZone: 'UTC' }).format(new Date(value))";
        let ours: Vec<_> = days().into_iter().map(|day| language.date(day)).collect();
        assert_eq!(by_intl(&tab, language, json!(days()), dates).await, ours, "{language}");
        let at: DateTime<Utc> = "2026-11-08T09:05:59Z".parse().unwrap();
        for (date, ours) in [
            ("day: 'numeric', month: 'short', year: 'numeric',", language.moment(at)),
            ("", language.time(at)),
        ] {
            let moments = format!(
                "(tag, value) => new Intl.DateTimeFormat(tag, {{ {date} hour: '2-digit', minute: '2-digit', \
                 hourCycle: 'h23', timeZoneName: 'short', timeZone: 'UTC' }}).format(new Date(value))"
            );
            assert_eq!(by_intl(&tab, language, json!([at]), &moments).await, [ours], "{language}");
        }
    }
}

/// What is selected of an element, as Ctrl-C copies it.
fn selected(selector: &str) -> String {
    format!(
        "(getSelection().selectAllChildren(document.querySelector({selector:?})), getSelection().toString())"
    )
}

/// A comma in what is copied would send another amount, or none.
#[tokio::test(flavor = "multi_thread")]
async fn a_price_is_written_for_its_reader_and_the_amount_to_send_for_a_wallet() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let zone = json!({ "timezoneId": "Asia/Kolkata" });
        tab.call("Emulation.setTimezoneOverride", zone).await;
        let id = shop.invoice_of(json!({ "price_amount": 1250.5 })).await;
        let row = shop.stack.anybody().get(&format!("/v1/invoices/{id}/status")).await.json();
        let amount = row["amount_remaining"].as_str().unwrap();
        assert_eq!(amount, "1250.5");
        for (language, price, zone) in [
            ("de", "1.250,50\u{a0}USD", "GMT+5:30"),
            ("en", "USD\u{a0}1,250.50", "GMT+5:30"),
            ("fr", "1\u{202f}250,50\u{a0}USD", "UTC+5:30"),
            ("pl", "1250,50\u{a0}USD", "GMT+5:30"),
            ("ar", "1,250.50\u{a0}USD", "غرينتش+5:30"),
            ("ja", "USD\u{a0}1,250.50", "GMT+5:30"),
        ] {
            tab.open(&format!("{}?lang={language}", page(&shop, &id))).await;
            tab.shows("document.documentElement.classList.contains('scripted')").await;
            assert_eq!(tab.text(".price").await, price, "{language}");
            assert_eq!(tab.eval(&selected("#amount")).await, amount, "{language}");
            let copied = "document.querySelector('#copy-amount').dataset.copy";
            assert_eq!(tab.eval(copied).await, amount, "{language}");
            let all = "document.querySelector('#copy-all').dataset.copy";
            let all = tab.eval(all).await.as_str().unwrap().to_owned();
            assert!(all.contains("1250.5 USDT\n"), "{language}: {all}");
            // The time of the rate is the buyer's own, with its zone.
            let time = tab.text("#rate time").await;
            assert!(time.contains(zone) && !time.contains("UTC "), "{language}: {time}");
            inspect(&tab, &format!("locale-{language}")).await;
        }
        let no_scripts = json!({ "value": true });
        tab.call("Emulation.setScriptExecutionDisabled", no_scripts).await;
        tab.open(&format!("{}?lang=de", page(&shop, &id))).await;
        tab.picture("locale-de-without-scripts", 360).await;
        let page = shop.stack.buyer().get(&format!("/pay/{id}?lang=de")).await.body;
        assert!(page.contains(" UTC</time>") && page.contains(" Min.</time>"), "{page}");
    })
    .await;
}
