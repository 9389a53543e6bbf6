//! The documentation site as developers read it: on a phone and in a window, by keyboard, without
//! scripts; and requests that are sent to the sandbox from the page.

use serde_json::{Value, json};
use support::{
    client::browser::{Browser, Tab},
    server::stack::{Stack, with_stack},
};

/// One page of each kind: the reference, a guide, tables, a list to go through, examples, codes.
const PAGES: [&str; 7] =
    ["", "/first-payment", "/webhooks", "/going-live", "/examples", "/errors", "/operating"];

fn address(stack: &Stack, path: &str) -> String {
    format!("http://{}/docs{path}", stack.api)
}

/// Looks at the page on a phone and in a window, light and dark.
async fn look_at(tab: &Tab, name: &str) {
    for (width, scheme, suffix) in
        [(1280, "light", ""), (1280, "dark", "-dark"), (360, "dark", "-dark"), (360, "light", "")]
    {
        tab.resize(width).await;
        tab.scheme(scheme).await;
        tab.view(&format!("{name}{suffix}"), width).await;
        let found = if scheme == "dark" { tab.illegible().await } else { tab.inaccessible().await };
        assert_eq!(found, Vec::<String>::new(), "{name} {width} {scheme}");
    }
    tab.resize(320).await;
    let overflow = tab.eval("document.documentElement.scrollWidth - innerWidth").await;
    assert!(overflow.as_i64().unwrap() <= 0, "{name} is wider than 320 px by {overflow}");
    tab.resize(360).await;
    assert_eq!(tab.complaints().await, Vec::<String>::new(), "{name}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_can_be_read_on_a_phone_in_the_dark_and_by_a_screen_reader() {
    with_stack(|stack| async move {
        let browser = Browser::start().await;
        let tab = browser.phone().await;
        for path in PAGES {
            tab.open(&address(&stack, path)).await;
            look_at(&tab, &format!("docs{}", path.replace('/', "-"))).await;
        }
        let host = format!("http://{}/", stack.api);
        let requests = tab.requests();
        assert!(requests.iter().all(|url| url.starts_with(&host)), "{requests:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keyboard_skips_to_the_text_and_the_contents_open_on_a_phone() {
    with_stack(|stack| async move {
        let browser = Browser::start().await;
        let tab = browser.phone().await;
        tab.open(&address(&stack, "/webhooks")).await;
        tab.press("Tab").await;
        assert_eq!(tab.eval("document.activeElement.className").await, "skip");
        // The contents scroll beside the text, so arrow keys must reach them.
        for name in ["NAV", "SUMMARY"] {
            tab.press("Tab").await;
            assert_eq!(tab.eval("document.activeElement.tagName").await, name);
        }
        assert_eq!(tab.eval("document.querySelector('nav ul').checkVisibility()").await, false);
        tab.press("Enter").await;
        tab.shows("document.querySelector('nav details').open").await;
        tab.view("docs-contents", 360).await;
        let desk = browser.desktop().await;
        desk.open(&address(&stack, "/webhooks")).await;
        let seen =
            "document.querySelector('nav [aria-current=page]').getBoundingClientRect().height > 0";
        assert_eq!(desk.eval(seen).await, true);
    })
    .await;
}

/// The languages of the blocks that can be seen.
const SHOWN: &str = "[...new Set([...document.querySelectorAll('.switch > pre')]\
                     .filter((pre) => pre.checkVisibility()).map((pre) => pre.dataset.language))].join()";

#[tokio::test(flavor = "multi_thread")]
async fn one_switch_turns_all_examples_to_a_language_and_it_is_remembered() {
    with_stack(|stack| async move {
        let browser = Browser::start().await;
        let tab = browser.desktop().await;
        tab.open(&address(&stack, "/examples")).await;
        assert_eq!(tab.eval(SHOWN).await, "curl");
        tab.click("label[for=python-1]").await;
        tab.shows(&format!("{SHOWN} === 'Python'")).await;
        tab.view("docs-python", 1280).await;
        // The next visit begins with it, on every page.
        tab.open(&address(&stack, "/examples")).await;
        assert_eq!(tab.eval(SHOWN).await, "Python");
        // By keyboard: the arrow goes to the next language.
        tab.eval("document.querySelector('#python-2').focus(); true").await;
        tab.press("ArrowDown").await;
        tab.shows(&format!("{SHOWN} === 'PHP'")).await;
        assert_eq!(tab.complaints().await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_each_example_still_switches() {
    with_stack(|stack| async move {
        let browser = Browser::start().await;
        let tab = browser.desktop().await;
        tab.call("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await;
        tab.open(&address(&stack, "/examples")).await;
        tab.click("label[for=go-1]").await;
        tab.shows(&format!("{SHOWN} === 'Go,curl'")).await;
        // Nor is there a form that could not send anything.
        tab.open(&address(&stack, "")).await;
        assert_eq!(
            tab.eval("document.querySelector('#createPayment .curl').checkVisibility()").await,
            true
        );
        assert!(!tab.has("button").await);
    })
    .await;
}

/// Opens an operation's form, which takes the contract from the server first.
async fn open_form(tab: &Tab, operation: &str) {
    tab.click(&format!("#{operation} button.open")).await;
    tab.shows(&format!("document.querySelector('#{operation} form.try') !== null")).await;
}

async fn fill(tab: &Tab, operation: &str, field: &str, text: &str) {
    let set = format!(
        "(() => {{ const f = [...document.querySelectorAll('#{operation} .field')].find((one) => \
         one.querySelector('code').textContent === {field:?}).querySelector('input, textarea'); f.value = {text}; \
         f.dispatchEvent(new Event('input', {{ bubbles: true }})); return true; }})()",
        text = Value::from(text),
    );
    tab.eval(&set).await;
}

/// Sends it and returns the status, the headers and the body that the page shows.
async fn send(tab: &Tab, operation: &str) -> (String, String, String) {
    tab.eval(&format!("document.querySelector('#{operation} .result').replaceChildren(); true"))
        .await;
    tab.click(&format!("#{operation} form.try > button")).await;
    tab.shows(&format!("document.querySelector('#{operation} .result .status') !== null")).await;
    let part = async |what: &str| tab.text(&format!("#{operation} .result {what}")).await;
    (part(".status").await, part("[data-part=Headers]").await, part("[data-part=Body]").await)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_is_tried_in_the_sandbox_and_the_key_stays_in_the_page() {
    with_stack(|stack| async move {
        let key = stack.merchant().await.new.api_key.reveal().to_owned();
        let browser = Browser::start().await;
        let tab = browser.desktop().await;
        tab.open(&address(&stack, "")).await;
        open_form(&tab, "createPayment").await;
        let (status, headers, body) = send(&tab, "createPayment").await;
        assert_eq!(status, "401", "{body}");
        assert!(headers.contains("x-request-id: req_") && body.contains("API_KEY_MISSING"), "{body}");
        fill(&tab, "createPayment", "x-api-key", &key).await;
        let (status, _, body) = send(&tab, "createPayment").await;
        assert_eq!(status, "201", "{body}");
        let created: Value = serde_json::from_str(&body).unwrap();
        tab.view("docs-try", 1280).await;
        assert_eq!(tab.inaccessible().await, Vec::<String>::new());

        // The next form has the key already; an id goes into the path.
        open_form(&tab, "readPayment").await;
        fill(&tab, "readPayment", "id", created["payment_id"].as_str().unwrap()).await;
        let (status, _, body) = send(&tab, "readPayment").await;
        assert_eq!(status, "200", "{body}");
        open_form(&tab, "listPayments").await;
        fill(&tab, "listPayments", "limit", "1").await;
        let (_, _, body) = send(&tab, "listPayments").await;
        assert!(body.contains("\"limit\": 1,"), "{body}");

        let kept = tab.eval("JSON.stringify([location.href, document.cookie, {...localStorage}, {...sessionStorage}])").await;
        assert!(!kept.as_str().unwrap().contains(&key), "{kept}");
        assert!(tab.requests().iter().all(|url| !url.contains(&key)));
        tab.open(&address(&stack, "?again")).await;
        open_form(&tab, "readBalance").await;
        let left = tab.eval("document.querySelector('[data-try-key]').value").await;
        assert_eq!(left, "");
        assert_eq!(tab.complaints().await, Vec::<String>::new());
    })
    .await;
}
