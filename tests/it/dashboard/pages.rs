//! The pages in a browser: legible, accessible, narrow enough for a phone.

use gateway::{account::Role, invoice::Status};
use serde_json::json;
use support::{
    client::browser::{Browser, Tab},
    shop::{Shop, with_shop},
};

use super::{Desk, PASSWORD};

const HOSTILE: &str = "\"><img src=x onerror=alert(1)><script>alert(1)</script>";

/// Takes the page's picture light and dark, on a phone and in a window, and finds no problem.
pub(super) async fn inspect(tab: &Tab, name: &str) {
    for (width, scheme, suffix) in
        [(1280, "light", ""), (1280, "dark", "-dark"), (360, "dark", "-dark"), (360, "light", "")]
    {
        tab.resize(width).await;
        tab.scheme(scheme).await;
        tab.picture(&format!("dashboard-{name}{suffix}"), width).await;
        let found = if scheme == "dark" { tab.illegible().await } else { tab.inaccessible().await };
        assert_eq!(found, Vec::<String>::new(), "{name} {width} {scheme}");
    }
    let overflow = tab.eval("document.documentElement.scrollWidth - innerWidth").await;
    assert!(overflow.as_i64().unwrap() <= 0, "{name} is wider than 360 px by {overflow}");
    tab.resize(1280).await;
    assert_eq!(tab.complaints().await, Vec::<String>::new(), "{name}");
}

pub(super) async fn fill(tab: &Tab, selector: &str, text: &str) {
    let (selector, text) = (json!(selector), json!(text));
    // The page's address is there before its fields are.
    tab.shows(&format!("document.querySelector({selector}) !== null")).await;
    tab.eval(&format!("document.querySelector({selector}).value = {text}")).await;
}

pub(super) async fn at(tab: &Tab, path: &str) {
    let loaded = "document.readyState === 'complete'";
    tab.shows(&format!("location.pathname === {} && {loaded}", json!(path))).await;
}

pub(super) async fn sign_in_by_link(desk: &Desk, tab: &Tab, email: &str, name: Option<&str>) {
    tab.open(&desk.gateway.create_sign_in_link(email).await.unwrap()).await;
    if let Some(name) = name {
        inspect(tab, name).await;
    }
    tab.click("form[data-action=\"session.open\"] button").await;
    tab.shows("!location.pathname.startsWith('/sign-in')").await;
}

/// A shop with payments in every state that a page shows differently, and a dead letter.
async fn busy(shop: &Shop) -> (String, String) {
    let paid = shop.invoice_of(json!({ "order_id": HOSTILE, "order_description": HOSTILE })).await;
    shop.pay(&paid, "100").await;
    shop.becomes(&paid, Status::Paid).await;
    shop.delivery_becomes(&paid, "delivered").await;
    shop.receiver.answer(500);
    let dead = shop.invoice_of(json!({ "order_id": "A-2041" })).await;
    shop.pay(&dead, "100").await;
    shop.becomes(&dead, Status::Paid).await;
    shop.delivery_becomes(&dead, "dead").await;
    let part = shop.invoice().await;
    shop.pay(&part, "40").await;
    shop.becomes(&part, Status::Partial).await;
    let open = shop.invoice().await;
    shop.expired(json!({})).await;
    (dead, open)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_legible_accessible_and_fits_a_phone() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let (gateway, address) = shop.stack.dashboard("").await;
        let desk = Desk { stack: shop.stack.clone(), gateway, address };
        let (dead, open) = busy(&shop).await;
        let origin = desk.gateway.config.dashboard_url.clone();
        let browser = Browser::start().await;
        let tab = browser.desktop().await;

        tab.open(&format!("{origin}/sign-in")).await;
        inspect(&tab, "sign-in").await;
        let id = Some(shop.merchant.new.id);
        let made = desk.gateway.create_account("o@example.com", Role::Owner, id).await.unwrap();
        tab.open(&made.url).await;
        inspect(&tab, "invitation").await;
        fill(&tab, "#password", PASSWORD).await;
        tab.click("form[data-action=\"session.open\"] button").await;
        at(&tab, "/account").await;
        inspect(&tab, "account").await;
        tab.click("form[data-action=\"totp.begin\"] button").await;
        at(&tab, "/account/codes").await;
        inspect(&tab, "codes").await;
        assert!(tab.read_qr(".qr svg").await.starts_with("otpauth://totp/Gateway:o@example.com?"));
        let event = shop.delivery(&dead).await.0.event_id;
        for (name, path) in [
            ("overview", "/".to_owned()),
            ("payments", "/payments".to_owned()),
            ("found", format!("/payments?q={open}")),
            ("payment", format!("/payments/{dead}")),
            ("payment-open", format!("/payments/{open}")),
            ("events", "/events".to_owned()),
            ("event", format!("/events/{event}")),
            ("developers", "/developers".to_owned()),
            ("settings", "/settings".to_owned()),
            ("confirm", "/account/confirm?for=key.rotate".to_owned()),
            ("missing", "/payments/pzi_0".to_owned()),
            ("help", "/help".to_owned()),
        ] {
            tab.open(&format!("{origin}{path}")).await;
            inspect(&tab, name).await;
        }
        tab.open(&format!("{origin}/developers")).await;
        tab.click("form[data-action=\"key.rotate\"] button").await;
        at(&tab, "/developers/key").await;
        inspect(&tab, "key").await;

        desk.gateway.create_account("a@example.com", Role::Admin, None).await.unwrap();
        sign_in_by_link(&desk, &tab, "a@example.com", Some("link")).await;
        for (name, path) in [
            ("operator", "/operator".to_owned()),
            ("merchants", "/operator/merchants".to_owned()),
            ("merchant", format!("/operator/merchants/{}", shop.merchant.new.id)),
            ("dead-letters", "/operator/dead-letters".to_owned()),
            ("audit", "/operator/audit".to_owned()),
        ] {
            tab.open(&format!("{origin}{path}")).await;
            inspect(&tab, name).await;
        }
        // Three clicks: the section, the group's button, and nothing is left.
        shop.receiver.answer(200);
        tab.open(&format!("{origin}/operator/dead-letters")).await;
        tab.click("form[data-action=\"dead-letter.requeue\"] button").await;
        shop.delivery_becomes(&dead, "delivered").await;
        // The browser draws its own calendar in a field for dates, from data of its own.
        let is_elsewhere = |url: &String| !url.starts_with(&origin) && !url.starts_with("data:");
        let elsewhere: Vec<_> = tab.requests().into_iter().filter(is_elsewhere).collect();
        assert_eq!(elsewhere, Vec::<String>::new());
    })
    .await;
}

