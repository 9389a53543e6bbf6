//! The screens, through their forms, over a gateway that works.

use gateway::{
    account::{Action, Role, action::Scope},
    invoice::Status,
    webhook::retry::DeliveryState,
};
use gateway_dashboard::routes;
use http::Method;
use serde_json::json;
use support::{
    server::broker::eventually,
    shop::{Shop, with_shop},
};

use super::{Desk, between, payment, with_desk};

/// A shop whose workers run, with a dashboard.
async fn with_busy_desk<F: Future<Output = ()>>(test: impl FnOnce(Desk, Shop) -> F) {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let (gateway, address) = shop.stack.dashboard("").await;
        test(Desk { stack: shop.stack.clone(), gateway, address }, shop).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_found_by_everything_that_names_it_and_tells_its_story() {
    with_busy_desk(|desk, shop| async move {
        let id = shop.invoice_of(json!({ "order_id": "A 17/<b>" })).await;
        let address = shop.payment(&id).await["pay_address"].as_str().unwrap().to_owned();
        shop.pay(&id, "100").await;
        shop.becomes(&id, Status::Paid).await;
        shop.webhook(1).await;
        let (delivery, _) = shop.delivery_becomes(&id, "delivered").await;
        let path = format!("/v1/payment/{id}/deposits");
        let deposits = shop.merchant.client.get(&path).await.json();
        let hash = deposits["data"][0]["tx_hash"].as_str().unwrap().to_owned();

        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&shop.merchant)).await;
        let order = "A%2017%2F%3Cb%3E".to_owned();
        let upper = address.to_uppercase().replace("0X", "0x");
        for words in [id.clone(), order, address, upper, hash.clone(), format!("%20{hash}%20")] {
            let found = owner.get(&format!("/payments?q={words}")).await;
            assert!(found.body.contains(&format!("/payments/{id}\"")), "{words}: {}", found.body);
        }
        let listed = owner.get("/payments?status=paid").await.body;
        assert!(listed.contains(&id) && listed.contains("A 17/&#60;b&#62;"), "{listed}");
        assert!(!owner.get("/payments?status=expired").await.body.contains(&id));
        let page = owner.get(&format!("/payments/{id}")).await.body;
        for text in ["created", "100 USDT on Polygon seen", "confirmed", "answered 200", &hash] {
            assert!(page.contains(text), "{text} in {page}");
        }
        assert!(!page.contains("payment.cancel"), "an ended payment has no button to cancel");
        let event = owner.get(&format!("/events/{}", delivery.event_id)).await.body;
        assert!(event.contains("delivered") && event.contains("event.resend"), "{event}");
        let path = format!("/events/{}/resend", delivery.event_id);
        assert_eq!(owner.post(&path, &[]).await.status, 303);
        let again = shop.receiver.wait_for(2).await;
        assert_eq!(again[0].json()["event_id"], again[1].json()["event_id"]);
        let overview = owner.get("/").await.body;
        assert!(overview.contains("100.00"), "{overview}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_cancelled_while_nothing_was_seen_and_never_after() {
    with_busy_desk(|desk, shop| async move {
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&shop.merchant)).await;
        let (one, two) = (shop.invoice().await, shop.invoice().await);
        let page = owner.get(&format!("/payments/{one}")).await.body;
        assert!(page.contains("data-action=\"payment.cancel\""), "{page}");
        let done = owner.post(&format!("/payments/{one}/cancel"), &[]).await;
        assert_eq!(done.status, 303, "{}", done.body);
        shop.becomes(&one, Status::Cancelled).await;
        shop.pay(&two, "1").await;
        shop.becomes(&two, Status::Partial).await;
        let refused = owner.post(&format!("/payments/{two}/cancel"), &[]).await;
        assert_eq!(refused.status, 409);
        assert!(refused.body.contains("a payment has been seen"), "{}", refused.body);
        let audit = desk.gateway.audit(Some(&one), None).await.unwrap();
        assert_eq!(audit[0].operator, "o@example.com");
        assert!(audit[0].address.is_some(), "{audit:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_the_old_api_are_shown_once_replaced_once_and_revoked() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let id = merchant.new.id;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        let page = owner.get("/developers").await.body;
        assert!(page.contains("Create keys"), "{page}");
        let once = |body: &str| between(body, "<code class=\"once\">", "</code>").to_owned();
        let first = owner.post("/developers/legacy", &[("seen", "")]).await;
        assert_eq!(first.header("cache-control"), Some("no-store"));
        let private_key = once(&first.body);
        assert_eq!(private_key.len(), 64);
        let keys = desk.gateway.legacy_keys(id).await.unwrap().unwrap();
        assert!(!keys.may_withdraw && first.body.contains(&keys.public_key), "{}", first.body);
        // A reload sends the form again.
        assert_eq!(owner.post("/developers/legacy", &[("seen", "")]).await.status, 409);
        let page = owner.get("/developers").await.body;
        assert!(page.contains(&keys.public_key) && !page.contains(&private_key), "{page}");

        let seen = [("seen", keys.public_key.as_str()), ("withdrawals", "yes")];
        let second = owner.post("/developers/legacy", &seen).await;
        assert_ne!(once(&second.body), private_key);
        let replaced = owner.post("/developers/legacy", &seen).await;
        assert_eq!(replaced.status, 409, "{}", replaced.body);
        let newer = desk.gateway.legacy_keys(id).await.unwrap().unwrap();
        assert!(newer.may_withdraw && newer.public_key != keys.public_key);
        // A page from before revokes nothing that it did not show.
        let old = owner.post("/developers/legacy/revoke", &seen).await;
        assert_eq!(old.status, 409, "{}", old.body);
        let seen = [("seen", newer.public_key.as_str())];
        assert_eq!(owner.post("/developers/legacy/revoke", &seen).await.status, 303);
        assert!(desk.gateway.legacy_keys(id).await.unwrap().is_none());
        let audit = desk.gateway.audit(Some(&id.to_string()), None).await.unwrap();
        let texts = format!("{audit:?}");
        assert_eq!(audit.len(), 3, "{texts}");
        assert!(texts.contains("o@example.com") && !texts.contains(&private_key), "{texts}");
    })
    .await;
}

/// Keys of the old API can order withdrawals: who has no business with keys gets none.
#[tokio::test(flavor = "multi_thread")]
async fn roles_without_keys_of_the_old_api_neither_create_nor_revoke_them() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let id = merchant.new.id;
        for role in [Role::Viewer, Role::Finance] {
            let mut other =
                desk.signed_in(&format!("{role}@example.com"), role, Some(&merchant)).await;
            other.get("/account").await;
            let fields = [("seen", ""), ("withdrawals", "yes")];
            assert_eq!(other.post("/developers/legacy", &fields).await.status, 403, "{role}");
            assert!(desk.gateway.legacy_keys(id).await.unwrap().is_none(), "{role}");
        }
        let mut developer = desk.signed_in("d@example.com", Role::Developer, Some(&merchant)).await;
        developer.get("/developers").await;
        assert_eq!(developer.post("/developers/legacy", &[("seen", "")]).await.status, 200);
        let keys = desk.gateway.legacy_keys(id).await.unwrap().unwrap();
        for role in [Role::Viewer, Role::Finance] {
            let mut other =
                desk.signed_in(&format!("{role}2@example.com"), role, Some(&merchant)).await;
            other.get("/account").await;
            let seen = [("seen", keys.public_key.as_str())];
            let refused = other.post("/developers/legacy/revoke", &seen).await;
            assert_eq!(refused.status, 403, "{role}");
        }
        let kept = desk.gateway.legacy_keys(id).await.unwrap().unwrap();
        assert_eq!(kept.public_key, keys.public_key);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_and_a_secret_are_shown_once_and_replaced_once() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        let page = owner.get("/developers").await.body;
        let preview = between(&page, "name=\"seen\" value=\"", "\"").to_owned();
        assert!(!page.contains(merchant.new.api_key.reveal()), "the key stands in the page");
        let shown = owner.post("/developers/key", &[("seen", &preview)]).await;
        let key = between(&shown.body, "<code class=\"once\">", "</code>").to_owned();
        assert_eq!(shown.header("cache-control"), Some("no-store"));
        assert_eq!(merchant.client.get("/v1/payment").await.status, 401);
        let client = support::client::Client::new(desk.stack.api).with_key(&key);
        assert_eq!(client.get("/v1/payment").await.status, 200);
        // A reload sends the form again.
        let reloaded = owner.post("/developers/key", &[("seen", &preview)]).await;
        assert_eq!(reloaded.status, 409);
        assert!(!reloaded.body.contains(&key));
        assert_eq!(client.get("/v1/payment").await.status, 200);

        let page = owner.get("/developers").await.body;
        let (_, rest) = page.split_once("secret.rotate").unwrap();
        let seen = between(rest, "name=\"seen\" value=\"", "\"").to_owned();
        let shown = owner.post("/developers/secret", &[("seen", &seen)]).await;
        let secret = between(&shown.body, "<code class=\"once\">", "</code>").to_owned();
        assert_ne!(secret, merchant.new.webhook_secret.reveal());
        assert_eq!(owner.post("/developers/secret", &[("seen", &seen)]).await.status, 409);
        let id = merchant.new.id.to_string();
        let audit = desk.gateway.audit(Some(&id), None).await.unwrap();
        assert_eq!(audit.len(), 2, "{audit:?}");
        let texts = format!("{audit:?}");
        assert!(texts.contains("o@example.com") && texts.contains("127.0.0.1"), "{texts}");
        assert!(!texts.contains(&key) && !texts.contains(&secret), "{texts}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_creates_a_merchant_once_and_suspends_it_with_a_reason() {
    with_desk(|desk| async move {
        let mut admin = desk.signed_in("a@example.com", Role::Admin, None).await;
        let page = admin.get("/operator/merchants").await.body;
        let id = between(&page, "name=\"id\" value=\"", "\"").to_owned();
        let fields = [("id", id.as_str()), ("name", "<i>Baker</i>")];
        let shown = admin.post("/operator/merchants", &fields).await;
        assert_eq!(shown.status, 200, "{}", shown.body);
        let key = between(&shown.body, "API key</dt><dd><code class=\"once\">", "<").to_owned();
        let client = support::client::Client::new(desk.stack.api).with_key(&key);
        assert_eq!(client.get("/v1/payment").await.status, 200);
        let again = admin.post("/operator/merchants", &fields).await;
        assert_eq!(again.status, 422);
        assert!(again.body.contains("was created already"), "{}", again.body);
        let found = admin.get("/operator/merchants?q=%3Ci%3Eba").await.body;
        assert!(found.contains("&#60;i&#62;Baker&#60;/i&#62;"), "{found}");
        let path = format!("/operator/merchants/{id}");
        admin.get(&path).await;
        let silent = admin.post(&format!("{path}/suspend"), &[("reason", " ")]).await;
        assert_eq!(silent.status, 409);
        let done = admin.post(&format!("{path}/suspend"), &[("reason", "stolen goods")]).await;
        assert_eq!(done.status, 303, "{}", done.body);
        assert_eq!(client.get("/v1/payment").await.status, 403);
        let page = admin.get(&path).await.body;
        assert!(page.contains("stolen goods") && page.contains("a@example.com"), "{page}");
        assert!(!page.contains(&key), "the key stands in a second page");
        admin.post(&format!("{path}/resume"), &[("reason", "returned")]).await;
        assert_eq!(client.get("/v1/payment").await.status, 200);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_grouped_by_cause_and_sent_again_in_one_go() {
    with_busy_desk(|desk, shop| async move {
        shop.receiver.answer(500);
        let ids = [shop.invoice().await, shop.invoice().await];
        for id in &ids {
            shop.pay(id, "100").await;
            shop.becomes(id, Status::Paid).await;
            shop.delivery_becomes(id, "dead").await;
        }
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&shop.merchant)).await;
        let overview = owner.get("/").await.body;
        assert!(overview.contains("2 webhooks were given up"), "{overview}");
        let mut admin = desk.signed_in("a@example.com", Role::Admin, None).await;
        let page = admin.get("/operator/dead-letters").await.body;
        assert_eq!(page.matches("data-action=\"dead-letter.requeue\"").count(), 1, "{page}");
        assert!(page.contains("Send 2 again"), "{page}");
        let group = &page[page.find("data-action=\"dead-letter.requeue\"").unwrap()..];
        let value = |name: &str| {
            let text = between(group, &format!("name=\"{name}\" value=\""), "\"").to_owned();
            text.replace("&#60;", "<")
                .replace("&#62;", ">")
                .replace("&#38;", "&")
                .replace("&#39;", "'")
        };
        shop.receiver.answer(200);
        let fields =
            ["run", "merchant", "channel", "host", "cause"].map(|name| (name, value(name)));
        let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
        let done = admin.post("/operator/dead-letters", &fields).await;
        let run = format!("/operator/dead-letters/runs/{}", value("run"));
        assert_eq!(done.header("location"), Some(run.as_str()), "{}", done.body);
        for id in &ids {
            shop.delivery_becomes(id, "delivered").await;
        }
        eventually("no dead letters", async || {
            let groups = desk.gateway.dead_letter_groups().await.unwrap();
            groups.is_empty().then_some(())
        })
        .await;
        let (row, _) = shop.delivery(&ids[0]).await;
        assert_eq!((row.state, row.cycle), (DeliveryState::Delivered, 2));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_are_paged_both_ways_without_a_gap() {
    with_desk(|desk| async move {
        desk.stack.lift_rate_limits().await;
        let merchant = desk.merchant().await;
        let mut ids = Vec::new();
        for turn in 0..60 {
            ids.push(payment(&merchant, &format!("order {turn}")).await);
        }
        ids.reverse();
        let mut viewer = desk.signed_in("v@example.com", Role::Viewer, Some(&merchant)).await;
        let of = |body: &str| -> Vec<String> {
            let rest = body.split("href=\"/payments/").skip(1);
            rest.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
        };
        let (mut path, mut seen, mut last) = ("/payments".to_owned(), Vec::new(), String::new());
        loop {
            last.clone_from(&path);
            let body = viewer.get(&path).await.body;
            seen.extend(of(&body));
            let Some((_, rest)) = body.split_once("rel=\"next\" href=\"") else { break };
            path = rest.split('"').next().unwrap().replace("&#38;", "&");
        }
        assert_eq!(seen, ids);
        let body = viewer.get(&last).await.body;
        let newer = between(&body, "rel=\"prev\" href=\"", "\"").replace("&#38;", "&");
        assert_eq!(of(&viewer.get(&newer).await.body), &ids[25..50]);
        for odd in
            ["/payments?older=x", "/payments?newer=1-2", "/payments?status=y", "/payments?q=%00"]
        {
            assert_eq!(viewer.get(odd).await.status, 200, "{odd}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_holds_a_secret_of_anybody() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let id = payment(&merchant, "one").await;
        let mut owner = desk.invited("o@example.com", Role::Owner, Some(&merchant)).await;
        let mut admin = desk.signed_in("a@example.com", Role::Admin, None).await;
        let secrets = [
            merchant.new.api_key.reveal(),
            merchant.new.webhook_secret.reveal(),
            support::server::stack::MASTER_KEY,
            super::PASSWORD,
            "$argon2id",
        ];
        let mut read = 0;
        for route in routes().iter().filter(|route| route.method == Method::GET) {
            let operators = route.action.scope() == Scope::Operator;
            let merchants = merchant.new.id.to_string();
            let one = if operators { &merchants } else { &id };
            let path = route.path.replace("{id}", one).replace("{token}", &"ab".repeat(32));
            let visitor = if operators { &mut admin } else { &mut owner };
            let answer = visitor.get(&path).await;
            let session = visitor.session().unwrap().to_owned();
            for secret in secrets.into_iter().chain([session.as_str()]) {
                assert!(!answer.body.contains(secret), "{path} holds a secret");
            }
            read += usize::from(answer.status == 200 && route.action != Action::SessionOpen);
        }
        assert!(read >= 10, "only {read} pages were read");
    })
    .await;
}
