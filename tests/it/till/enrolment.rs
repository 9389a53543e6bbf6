//! Codes and PINs: each code once, few tries, and nothing for those who have neither.

use futures_util::future::join_all;
use gateway::app::messaging::sweep::SweepMemory;
use http::Method;
use serde_json::json;
use support::server::stack::with_stack;

use super::{Device, PIN, code, count, till};

#[tokio::test(flavor = "multi_thread")]
async fn a_code_enrols_one_browser_within_its_time() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        let (id, other) = (till(&shop, json!({})).await, till(&shop, json!({})).await);
        let (one, _) = code(&shop, &id, "Counter").await;
        // A GET, as of a camera that looks ahead, uses nothing up.
        let mut device = Device::new(&stack, &id);
        let page = device.send(Method::GET, &format!("/enrol/{one}"), "").await;
        assert!(page.status == 200 && page.body.contains(&one), "{}", page.body);
        // A code of another till is none.
        let mut lost = Device::new(&stack, &other);
        assert_eq!(lost.enrol(&one, PIN).await.status, 403);
        for (pin, again, status) in
            [("1234", "1234", 400), ("25", "25", 400), (PIN, "2581", 400), ("pins", "pins", 400)]
        {
            let fields = [("code", one.as_str()), ("pin", pin), ("pin_again", again)];
            let refused = device.post("/enrol", &fields).await;
            assert_eq!(refused.status, status, "{pin}");
            assert!(refused.body.contains("role=\"alert\""), "{}", refused.body);
        }
        let mut rivals = [Device::new(&stack, &id), Device::new(&stack, &id)];
        let typed = one.to_uppercase().replace('-', " ");
        let sent = join_all(rivals.iter_mut().map(|rival| rival.enrol(&typed, PIN))).await;
        let mut statuses: Vec<_> = sent.iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [303, 403], "of two at once one is enrolled");
        let (late, _) = code(&shop, &id, "Late").await;
        stack.sql("update till_device set code_expires_at = now() where enrolled_at is null").await;
        assert_eq!(Device::new(&stack, &id).enrol(&late, PIN).await.status, 403);
        let path = format!("/v1/links/{id}/devices");
        // After those in use.
        let listed = shop.get(&path).await.json();
        assert_eq!(
            (&listed["data"][0]["state"], &listed["data"][1]["state"]),
            (&json!("enrolled"), &json!("expired"))
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pin_unlocks_its_device_and_no_stored_value_opens_it() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let id = till(&shop, json!({})).await;
        let mut device = Device::enrolled(&stack, &shop, &id, "Counter").await;
        assert!(device.shows_keypad());
        assert_eq!(device.post("/lock", &[]).await.status, 303);
        assert!(device.look().await.body.contains("data-key=\"locked\""));
        let refused = device.unlock("9999").await;
        assert_eq!(refused.status, 403);
        assert_eq!(device.unlock(PIN).await.status, 303);
        device.look().await;
        assert!(device.shows_keypad());
        // The session ends by itself.
        stack.sql("update till_device set session_ends_at = now()").await;
        assert!(device.look().await.body.contains("data-key=\"locked\""));
        // The database holds hashes: none of them is a cookie or a PIN.
        let mut connection = stack.database.connect().await;
        let stored: String = sqlx::query_scalar("select till_device::text from till_device")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert!(stored.contains("$argon2id$"), "{stored}");
        for (_, value) in &device.cookies {
            assert!(!stored.contains(value.as_str()), "{stored}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_pins_are_few_and_strangers_neither_guess_nor_lock() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        let id = till(&shop, json!({})).await;
        let mut device = Device::enrolled(&stack, &shop, &id, "Counter").await;
        let mut second = Device::enrolled(&stack, &shop, &id, "Counter 2").await;
        device.post("/lock", &[]).await;
        device.look().await;
        // A stranger who knows the address has no token: no try of his is looked at or counted.
        for _ in 0..30 {
            let mut stranger = Device::new(&stack, &id);
            stranger.page.clone_from(&device.page);
            assert_eq!(stranger.unlock(PIN).await.status, 403);
        }
        assert_eq!(count(&stack, "select sum(pin_tries)::bigint from till_device").await, 0);
        let mut tries = Vec::new();
        for _ in 0..5 {
            tries.push(device.unlock("9999").await.status);
        }
        // Now even the right one waits.
        tries.push(device.unlock(PIN).await.status);
        assert_eq!(tries, [403, 403, 403, 403, 403, 429]);
        second.look().await;
        assert!(second.shows_keypad(), "another device of the till is not concerned");
        stack.sql("update till_device set pin_next_at = now()").await;
        assert_eq!(device.unlock(PIN).await.status, 303);
        assert_eq!(count(&stack, "select sum(pin_tries)::bigint from till_device").await, 0);

        // Twenty in a row, however slowly, end it.
        device.look().await;
        assert_eq!(device.post("/lock", &[]).await.status, 303);
        device.look().await;
        stack.sql("update till_device set pin_tries = 19 where name = 'Counter'").await;
        assert_eq!(device.unlock("9999").await.status, 403);
        stack.sql("update till_device set pin_next_at = now()").await;
        let page = device.look().await;
        assert!(page.body.contains("set up again"), "{}", page.body);
        let refused = device.unlock(PIN).await;
        assert_eq!(refused.status, 403);
        assert!(refused.body.contains("name=\"pin_again\""), "{}", refused.body);
        let devices = shop.get(&format!("/v1/links/{id}/devices")).await.json();
        let states: Vec<_> =
            devices["data"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
        assert_eq!(states, [&json!("enrolled"), &json!("locked")]);

        // Another code makes the same browser another device, and the locked one is gone.
        let (code, _) = code(&shop, &id, "Counter 3").await;
        let page = device.send(Method::GET, &format!("/enrol/{code}"), "").await;
        assert!(page.body.contains("name=\"pin_again\""), "{}", page.body);
        device.page = page.body;
        assert_eq!(device.enrol(&code, "1379").await.status, 303);
        device.look().await;
        assert!(device.shows_keypad(), "{}", device.page);
        let revoked = "select count(*) from till_device where revoked_at is not null";
        assert_eq!(count(&stack, revoked).await, 1);
    })
    .await;
}

/// Guesses at once are counted before they are looked at.
#[tokio::test(flavor = "multi_thread")]
async fn of_pins_that_come_at_once_no_more_are_looked_at() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let id = till(&shop, json!({})).await;
        let mut device = Device::enrolled(&stack, &shop, &id, "Counter").await;
        device.post("/lock", &[]).await;
        device.look().await;
        let mut copies: Vec<_> = (0..12).map(|_| device.clone()).collect();
        let sent = join_all(copies.iter_mut().map(|copy| copy.unlock("9999"))).await;
        let statuses: Vec<_> = sent.iter().map(|answer| answer.status).collect();
        let looked_at = statuses.iter().filter(|status| **status == 403).count();
        // A busy server answers 503, looks at none, and gives the try back.
        assert!(statuses.iter().all(|status| [403, 429, 503].contains(status)), "{statuses:?}");
        assert!((1..=5).contains(&looked_at), "{statuses:?}");
        let counted = count(&stack, "select pin_tries::bigint from till_device").await;
        assert_eq!(counted, i64::try_from(looked_at).unwrap(), "{statuses:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn codes_have_few_tries_and_the_pages_say_nothing_to_strangers() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let id = till(&shop, json!({})).await;
        let mut stranger = Device::new(&stack, &id);
        let mut statuses = Vec::new();
        for _ in 0..11 {
            statuses.push(stranger.enrol("k7m2-9qxt-4c0d", PIN).await.status);
        }
        assert_eq!(statuses[..10], [403; 10]);
        assert_eq!(statuses[10], 429);
        let page = stranger.look().await;
        assert_eq!(page.status, 200);
        assert!(page.body.contains("data-key=\"unknown\""), "{}", page.body);
        for action in ["/charge", "/currency", "/cancel", "/next", "/lock", "/unlock"] {
            let refused = stranger.post(action, &[("amount", "5")]).await;
            assert_eq!(refused.status, 403, "{action}");
        }
        let day = stranger.send(Method::GET, "/day", "").await;
        assert!(day.body.contains("data-key=\"unknown\""), "{}", day.body);
        let state = stranger.send(Method::GET, "/state", "").await;
        assert_eq!(state.json(), json!({ "key": "unknown" }));
        let missing = stack.buyer().get("/pos/pzl_00000000000000000000000000").await;
        assert_eq!(missing.status, 404);
        assert_eq!(count(&stack, "select count(*) from invoice").await, 0);
    })
    .await;
}

