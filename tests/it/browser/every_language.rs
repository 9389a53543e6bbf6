//! The journeys of a buyer in all twelve languages: each step says the sentence of its language's
//! table, with the right values in it, fits the smallest phone, and keeps nothing in English.
//!
//! The other files play each journey once, in English, with pictures and axe. Here the same steps
//! are played in each language with neither, so that all twelve together cost about a minute.

use std::path::Path;

use gateway::{
    app::sandbox::simulate::{Deposit, PaidIn},
    mail::Language,
};
use serde_json::{Map, Value, json};
use support::{
    client::browser::Tab,
    server::broker::eventually,
    shop::{Shop, deposit, unconfirmed},
};

use super::{
    language::{OUT_OF_PLACE, UNFOLD},
    page, with_browser,
};

const URLS: [(&str, &str); 2] =
    [("success_url", "https://shop.example/thanks"), ("cancel_url", "https://shop.example/basket")];
/// Shorter pieces of English are words of other languages too, or names.
const PIECE: usize = 10;

/// A buyer whose browser asks for one language, and the texts to be read in it.
struct Buyer<'a> {
    shop: &'a Shop,
    tab: Tab,
    language: Language,
    texts: Map<String, Value>,
    /// Pieces of English sentences that this language says otherwise.
    english: Vec<String>,
}