/// The menu of a phone, without a script, and every target large enough for a thumb (WCAG 2.5.8).
#[tokio::test(flavor = "multi_thread")]
async fn a_phone_reaches_every_section_by_the_menu() {
    with_shop(|shop| async move {
        let (gateway, address) = shop.stack.dashboard("").await;
        let desk = Desk { stack: shop.stack.clone(), gateway, address };
        let id = Some(shop.merchant.new.id);
        desk.gateway.create_account("o@example.com", Role::Owner, id).await.unwrap();
        let browser = Browser::start().await;
        let tab = browser.desktop().await;
        sign_in_by_link(&desk, &tab, "o@example.com", None).await;
        let shown = "getComputedStyle(document.querySelector('.side')).display";
        tab.shows(&format!("{shown} === 'block'")).await;
        tab.resize(360).await;
        tab.shows(&format!("{shown} === 'none'")).await;
        tab.click("details.menu summary").await;
        tab.view("dashboard-menu", 360).await;
        let small = "[...document.querySelectorAll('details.menu a, .top a, .top button')]
            .filter((one) => one.getBoundingClientRect().height < 24).length";
        assert_eq!(tab.eval(small).await, 0);
        tab.click("details.menu a[href=\"/settings\"]").await;
        at(&tab, "/settings").await;
        tab.shows("document.querySelector('details.menu')?.open === false").await;
        assert_eq!(tab.complaints().await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_renews_itself_finds_while_typing_copies_and_knows_two_keys() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let (gateway, address) = shop.stack.dashboard("").await;
        let desk = Desk { stack: shop.stack.clone(), gateway, address };
        let id = Some(shop.merchant.new.id);
        desk.gateway.create_account("o@example.com", Role::Owner, id).await.unwrap();
        let origin = desk.gateway.config.dashboard_url.clone();
        let browser = Browser::start().await;
        let tab = browser.desktop().await;
        sign_in_by_link(&desk, &tab, "o@example.com", None).await;

        tab.open(&format!("{origin}/payments")).await;
        let invoice = shop.invoice_of(json!({ "order_id": "A-1" })).await;
        let row = |id: &str| format!("!!document.querySelector('a[href=\"/payments/{id}\"]')");
        tab.shows(&row(&invoice)).await;
        let other = shop.invoice_of(json!({ "order_id": "B-2" })).await;
        tab.shows(&row(&other)).await;

        tab.press("/").await;
        assert_eq!(tab.eval("document.activeElement.id").await, "q");
        tab.write("A-1").await;
        tab.shows(&format!("{} && !{}", row(&invoice), row(&other))).await;
        tab.shows("location.search === '?q=A-1'").await;
        // Whoever writes is not disturbed, and a key that is part of a word does nothing.
        tab.write("/?").await;
        assert_eq!(tab.eval("document.querySelector('#q').value").await, "A-1/?");

        tab.open(&format!("{origin}/payments/{invoice}")).await;
        tab.allow("clipboardReadWrite").await;
        tab.shows("!!document.querySelector('h1 .copy')").await;
        tab.click("h1 .copy").await;
        tab.shows("document.querySelector('#said').textContent === 'Copied'").await;
        assert_eq!(tab.eval("navigator.clipboard.readText()").await, invoice.as_str());

        tab.press("?").await;
        at(&tab, "/help").await;
        tab.click("#keys").await;
        tab.press("/").await;
        let later = "new Promise((done) => setTimeout(() => done(location.pathname), 500))";
        assert_eq!(tab.eval(later).await, "/help");

        // The session ends: the page says so once, and asks no more.
        tab.open(&format!("{origin}/payments")).await;
        desk.stack.sql("update account_session set ended_at = now()").await;
        tab.shows("!document.querySelector('#ended').hidden").await;
    })
    .await;
}
