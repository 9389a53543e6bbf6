//! A buyer's connection fails and recovers; the page continues by itself.

use std::time::Duration;

use gateway::merchant::settings::Settings;
use serde_json::json;
use support::{client::browser::Browser, shop::with_configured_shop};

use super::{page, with_browser};

#[tokio::test(flavor = "multi_thread")]
async fn the_page_shows_a_lost_connection_and_catches_up_afterwards() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let id = shop.invoice().await;
        tab.open(&page(&shop, &id)).await;
        tab.phase("paying").await;
        let offline = |offline: bool| {
            json!({ "offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1 })
        };
        tab.call("Network.emulateNetworkConditions", offline(true)).await;
        tab.shows("document.querySelector('#offline').textContent.includes('connection is lost')").await;
        tab.picture("offline", 360).await;
        // Everything needed to pay stays on the page.
        assert!(tab.has("#address").await);
        shop.pay(&id, "100").await;
        shop.webhook_about(&id, 1).await;
        tab.call("Network.emulateNetworkConditions", offline(false)).await;
        tab.phase("paid").await;
        assert_eq!(tab.text("#offline").await, "");
    })
    .await;
}

/// A tab that was hidden, as while the buyer was in the wallet, is current the moment it is shown.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_in_a_background_tab_is_current_when_shown_again() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let id = shop.invoice().await;
        tab.open(&page(&shop, &id)).await;
        tab.phase("paying").await;
        let wallet = tab.beside().await;
        wallet.front().await;
        tab.shows("document.hidden").await;
        shop.pay(&id, "100").await;
        shop.webhook_about(&id, 1).await;
        let looked = std::time::Instant::now();
        tab.front().await;
        tab.phase("paid").await;
        assert!(looked.elapsed() < Duration::from_secs(2), "{:?}", looked.elapsed());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_obeys_retry_after() {
    with_configured_shop("", Settings::default(), |shop| async move {
        let id = shop.invoice().await;
        let status = format!("/v1/invoices/{id}/status");
        for _ in 0..60 {
            assert_eq!(shop.stack.buyer().get(&status).await.status, 200);
        }
        let tab = Browser::start().await;
        let tab = tab.phone().await;
        tab.open(&page(&shop, &id)).await;
        tab.until_answers("/status", 1).await;
        // Twice the usual pause; Retry-After said a minute.
        tokio::time::sleep(Duration::from_secs(7)).await;
        assert_eq!(tab.answers("/status"), [429]);
        assert_eq!(tab.text("#offline").await, "");
    })
    .await;
}
