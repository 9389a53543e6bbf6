//! Passkeys in Chromium, with the virtual authenticator of its protocol; and the pages of accounts
//! and teams, looked at.

use gateway::account::Role;
use serde_json::json;
use support::client::browser::{Browser, Tab};

use super::{
    PASSWORD,
    pages::{at, fill, inspect},
    with_desk,
};

async fn plug_in(tab: &Tab) -> serde_json::Value {
    tab.call("WebAuthn.enable", json!({ "enableUI": false })).await;
    let options = json!({
        "protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true,
        "isUserVerified": true, "automaticPresenceSimulation": true,
    });
    tab.call("WebAuthn.addVirtualAuthenticator", json!({ "options": options })).await["authenticatorId"].clone()
}

/// Keeps what the page's script sends, before it does.
async fn keep_answers(tab: &Tab) {
    let keep = "const send = HTMLFormElement.prototype.submit; \
        HTMLFormElement.prototype.submit = function () { \
        sessionStorage.setItem('answer', JSON.stringify([...new FormData(this)])); send.call(this); }";
    tab.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": keep })).await;
}

async fn sign_out(tab: &Tab) {
    tab.click("form[data-action=\"session.close\"] button").await;
    at(tab, "/sign-in").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_adds_a_passkey_signs_in_with_it_and_its_answer_counts_once() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let origin = desk.gateway.config.dashboard_url.clone();
        let id = Some(merchant.new.id);
        let made = desk.gateway.create_account("o@example.com", Role::Owner, id).await.unwrap();
        let browser = Browser::start().await;
        let tab = browser.desktop().await;
        let authenticator = plug_in(&tab).await;
        keep_answers(&tab).await;
        tab.open(&made.url).await;
        fill(&tab, "#password", PASSWORD).await;
        tab.click("form[data-action=\"session.open\"] button").await;
        at(&tab, "/account").await;
        inspect(&tab, "account-new").await;

        tab.click("form[data-action=\"passkey.add\"] button").await;
        at(&tab, "/account/passkeys").await;
        tab.shows("document.querySelector('[data-passkeys]').hidden === false").await;
        inspect(&tab, "passkey").await;
        fill(&tab, "#name", "Laptop").await;
        tab.click("form[data-action=\"passkey.add\"] button").await;
        at(&tab, "/account/passkeys/add").await;
        assert_eq!(tab.eval("document.querySelectorAll('.codes li').length").await, json!(10));
        inspect(&tab, "recovery").await;
        let credentials = json!({ "authenticatorId": authenticator });
        let held = tab.call("WebAuthn.getCredentials", credentials).await;
        assert_eq!(held["credentials"].as_array().map(Vec::len), Some(1), "{held}");
        tab.open(&format!("{origin}/account")).await;
        inspect(&tab, "account-passkey").await;
        // The same device again: the browser itself says so.
        tab.click("form[data-action=\"passkey.add\"] button").await;
        at(&tab, "/account/passkeys").await;
        tab.click("form[data-action=\"passkey.add\"] button").await;
        tab.shows("document.querySelector('[data-problem]').textContent.includes('already')").await;

        sign_out(&tab).await;
        inspect(&tab, "sign-in-passkey").await;
        tab.click("form[data-passkey] button").await;
        at(&tab, "/").await;
        assert!(tab.has("header.top").await);

        // As a fresh proof.
        let stale = "update account_session set confirmed_at = now() - interval '6 minutes'";
        desk.stack.sql(stale).await;
        tab.open(&format!("{origin}/account/confirm?for=key.rotate")).await;
        inspect(&tab, "confirm-passkey").await;
        tab.click("form[data-passkey] button").await;
        at(&tab, "/developers").await;

        // The answer of a sign-in, sent again by its own browser.
        sign_out(&tab).await;
        tab.click("form[data-passkey] button").await;
        at(&tab, "/").await;
        sign_out(&tab).await;
        let replay = "(() => { const form = document.querySelector('form[data-passkey]'); \
            for (const [name, value] of JSON.parse(sessionStorage.getItem('answer'))) form.elements[name].value = value; \
            form.submit(); return true; })()";
        tab.shows("document.querySelector('form[data-passkey] [name=signature]') !== null").await;
        tab.eval(replay).await;
        tab.shows("document.body.textContent.includes('This passkey was not accepted')").await;
        assert!(!tab.has("header.top").await, "the replay signed in");

        // As the second factor behind the password.
        fill(&tab, "#email", "o@example.com").await;
        fill(&tab, "#password", PASSWORD).await;
        tab.click("form[action=\"/sign-in\"] button").await;
        at(&tab, "/sign-in/code").await;
        inspect(&tab, "code-passkey").await;
        tab.click("form[data-passkey] button").await;
        at(&tab, "/").await;
        // An authenticator that does not know its user is not let in.
        let unverified = json!({ "authenticatorId": authenticator, "isUserVerified": false });
        tab.call("WebAuthn.setUserVerified", unverified).await;
        sign_out(&tab).await;
        tab.click("form[data-passkey] button").await;
        tab.shows("!document.querySelector('[data-problem]').hidden").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_teams_pages_are_legible_accessible_and_fit_a_phone() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let origin = desk.gateway.config.dashboard_url.clone();
        let id = Some(merchant.new.id);
        desk.invited(
            "a.rather.long.address.of.a.developer@shop.example",
            Role::Developer,
            Some(&merchant),
        )
        .await;
        desk.gateway.create_account("waits@shop.example", Role::Finance, id).await.unwrap();
        desk.gateway.create_account("o@shop.example", Role::Owner, id).await.unwrap();
        desk.gateway.create_account("o@shop.example", Role::Admin, None).await.unwrap();
        let browser = Browser::start().await;
        let tab = browser.desktop().await;
        tab.open(&desk.gateway.create_sign_in_link("o@shop.example").await.unwrap()).await;
        tab.click("form[data-action=\"session.open\"] button").await;
        tab.shows("!location.pathname.startsWith('/sign-in')").await;
        for (name, path) in [("team", "/team"), ("operators", "/operator/accounts")] {
            tab.open(&format!("{origin}{path}")).await;
            inspect(&tab, name).await;
        }
        tab.open(&format!("{origin}/team")).await;
        fill(&tab, "#email", "new@shop.example").await;
        tab.click("form[data-action=\"team.invite\"] button").await;
        tab.shows("document.querySelector('code.once') !== null").await;
        inspect(&tab, "invited").await;
        let url = tab.text("code.once").await;
        let stranger = browser.desktop().await;
        stranger.open(&url).await;
        inspect(&stranger, "invitation-team").await;
    })
    .await;
}
