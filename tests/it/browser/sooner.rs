//! A page that is looked at knows of a change at once, and holds no connection when it is not.

use std::time::Duration;

use serde_json::json;
use support::{client::browser::Tab, server::broker::eventually, shop::Shop};

use super::{keep, page, with_browser};

/// From the commit to the page, by the page's own clock, which is that of the test.
const GOAL: Duration = Duration::from_millis(500);
/// Of the other tests on the same cores.
const SLACK: Duration = Duration::from_millis(1500);
const COMMITS: usize = 5;
/// Notes the moment at which the page shows another phase.
const NOTE: &str = "new MutationObserver(() => {
    const phase = document.querySelector('#checkout')?.dataset.phase;
    if (phase && phase !== 'paying') window.changedAt ??= Date.now();
}).observe(document, { subtree: true, childList: true })";

#[expect(clippy::disallowed_methods, reason = "compared with the clock of a browser")]
fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

async fn held(shop: &Shop, pages: usize) {
    eventually(&format!("{pages} pages wait"), async || {
        (shop.stack.gateway.followers() == pages).then_some(())
    })
    .await;
}

async fn opened(shop: &Shop, tab: &Tab) -> String {
    let id = shop.invoice().await;
    tab.open(&page(shop, &id)).await;
    tab.phase("paying").await;
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_in_sight_knows_of_a_commit_within_half_a_second() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        tab.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": NOTE })).await;
        let mut took = Vec::new();
        for _ in 0..COMMITS {
            let id = opened(&shop, &tab).await;
            held(&shop, 1).await;
            let before = now_ms();
            shop.stack.gateway.cancel_invoice(&id).await.unwrap();
            let committed = now_ms();
            tab.phase("cancelled").await;
            let seen = tab.eval("window.changedAt").await.as_u64().unwrap();
            assert!(seen >= before, "the clocks are one");
            took.push(seen.saturating_sub(committed));
        }
        keep("checkout-sooner.json", &json!({ "commit_to_page_ms": took }).to_string());
        println!("{took:?} ms");
        let fastest = took.iter().min().copied().map(Duration::from_millis).unwrap();
        let slowest = took.iter().max().copied().map(Duration::from_millis).unwrap();
        assert!(fastest < GOAL, "{took:?} ms");
        assert!(slowest < GOAL + SLACK, "{took:?} ms: each is sooner than a poll of three seconds");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_said_to_be_seen_and_paid_as_soon_as_it_is() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        tab.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": NOTE })).await;
        let id = opened(&shop, &tab).await;
        held(&shop, 1).await;
        shop.pay(&id, "100").await;
        tab.phase("paid").await;
        let seen = tab.eval("window.changedAt").await.as_u64().unwrap();
        let status = shop.stack.gateway.buyer_status(&id).await.unwrap().unwrap();
        // The transaction began then, and was committed a little later.
        let begun = u64::try_from(status.updated_at.timestamp_millis()).unwrap();
        let took = Duration::from_millis(seen.saturating_sub(begun));
        assert!(took < GOAL + SLACK, "{took:?}");
        held(&shop, 0).await;
    })
    .await;
}

/// One browser opens six connections to a host.
#[tokio::test(flavor = "multi_thread")]
async fn hidden_tabs_hold_nothing_and_many_windows_leave_room_for_others() {
    with_browser(|shop, browser| async move {
        let first = browser.phone().await;
        opened(&shop, &first).await;
        held(&shop, 1).await;
        let empty = first.beside().await;
        empty.front().await;
        held(&shop, 0).await;
        first.front().await;
        held(&shop, 1).await;
        // As in windows of their own, which are all in sight.
        let seen = "Object.defineProperty(document, 'hidden', { get: () => false })";
        let mut tabs = Vec::new();
        for _ in 0..7 {
            let tab = first.beside().await;
            tab.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": seen })).await;
            tab.front().await;
            opened(&shop, &tab).await;
            tab.until_answers("/status", 1).await;
            tabs.push(tab);
        }
        held(&shop, 3).await;
    })
    .await;
}

/// A slow machine runs the script long after the answer has come.
#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_starts_late_counts_from_the_answer() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let late = |seconds: u32| {
            let source = format!(
                "{{ const now = performance.now.bind(performance); \
                 performance.now = () => now() + {}; }}",
                seconds * 1000
            );
            json!({ "source": source })
        };
        tab.call("Page.addScriptToEvaluateOnNewDocument", late(300)).await;
        // The first answer of the status would set the clock right.
        tab.call("Network.setBlockedURLs", json!({ "urls": ["*/status*"] })).await;
        opened(&shop, &tab).await;
        tab.shows("/^2[45]:[0-5][0-9]$/.test(document.querySelector('#countdown').textContent)")
            .await;

        let tab = browser.phone().await;
        tab.call("Page.addScriptToEvaluateOnNewDocument", late(5)).await;
        let back = format!("http://{}/docs", shop.stack.api);
        let id = shop.invoice_of(json!({ "cancel_url": back })).await;
        shop.stack.gateway.cancel_invoice(&id).await.unwrap();
        let still = json!({ "source": "window.setInterval = () => 1" });
        tab.call("Page.addScriptToEvaluateOnNewDocument", still).await;
        tab.open(&page(&shop, &id)).await;
        tab.shows("!document.querySelector('#leaving').hidden").await;
        let left = tab.text("#leaving-left").await.parse::<u32>().unwrap();
        assert!((23..=25).contains(&left), "{left} seconds of thirty are left");
    })
    .await;
}
