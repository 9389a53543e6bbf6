//! x402 for operators: the wallet, the limits, what waits, and the stop of settlements alone.

use gateway::account::Role;
use support::{client::browser::Browser, server::broker::eventually};

use super::{Desk, pages};
use crate::x402::scene::{CENT, with_scene};

const HERE: &str = "/operator/x402";
const HOSTILE: &str = "\"><img src=x onerror=alert(1)>";

#[tokio::test(flavor = "multi_thread")]
async fn settlements_are_stopped_by_an_operator_wait_and_go_on() {
    with_scene(|scene| async move {
        let (gateway, address) = scene.stack.dashboard("").await;
        let desk = Desk { stack: scene.stack.clone(), gateway, address };
        let mut admin = desk.signed_in("a@example.com", Role::Admin, None).await;
        let mut support = desk.signed_in("s@example.com", Role::Support, None).await;
        let page = eventually("the wallet was seen", async || {
            let page = support.get(HERE).await.body;
            page.contains("1 POL").then_some(page)
        })
        .await;
        assert!(page.to_lowercase().contains(&scene.gas), "{page}");
        assert!(page.contains("10000 USD") && page.contains("/operator/networks/polygon"));
        assert!(!page.contains("data-action=\"x402.stop\""), "support only looks");
        assert_eq!(support.post(&format!("{HERE}/stop"), &[("reason", "x")]).await.status, 403);

        let stop = format!("{HERE}/stop");
        admin.get(HERE).await;
        assert_eq!(admin.post(&stop, &[("reason", " ")]).await.status, 422);
        let stopped = admin.post(&stop, &[("reason", HOSTILE)]).await;
        assert_eq!(stopped.header("location"), Some("/operator/x402?done=stopped"));
        let resource = scene.resource().await;
        let payer = scene.payer(7, 3 * CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        let waits = scene.settle(&request).await;
        assert_eq!(waits["success"], false, "{waits}");
        let page = admin.get(HERE).await.body;
        assert!(page.contains("not signed yet") && page.contains(&payer.address), "{page}");
        assert!(page.contains("&#60;img") && !page.contains("<img src=x"), "{page}");
        // The page of payouts shows the stop, and leads here to end it.
        let payouts = admin.get("/operator/payouts").await.body;
        assert!(payouts.contains("settlements of x402"), "{payouts}");
        assert!(payouts.contains("href=\"/operator/x402\""), "{payouts}");

        let resume = format!("{HERE}/resume");
        desk.stack.sql("update account_session set confirmed_at = null").await;
        let asked = admin.post(&resume, &[]).await;
        assert_eq!(asked.header("location"), Some("/account/confirm?for=x402.resume"));
        desk.stack.sql("update account_session set confirmed_at = now()").await;
        assert_eq!(admin.post(&resume, &[]).await.status, 303);
        assert_eq!(admin.post(&resume, &[]).await.status, 409, "it was not stopped");
        assert_eq!(scene.settle(&request).await["success"], true);
        let audit = desk.gateway.audit(Some("x402"), None).await.unwrap();
        let noted: Vec<_> = audit.iter().filter(|e| e.subject_kind == "payout_stop").collect();
        let acts: Vec<_> = noted.iter().map(|entry| entry.act.as_str()).collect();
        assert_eq!(acts, ["delete", "insert"]);
        assert!(noted.iter().all(|entry| entry.operator == "a@example.com"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operators_page_of_x402_is_legible_and_fits_a_phone() {
    with_scene(|scene| async move {
        let (gateway, address) = scene.stack.dashboard("").await;
        let desk = Desk { stack: scene.stack.clone(), gateway, address };
        desk.gateway.create_account("a@example.com", Role::Admin, None).await.unwrap();
        desk.gateway.stop_payouts("x402", HOSTILE).await.unwrap();
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        scene.settle(&request).await;
        let browser = Browser::start().await;
        let tab = browser.desktop().await;
        pages::sign_in_by_link(&desk, &tab, "a@example.com", None).await;
        let origin = &desk.gateway.config.dashboard_url;
        tab.open(&format!("{origin}{HERE}")).await;
        pages::inspect(&tab, "operator-x402").await;
        tab.click("form[data-action=\"x402.resume\"] button").await;
        tab.shows("location.search === '?done=resumed'").await;
        pages::inspect(&tab, "operator-x402-on").await;
        pages::fill(&tab, "#reason", "a drill").await;
        tab.click("form[data-action=\"x402.stop\"] button").await;
        tab.shows("location.search === '?done=stopped'").await;
    })
    .await;
}
