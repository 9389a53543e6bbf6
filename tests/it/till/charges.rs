//! Charges: each made once, shown until the next customer, on several devices at once.

use futures_util::future::join_all;
use gateway::invoice::Status;
use http::Method;
use serde_json::json;
use support::{server::stack::with_stack, shop::with_shop};

use super::{Device, count, till};

const INVOICES: &str = "select count(*) from invoice";

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_is_made_once_and_shown_until_the_next_customer() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let merchant = &shop.merchant.client;
        let changes = json!({ "ipn_callback_url": shop.receiver.url, "order_id": "till-1" });
        let id = till(merchant, changes).await;
        let mut device = Device::enrolled(&shop.stack, merchant, &id, "Counter").await;
        let keypad = device.page.clone();
        let payment = device.charge("12,50").await;
        let made = shop.payment(&payment).await;
        assert_eq!(made["invoice_type"], "pos");
        assert_eq!(
            (made["price_amount"].to_string(), &made["price_currency"]),
            ("12.5".into(), &json!("eur"))
        );
        assert_eq!(
            (&made["order_id"], &made["order_description"]),
            (&json!("till-1"), &json!("Harbour café"))
        );
        assert_eq!(made["pay_address"], json!(null), "a draft has no address");
        // A reload, and the same form again after a lost answer, come back to it.
        assert_eq!(device.look().await.status, 200);
        assert_eq!(device.shown().as_deref(), Some(&*payment));
        device.page.clone_from(&keypad);
        assert_eq!(device.charge("12,50").await, payment);
        // With another amount it is refused, with the charge that counts.
        device.page.clone_from(&keypad);
        let refused = device.post("/charge", &[("amount", "13,50")]).await;
        assert_eq!(refused.status, 409, "{}", refused.body);
        assert!(refused.body.contains("EUR\u{a0}12.50"), "{}", refused.body);
        device.look().await;
        assert_eq!(count(&shop.stack, INVOICES).await, 1);

        let chosen = device.post("/currency", &[("token_id", "usdtmatic@polygon")]).await;
        assert_eq!(chosen.status, 303, "{}", chosen.body);
        let page = device.look().await;
        let address = shop.payment(&payment).await["pay_address"].as_str().unwrap().to_owned();
        // A code of the simulated chain names no real network.
        assert!(page.body.contains("data-qr=\"address\"") && page.body.contains(&address[..4]));
        assert!(!page.body.contains("data-qr=\"uri\""), "{}", page.body);
        let state = device.send(Method::GET, "/state", "").await.json();
        assert!(page.body.contains(&format!("data-key=\"{}\"", state["key"].as_str().unwrap())));
        // It is not left behind while it can be paid.
        let refused = device.post("/next", &[("payment_id", &payment)]).await;
        assert_eq!(refused.status, 409, "{}", refused.body);

        let due = shop.payment(&payment).await["pay_amount"].to_string();
        shop.pay(&payment, &due).await;
        shop.becomes(&payment, Status::Paid).await;
        let now = device.send(Method::GET, "/state", "").await.json();
        assert_ne!(now, state, "the script sees the difference");
        let page = device.look().await.body;
        assert!(page.contains("data-phase=\"paid\"") && page.contains("till-paid"), "{page}");
        let ipn = shop.webhook_about(&payment, 1).await;
        assert_eq!(ipn["invoice_type"], "pos");
        assert_eq!(device.post("/next", &[]).await.status, 303);
        device.look().await;
        assert!(device.shows_keypad(), "{}", device.page);
        // The form of the first charge, from the browser's history, shows no charge and makes none.
        let fresh = device.page.clone();
        device.page.clone_from(&keypad);
        assert_eq!(device.post("/charge", &[("amount", "12,50")]).await.status, 303);
        device.look().await;
        assert!(device.shows_keypad(), "{}", device.page);
        // And with another amount a refusal whose form can be sent.
        device.page.clone_from(&keypad);
        let used = device.post("/charge", &[("amount", "13,50")]).await;
        assert_eq!(used.status, 409, "{}", used.body);
        let key = device.field("key");
        device.page = used.body;
        assert_ne!(device.field("key"), key);
        device.page = fresh;
        assert_ne!(device.charge("12,50").await, payment, "the next customer gets his own");
        assert_eq!(count(&shop.stack, INVOICES).await, 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_form_at_once_makes_one_charge_and_devices_do_not_share_theirs() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let id = till(&shop, json!({})).await;
        let mut one = Device::enrolled(&stack, &shop, &id, "One").await;
        let mut two = Device::enrolled(&stack, &shop, &id, "Two").await;
        let mut copies: Vec<_> = (0..6).map(|_| one.clone()).collect();
        let sent =
            join_all(copies.iter_mut().map(|copy| copy.post("/charge", &[("amount", "7")]))).await;
        for answer in sent {
            assert_eq!(answer.status, 303, "{}", answer.body);
        }
        assert_eq!(count(&stack, INVOICES).await, 1);
        one.look().await;
        let first = one.shown().unwrap();
        let second = two.charge("8").await;
        assert_ne!(first, second);
        one.look().await;
        assert_eq!(one.shown(), Some(first.clone()));
        // A second window of the first device cannot hide its charge behind another.
        let key = uuid::Uuid::now_v7().to_string();
        let refused = one.post("/charge", &[("amount", "9"), ("key", &key)]).await;
        assert_eq!(refused.status, 409);
        assert!(refused.body.contains(&first), "{}", refused.body);
        // Nor does a form about another charge choose a currency or cancel this one.
        let other = [("payment_id", second.as_str()), ("token_id", "usdtmatic@polygon")];
        assert_eq!(one.post("/currency", &other).await.status, 303);
        one.look().await;
        assert!(one.page.contains("data-phase=\"choosing\""), "{}", one.page);
        assert_eq!(one.post("/cancel", &[("payment_id", &second)]).await.status, 303);
        two.look().await;
        assert_eq!(two.shown(), Some(second.clone()));
        assert_eq!(one.post("/cancel", &[]).await.status, 303);
        one.look().await;
        assert!(one.shows_keypad());
        let read = |id: String| {
            let shop = shop.clone();
            async move { shop.get(&format!("/v1/payment/{id}")).await.json()["payment_status"].clone() }
        };
        assert_ne!(read(first).await, read(second).await, "one is cancelled, the other waits");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn amounts_obey_the_link_and_a_refused_form_keeps_its_key() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        let id = till(&shop, json!({ "min_amount": 2, "max_amount": 500 })).await;
        let mut device = Device::enrolled(&stack, &shop, &id, "Counter").await;
        let key = device.field("key").unwrap();
        for amount in ["", "0", "1,000", "-5", "1.99", "500.01", "abc", "<script>alert(1)</script>"]
        {
            let refused = device.post("/charge", &[("amount", amount)]).await;
            assert_eq!(refused.status, 400, "{amount}: {}", refused.body);
            assert!(refused.body.contains("role=\"alert\""), "{amount}: {}", refused.body);
            assert!(refused.body.contains(&key) && !refused.body.contains("<script>alert"));
        }
        // The keypad without scripts: a post for each key, which charges nothing.
        let mut amount = String::new();
        for press in ["1", "2", ".", "5", "0", "7", "back"] {
            let page = device.post("/keypad", &[("amount", &amount), ("press", press)]).await;
            assert_eq!(page.status, 200, "{}", page.body);
            device.page = page.body;
            let (_, rest) = device.page.split_once("dir=\"ltr\" value=\"").unwrap();
            amount = rest.split('"').next().unwrap().to_owned();
        }
        assert_eq!(amount, "12.5");
        assert_eq!(device.field("key").unwrap(), key);
        assert_eq!(count(&stack, INVOICES).await, 0);
        // The form of a keypad that is older than the till's currency.
        let stale = device.post("/charge", &[("amount", "5"), ("currency", "usd")]).await;
        assert_eq!(stale.status, 409, "{}", stale.body);
        assert_eq!(count(&stack, INVOICES).await, 0);
        device.charge("12.").await;
        assert_eq!(count(&stack, "select count(*) from invoice where price_amount = 12").await, 1);
        // A form without the page's token, as another site would send it, does nothing.
        for action in ["/charge", "/currency", "/cancel", "/next", "/lock"] {
            let refused = device.post(action, &[("token", "x"), ("amount", "5")]).await;
            assert_eq!(refused.status, 403, "{action}");
        }
        device.look().await;
        assert!(device.shown().is_some());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_currency_is_chosen_at_once_and_a_till_that_is_off_charges_nothing() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let id = till(&shop, json!({ "accepted": ["usdtmatic@polygon"] })).await;
        let mut device = Device::enrolled(&stack, &shop, &id, "Counter").await;
        let payment = device.charge("20").await;
        assert!(device.page.contains("data-phase=\"paying\""), "{}", device.page);
        let path = format!("/v1/links/{id}");
        let off = shop.send(Method::PATCH, &path, &json!({ "active": false }).to_string()).await;
        assert_eq!(off.status, 200);
        // The charge that is open stays.
        device.look().await;
        assert_eq!(device.shown(), Some(payment));
        assert_eq!(device.post("/cancel", &[]).await.status, 303);
        let page = device.look().await.body;
        assert!(page.contains("switched off") && !page.contains("name=\"amount\""), "{page}");
        let key = uuid::Uuid::now_v7().to_string();
        device.post("/charge", &[("amount", "5"), ("key", &key)]).await;
        assert_eq!(count(&stack, INVOICES).await, 1);
        // Its quota is the link's own.
        let body = json!({ "price_amount": 25, "price_currency": "usd", "pay_currency": "all" });
        assert_eq!(shop.post("/v1/payment", &body).await.status, 201);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_have_the_checkout_s_headers_and_a_manifest_that_installs_them() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let title = "\"><script>alert(1)</script>";
        let id = till(&shop, json!({ "title": title })).await;
        let mut device = Device::enrolled(&stack, &shop, &id, title).await;
        for action in ["", "/day", "/enrol/k7m2-9qxt-4c0d"] {
            let page = device.send(Method::GET, action, "").await;
            assert_eq!(page.status, 200, "{action}");
            assert_eq!(page.header("cache-control"), Some("no-store"));
            assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
            let policy = page.header("content-security-policy").unwrap();
            for part in ["default-src 'none'", "manifest-src 'self'", "frame-ancestors 'none'"] {
                assert!(policy.contains(part), "{policy}");
            }
            assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
            for forbidden in ["<script>alert", " style=", " onclick"] {
                assert!(!page.body.contains(forbidden), "{forbidden}: {}", page.body);
            }
        }
        let page = device.send(Method::GET, "?lang=ar", "").await.body;
        assert!(
            page.contains("dir=\"rtl\"") && page.contains(&format!("/pos/{id}/charge?lang=ar"))
        );
        let manifest = device.send(Method::GET, "/app.webmanifest?lang=de", "").await;
        assert_eq!(manifest.header("content-type"), Some("application/manifest+json"));
        let manifest = manifest.json();
        assert_eq!(manifest["name"], title);
        assert_eq!(manifest["start_url"], format!("/pos/{id}?lang=de"));
        assert_eq!((&manifest["display"], &manifest["lang"]), (&json!("standalone"), &json!("de")));
        let icon = manifest["icons"][0]["src"].as_str().unwrap().to_owned();
        assert_eq!(stack.buyer().get(&icon).await.status, 200);
        // A cookie that was planted beside the device's own makes both void.
        let (name, _) = device.cookies[0].clone();
        let mut planted = device.clone();
        planted.cookies.push((name, "0".repeat(64)));
        assert!(planted.look().await.body.contains("data-key=\"unknown\""));
        let page = device.look().await.body;
        assert!(device.shows_keypad(), "{page}");
    })
    .await;
}