/// A forgotten PIN: the charge that the device shows is not lost with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_is_enrolled_anew_goes_on_with_its_charge() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let id = till(&shop, json!({})).await;
        let mut device = Device::enrolled(&stack, &shop, &id, "Counter").await;
        let payment = device.charge("7").await;
        device.post("/lock", &[]).await;
        let (code, _) = code(&shop, &id, "Counter again").await;
        device.page = device.send(Method::GET, &format!("/enrol/{code}"), "").await.body;
        assert_eq!(device.enrol(&code, PIN).await.status, 303);
        device.look().await;
        assert_eq!(device.shown(), Some(payment));
    })
    .await;
}

/// Codes that nobody used do not push the devices in use out of the list, and are forgotten.
#[tokio::test(flavor = "multi_thread")]
async fn unused_codes_hide_no_device_and_are_swept() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let id = till(&shop, json!({})).await;
        Device::enrolled(&stack, &shop, &id, "Counter").await;
        let copies = "insert into till_device (id, device_id, merchant_id, link_id, name, code_expires_at) \
                      select gen_random_uuid(), 'pzd_' || n, merchant_id, link_id, 'Old', now() - interval '40 days' \
                      from till_device, generate_series(1, 300) n";
        stack.sql(copies).await;
        let list = shop.get(&format!("/v1/links/{id}/devices")).await.json();
        assert_eq!(list["data"][0]["name"], "Counter");
        assert_eq!(list["data"].as_array().unwrap().len(), 200);
        stack.gateway.sweep(None, &mut SweepMemory::default()).await.unwrap();
        assert_eq!(count(&stack, "select count(*) from till_device").await, 1);
    })
    .await;
}

