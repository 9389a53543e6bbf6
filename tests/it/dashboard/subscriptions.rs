//! Subscriptions: listed by state and page by page, each with its invoices, cancelled.

use gateway::{account::Role, invoice::Status};
use http::Method;
use serde_json::{Value, json};
use support::{
    client::browser::Browser,
    shop::{Shop, with_shop},
};

use super::{Desk, pages};

/// A subscription of `email` whose first cycle is paid, as the API shows it.
async fn subscribed(shop: &Shop, link_id: &str, email: &str) -> Value {
    let buyer = shop.stack.buyer();
    let body = format!("email={}", email.replace('@', "%40"));
    let sent = buyer.send(Method::POST, &format!("/l/{link_id}"), &body).await;
    assert_eq!(sent.status, 303, "{}", sent.body);
    let location = sent.header("location").unwrap();
    let payment = location.strip_prefix("/pay/").unwrap().split('?').next().unwrap();
    let choice = json!({ "token_id": "usdtmatic@polygon" });
    let path = format!("/api/pay/{payment}/select");
    assert_eq!(buyer.post(&path, &choice).await.status, 200);
    let due = shop.payment(payment).await["pay_amount"].to_string();
    shop.pay(payment, &due).await;
    shop.becomes(payment, Status::Paid).await;
    let list = shop.merchant.client.get("/v1/subscriptions").await.json();
    let mut found = list["data"].as_array().unwrap().iter();
    let mut one = found.find(|one| one["subscriber_email"] == email).unwrap().clone();
    one["payment_id"] = json!(payment);
    one
}

async fn link(shop: &Shop) -> String {
    let body = json!({
        "type": "subscription", "title": "Coffee club", "price_amount": 10, "price_currency": "usd", "interval": "month",
        "accepted": ["usdtmatic@polygon"], "ipn_callback_url": shop.receiver.url,
    });
    let made = shop.merchant.client.post("/v1/links", &body).await;
    made.json()["link_id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn subscriptions_are_listed_by_state_told_and_cancelled_by_those_who_may() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        shop.stack.lift_rate_limits().await;
        let (gateway, address) = shop.stack.dashboard("").await;
        let desk = Desk { stack: shop.stack.clone(), gateway, address };
        let link = link(&shop).await;
        let ada = subscribed(&shop, &link, "ada@example.com").await;
        subscribed(&shop, &link, "bob@example.com").await;
        let id = ada["subscription_id"].as_str().unwrap();
        let path = format!("/subscriptions/{id}");
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&shop.merchant)).await;
        let listed = owner.get("/subscriptions").await.body;
        assert!(listed.contains("ada@example.com") && listed.contains("bob@example.com"));
        assert!(listed.contains("10 USD every month"), "{listed}");
        let page = owner.get(&path).await.body;
        let payment = ada["payment_id"].as_str().unwrap();
        for text in [payment, &link, "subscription.cancel", "None was sent yet"] {
            assert!(page.contains(text), "{text}: {page}");
        }
        let advance = json!({ "subscription_id": id, "days": 29 });
        assert_eq!(shop.merchant.client.post("/v1/sandbox/advance", &advance).await.status, 200);
        shop.webhook(3).await;
        let page = owner.get(&path).await.body;
        assert!(page.contains("3 days before"), "{page}");

        let mut viewer = desk.signed_in("v@example.com", Role::Viewer, Some(&shop.merchant)).await;
        assert!(!viewer.get(&path).await.body.contains("subscription.cancel"));
        assert_eq!(viewer.post(&format!("{path}/cancel"), &[]).await.status, 403);
        let other = desk.merchant().await;
        let mut stranger = desk.signed_in("x@example.com", Role::Owner, Some(&other)).await;
        assert_eq!(stranger.get(&path).await.status, 404);
        assert!(!stranger.get("/subscriptions").await.body.contains("ada@example.com"));
        assert_eq!(stranger.post(&format!("{path}/cancel"), &[]).await.status, 404);

        assert_eq!(owner.post(&format!("{path}/cancel"), &[]).await.status, 303);
        let read = shop.merchant.client.get(&format!("/v1/subscriptions/{id}")).await.json();
        assert_eq!(read["state"], "cancelled");
        assert!(!owner.get(&path).await.body.contains("subscription.cancel"));
        let acts = desk.gateway.audit(Some(id), None).await.unwrap();
        assert!(acts.iter().any(|entry| entry.act == "cancel"), "{acts:?}");
        for (state, ada, bob) in
            [("active", false, true), ("cancelled", true, false), ("ended", false, false)]
        {
            let listed = owner.get(&format!("/subscriptions?state={state}")).await.body;
            assert_eq!(listed.contains("ada@example.com"), ada, "{state}");
            assert_eq!(listed.contains("bob@example.com"), bob, "{state}");
        }
        for odd in ["?state=pending", "?state=x", "?older=x", "?newer=1-1", "/pzs_1"] {
            assert!(owner.get(&format!("/subscriptions{odd}")).await.status < 500, "{odd}");
        }
    })
    .await;
}