fn table(language: Language) -> Map<String, Value> {
    let file = format!("../api/texts/{language}.json");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The parts of a text between its placeholders; of a counted one, of all its forms.
fn pieces(text: &Value) -> Vec<String> {
    let forms: Vec<&str> = match text.as_object() {
        Some(forms) => forms.values().filter_map(Value::as_str).collect(),
        None => text.as_str().into_iter().collect(),
    };
    let parts = forms.into_iter().flat_map(|form| form.split(['{', '}']).step_by(2));
    parts.map(|part| part.trim().to_owned()).filter(|part| part.len() >= PIECE).collect()
}

fn english_beside(texts: &Map<String, Value>) -> Vec<String> {
    let own: Vec<_> = texts.values().flat_map(pieces).collect();
    let english = table(Language::English);
    let pieces = english.values().flat_map(pieces);
    pieces.filter(|piece| !own.iter().any(|text| text.contains(piece))).collect()
}

/// Everything that is read on a page or spoken of it, folded or not.
const SAID: &str = "[document.title, document.querySelector('main').textContent, \
     ...[...document.querySelectorAll('main [aria-label], main [title]')].flatMap((one) => [one.ariaLabel, one.title])]\
     .join(' ').replace(/\\s+/g, ' ')";

impl Buyer<'_> {
    fn says(&self, name: &str, values: &[(&str, &str)]) -> String {
        let text = self.texts[name].as_str().unwrap_or_else(|| panic!("{name} is counted"));
        let filled = values.iter().fold(text.to_owned(), |text, (name, value)| {
            text.replace(&format!("{{{name}}}"), value)
        });
        assert!(!filled.contains('{'), "{filled} lacks a value");
        // As the page's text is compared: French sets a space that does not break before its marks.
        filled.replace(char::is_whitespace, " ")
    }

    /// Waits until an element reads exactly as the table has it.
    async fn reads(&self, selector: &str, name: &str, values: &[(&str, &str)]) {
        let (selector, text) = (json!(selector), json!(self.says(name, values)));
        let found = format!(
            "[...document.querySelectorAll({selector})].some((one) => \
             one.textContent.replace(/\\s+/g, ' ').trim() === {text})"
        );
        self.tab.shows(&found).await;
    }

    /// The page as it is now: in this language, within its width, complete.
    async fn is_whole(&self, step: &str) {
        let (tab, step) = (&self.tab, format!("{} {step}", self.language));
        tab.eval(UNFOLD).await;
        assert_eq!(tab.eval("document.documentElement.lang").await, self.language.as_str());
        let said = tab.eval(SAID).await;
        let said = said.as_str().unwrap();
        let left: Vec<_> = self.english.iter().filter(|piece| said.contains(*piece)).collect();
        assert_eq!(left, Vec::<&String>::new(), "{step} is in English in part");
        assert!(!said.contains(['{', '}']), "{step} shows a placeholder: {said}");
        let overflow = tab.eval("document.documentElement.scrollWidth - innerWidth").await;
        assert!(overflow.as_i64().unwrap() <= 0, "{step} is wider than 320 px by {overflow}");
        assert_eq!(tab.eval(OUT_OF_PLACE).await, json!([]), "{step}");
        assert_eq!(tab.complaints().await, Vec::<String>::new(), "{step}");
    }

    async fn open(&self, fields: Value) -> String {
        let [success, cancel] = URLS;
        let mut body = json!({ success.0: success.1, cancel.0: cancel.1 });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let id = self.shop.invoice_of(body).await;
        self.tab.open(&page(self.shop, &id)).await;
        id
    }

    /// Chooses, changes the choice, pays half of it, then wrongly, then the rest.
    async fn chooses_and_pays(&self) {
        let (shop, tab) = (self.shop, &self.tab);
        let id = self.open(json!({ "pay_currency": "all", "price_amount": 10 })).await;
        self.reads("h1", "choose", &[]).await;
        self.reads(".go button", "go_on", &[]).await;
        self.is_whole("choosing").await;
        tab.click("input[value='usdcmatic@polygon']").await;
        tab.click(".go button").await;
        tab.phase("paying").await;
        let on = |symbol| [("symbol", symbol), ("network", "Polygon")];
        self.reads("#send-only", "send_only", &on("USDC")).await;
        self.reads("#change", "change", &[]).await;
        tab.click("#change").await;
        tab.phase("choosing").await;
        self.reads(".choose .notice .stay", "change_not", &[]).await;
        self.is_whole("changing").await;
        tab.click("input[value='usdtmatic@polygon']").await;
        tab.click(".go button").await;
        tab.phase("paying").await;
        self.reads("#send-only", "send_only", &on("USDT")).await;
        self.reads("dt", "amount", &[]).await;
        self.is_whole("paying").await;

        shop.pay(&id, "4").await;
        let part = [("amount", "4"), ("due", "10"), ("symbol", "USDT")];
        self.reads(".arrived strong", "received", &part).await;
        self.reads("dt", "rest", &[]).await;
        self.reads("#fee p", "fee_text", &[("rest", "6"), ("symbol", "USDT")]).await;
        let usdc = PaidIn { currency: Some("usdcmatic".into()), contract: None };
        shop.send(&Deposit { paid_in: usdc, ..deposit(&id, "6") }).await;
        let wrong =
            [("amount", "6"), ("symbol", "USDC"), ("wanted", "USDT"), ("shop", "Test shop")];
        self.reads("[data-kind=wrong_token] p", "happened_wrong_token", &wrong).await;
        self.reads("[data-kind=wrong_token] p", "happened_still_due", &[]).await;
        self.is_whole("partial").await;

        let waiting = shop.send(&unconfirmed(&id, "6")).await;
        tab.phase("confirming").await;
        self.reads("#state", "confirming", &[]).await;
        self.reads(".lead", "confirming_text", &[("amount", "6"), ("symbol", "USDT")]).await;
        assert!(tab.text(".progress span").await.contains("16"), "of so many confirmations");
        self.is_whole("confirming").await;
        shop.stack.gateway.simulate_confirm(&waiting.txid).await.unwrap();
        tab.phase("paid").await;
        self.reads("#state", "paid", &[]).await;
        let arrived = [("amount", "10"), ("symbol", "USDT"), ("shop", "Test shop")];
        self.reads(".lead", "paid_text", &arrived).await;
        self.reads("#return", "return_to", &[("host", "shop.example")]).await;
        self.is_whole("paid").await;
        tab.click("#receipt").await;
        self.reads("h1", "receipt", &[]).await;
        self.is_whole("receipt").await;
    }

    async fn cancels(&self) {
        let id = self.open(json!({})).await;
        self.reads(".cancel summary", "cancel", &[]).await;
        self.tab.click(".cancel summary").await;
        self.tab.click(".cancel button").await;
        self.tab.phase("cancelled").await;
        self.reads("#state", "cancelled", &[]).await;
        self.is_whole(&format!("cancelled {id}")).await;
    }

    /// Pays a part, sees it vanish, lets the time run out, and pays after the end.
    async fn pays_too_late(&self) {
        let (shop, tab) = (self.shop, &self.tab);
        let id = self.open(json!({})).await;
        let vanishing = shop.send(&unconfirmed(&id, "30")).await;
        self.reads(".arrived p", "seen_part", &[("amount", "30"), ("symbol", "USDT")]).await;
        shop.stack.gateway.simulate_orphan(&vanishing.txid).await.unwrap();
        let gone = [("amount", "30"), ("symbol", "USDT")];
        self.reads("[data-kind=dropped] p", "happened_dropped", &gone).await;
        self.reads("[data-kind=dropped] p", "happened_send_again", &[]).await;
        shop.end_window(&id, 1).await;
        tab.phase("expired").await;
        self.reads("#state", "expired", &[]).await;
        self.reads(".late h2", "late_title", &[]).await;
        self.reads(".late .ask", "write_nowhere", &[("shop", "Test shop")]).await;
        self.is_whole("expired").await;
        shop.pay(&id, "100").await;
        // The page of an ended payment asks every ten seconds; opened again it shows it at once.
        eventually("it is told of", async || {
            let status = shop.stack.gateway.buyer_status(&id).await.unwrap().unwrap();
            (!status.happened.is_empty()).then_some(())
        })
        .await;
        tab.open(&page(shop, &id)).await;
        let late = [("amount", "100"), ("symbol", "USDT"), ("shop", "Test shop")];
        self.reads("[data-kind=late] p", "happened_late", &late).await;
        self.is_whole("late").await;
    }

    async fn pays_too_much(&self) {
        let id = self.open(json!({})).await;
        self.shop.pay(&id, "130").await;
        self.tab.phase("overpaid").await;
        let more = [("amount", "130"), ("excess", "30"), ("symbol", "USDT"), ("shop", "Test shop")];
        self.reads(".lead", "overpaid_text", &more).await;
        self.is_whole("overpaid").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journeys_of_a_buyer_are_the_same_in_every_language() {
    with_browser(|shop, browser| async move {
        for language in Language::ALL {
            let tab = browser.phone().await;
            tab.resize(320).await;
            tab.stays().await;
            let asked = json!({ "headers": { "Accept-Language": format!("{language},en;q=0.5") } });
            tab.call("Network.setExtraHTTPHeaders", asked).await;
            let texts = table(language);
            let english = english_beside(&texts);
            // English alone has nothing beside itself; a table that was copied would have nothing.
            assert_eq!(english.is_empty(), language == Language::English, "{language}");
            let buyer = Buyer { shop: &shop, tab, language, texts, english };
            buyer.chooses_and_pays().await;
            buyer.cancels().await;
            buyer.pays_too_late().await;
            buyer.pays_too_much().await;
        }
    })
    .await;
}