/// A till with one PIN for all its devices: a code alone enrols nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_pin_of_the_merchant_is_asked_for_and_guessed_five_times_at_most() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let id = till(&shop, json!({ "pin": "6174" })).await;
        let link = shop.get(&format!("/v1/links/{id}")).await;
        assert_eq!(link.json()["has_pin"], true);
        assert!(!link.body.contains("6174"), "{}", link.body);
        let (first, _) = code(&shop, &id, "Counter").await;
        let mut device = Device::new(&stack, &id);
        device.page = device.send(Method::GET, &format!("/enrol/{first}"), "").await.body;
        assert!(!device.page.contains("pin_again"), "{}", device.page);
        assert_eq!(device.enrol(&first, PIN).await.status, 403);
        assert_eq!(device.enrol(&first, "6174").await.status, 303);
        device.look().await;
        assert!(device.shows_keypad(), "{}", device.page);
        assert_eq!(device.post("/lock", &[]).await.status, 303);
        device.look().await;
        assert_eq!(device.unlock("6174").await.status, 303);

        let (second, _) = code(&shop, &id, "Counter 2").await;
        let mut thief = Device::new(&stack, &id);
        let mut statuses = Vec::new();
        for _ in 0..5 {
            statuses.push(thief.enrol(&second, PIN).await.status);
        }
        statuses.push(thief.enrol(&second, "6174").await.status);
        assert_eq!(statuses, [403, 403, 403, 403, 403, 429]);

        let path = format!("/v1/links/{id}");
        let other = shop.send(Method::PATCH, &path, &json!({ "pin": null }).to_string()).await;
        assert_eq!(other.json()["has_pin"], false);
        for (body, word) in [
            (json!({ "type": "pos", "title": "x", "price_currency": "eur", "pin": "123" }), "pin"),
            (json!({ "type": "pos", "title": "x", "price_currency": "eur", "pin": "0000" }), "pin"),
            (
                json!({ "type": "donation", "title": "x", "price_currency": "eur", "pin": "6174" }),
                "pos",
            ),
        ] {
            let refused = shop.post("/v1/links", &body).await;
            refused.expect_error(400, "INVALID_REQUEST");
            assert!(refused.body.contains(word), "{}", refused.body);
        }
        let digests = "select count(*) from link where pin_digest is not null";
        assert_eq!(count(&stack, digests).await, 0);
    })
    .await;
}