/// More than a page of them, which a filter keeps over its pages.
const MANY: &str = "
    insert into subscription (id, subscription_id, merchant_id, link_id, email, state, price_amount, price_currency,
        interval, interval_count, anchor, day_seconds, clock_origin, created_at)
    select gen_random_uuid(), 'pzs_' || lpad(n::text, 26, '0'), l.merchant_id, l.id, 's' || n || '@example.com',
           case when n % 2 = 0 then 'active' else 'ended' end, 10, 'usd', 'month', 1, now(), 86400, now(),
           now() - n * interval '1 minute'
    from generate_series(1, 120) n, link l";

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_goes_back_and_forth_and_its_pages_are_legible() {
    with_shop(|shop| async move {
        let (gateway, address) = shop.stack.dashboard("").await;
        let desk = Desk { stack: shop.stack.clone(), gateway, address };
        link(&shop).await;
        shop.stack.sql(MANY).await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&shop.merchant)).await;
        let (mut path, mut seen) = ("/subscriptions?state=ended".to_owned(), Vec::new());
        let next = |body: &str, rel: &str| {
            let (_, rest) = body.split_once(&format!("rel=\"{rel}\" href=\""))?;
            Some(rest.split('"').next()?.replace("&#38;", "&"))
        };
        let last = loop {
            let page = owner.get(&path).await.body;
            seen.extend((1..=120).filter(|n| page.contains(&format!(">s{n}@example.com<"))));
            match next(&page, "next") {
                Some(older) => path = older,
                None => break page,
            }
        };
        assert_eq!(seen, (1..=120).filter(|n| n % 2 == 1).collect::<Vec<_>>());
        let newer = next(&last, "prev").unwrap();
        let page = owner.get(&newer).await.body;
        assert!(
            page.contains(">s51@example.com<") && !page.contains(">s101@example.com<"),
            "{page}"
        );

        assert!(!owner.get("/").await.body.contains("past due"));
        let late = "update subscription set state = 'past_due' where email in ('s2@example.com', 's4@example.com')";
        shop.stack.sql(late).await;
        let overview = owner.get("/").await.body;
        assert!(overview.contains("2 subscriptions are past due"), "{overview}");
        assert!(overview.contains("/subscriptions?state=past_due"), "{overview}");

        let browser = Browser::start().await;
        let tab = browser.desktop().await;
        pages::sign_in_by_link(&desk, &tab, "o@example.com", None).await;
        let origin = &desk.gateway.config.dashboard_url;
        tab.open(&format!("{origin}/subscriptions")).await;
        pages::inspect(&tab, "subscriptions").await;
        tab.click("tbody a").await;
        tab.shows("location.pathname.startsWith('/subscriptions/pzs_')").await;
        pages::inspect(&tab, "subscription").await;
    })
    .await;
}
