//! Devices of a till: enrolled by a code that is shown once, listed, revoked.

use gateway::account::Role;
use http::Method;
use serde_json::json;
use support::client::browser::Browser;

use super::{between, pages, with_desk};

fn till() -> serde_json::Value {
    json!({ "type": "pos", "title": "Harbour café", "price_currency": "eur", "time_zone": "Europe/Berlin" })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_device_is_enrolled_by_a_code_that_is_shown_once_and_revoked() {
    with_desk(|desk| async move {
        let (merchant, other) = (desk.merchant().await, desk.merchant().await);
        let link = merchant.client.post("/v1/links", &till()).await.json();
        let id = link["link_id"].as_str().unwrap();
        let path = format!("/links/{id}");
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        let page = owner.get(&path).await.body;
        assert!(page.contains("Europe/Berlin") && page.contains("device.enrol"), "{page}");
        assert!(page.contains(&format!("/pos/{id}")) && !page.contains("button.svg"), "{page}");
        for name in ["", " \u{200b}"] {
            let refused = owner.post(&format!("{path}/devices"), &[("name", name)]).await;
            assert_eq!(refused.status, 409, "{}", refused.body);
        }
        let name = "\"><script>alert(1)</script>";
        let once = owner.post(&format!("{path}/devices"), &[("name", name)]).await;
        assert_eq!(once.status, 200, "{}", once.body);
        assert!(!once.body.contains("<script>alert"), "{}", once.body);
        let code = between(&once.body, "<code class=\"once\">", "</code>").to_owned();
        assert!(once.body.contains(&format!("/pos/{id}/enrol/{code}")), "{}", once.body);
        let page = owner.get(&path).await.body;
        assert!(page.contains("waiting") && !page.contains(&code), "{page}");

        // The code works on the till's page.
        let body = format!("code={code}&pin=2580&pin_again=2580");
        let enrol = format!("/pos/{id}/enrol");
        let sent = desk.stack.buyer().send(Method::POST, &enrol, &body).await;
        assert_eq!(sent.status, 303, "{}", sent.body);
        assert!(owner.get(&path).await.body.contains("enrolled"));

        let devices = merchant.client.get(&format!("/v1/links/{id}/devices")).await.json();
        let device = devices["data"][0]["device_id"].as_str().unwrap().to_owned();
        let revoke = format!("{path}/devices/{device}/revoke");
        let mut viewer = desk.signed_in("v@example.com", Role::Viewer, Some(&merchant)).await;
        let page = viewer.get(&path).await.body;
        assert!(page.contains("enrolled") && !page.contains("device.revoke"), "{page}");
        assert_eq!(viewer.post(&revoke, &[]).await.status, 403);
        let mut stranger = desk.signed_in("x@example.com", Role::Owner, Some(&other)).await;
        stranger.get("/links").await;
        assert_eq!(stranger.post(&revoke, &[]).await.status, 404);
        assert_eq!(stranger.post(&format!("{path}/devices"), &[("name", "x")]).await.status, 404);
        assert_eq!(owner.post(&revoke, &[]).await.status, 303);
        assert!(owner.get(&path).await.body.contains("revoked"));
        let acts = desk.gateway.audit(Some(&device), None).await.unwrap();
        let acts: Vec<_> = acts.iter().map(|entry| entry.act.as_str()).collect();
        assert_eq!(acts, ["revoke", "enrol"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_of_a_till_s_devices_are_legible_and_their_code_can_be_scanned() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let link = merchant.client.post("/v1/links", &till()).await.json();
        let id = link["link_id"].as_str().unwrap();
        let owner = Some(merchant.new.id);
        desk.gateway.create_account("o@example.com", Role::Owner, owner).await.unwrap();
        let browser = Browser::start().await;
        let tab = browser.desktop().await;
        pages::sign_in_by_link(&desk, &tab, "o@example.com", None).await;
        tab.open(&format!("{}/links/{id}", desk.gateway.config.dashboard_url)).await;
        pages::fill(&tab, "#name", "Counter 1").await;
        tab.click("form[data-action=\"device.enrol\"] button").await;
        tab.shows("document.querySelector('code.once') !== null").await;
        pages::inspect(&tab, "till-code").await;
        let code = tab.text("code.once").await;
        let scanned = tab.read_qr(".qr svg").await;
        assert!(scanned.ends_with(&format!("/pos/{id}/enrol/{code}")), "{scanned}");
        tab.click("a.button.primary").await;
        tab.shows("document.querySelector('#devices') !== null").await;
        pages::inspect(&tab, "till-devices").await;
    })
    .await;
}
