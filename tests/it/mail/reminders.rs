//! Reminders of renewals by mail, and how their subscriber stops them.

use gateway::locale::Language;
use http::Method;
use serde_json::Value;
use support::{
    server::{
        broker::eventually,
        smtp::{Mail, MailServer},
    },
    shop::Shop,
};

use super::{advance, mails_become, newest_subscription, paid, subscriptions, with_mailing_shop};

/// A paid subscription, after its receipt.
async fn subscribed(shop: &Shop, server: &MailServer) -> Value {
    let path = format!("/l/{}", subscriptions(shop).await);
    paid(shop, &path, &[("email", "ada@example.com")]).await;
    server.wait_for(1).await;
    newest_subscription(shop).await
}

fn path_of(shop: &Shop, url: &str) -> String {
    let path = url.strip_prefix(&format!("http://{}", shop.stack.checkout));
    path.unwrap_or_else(|| panic!("{url} is not at the checkout")).to_owned()
}

/// The path at which the reminders stop, by the mail's own header.
fn stop_path(shop: &Shop, mail: &Mail) -> String {
    let header = mail.header("list-unsubscribe").unwrap();
    path_of(shop, header.trim_start_matches('<').trim_end_matches('>'))
}

async fn reminders(shop: &Shop) -> i64 {
    shop.number("select count(*) from event where type = 'subscription.renewal_reminder'").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_is_reminded_each_day_until_he_stops_it() {
    with_mailing_shop("", |shop, server| async move {
        shop.stack.start_all();
        let one = subscribed(&shop, &server).await;
        advance(&shop, &one, 27).await;
        let mail = server.wait_for(2).await.remove(1);
        let date = one["next_renewal_at"].as_str().unwrap().split('T').next().unwrap();
        let date = Language::English.local(date);
        let subject = format!("Your subscription renews on {date}");
        assert_eq!(mail.header("subject"), Some(subject));
        assert_eq!(
            mail.header("list-unsubscribe-post").as_deref(),
            Some("List-Unsubscribe=One-Click")
        );
        // The mail's link opens the subscriber's page.
        let text = mail.text();
        let renew = text.lines().find(|line| line.contains("/renew/")).unwrap();
        assert_eq!(shop.stack.buyer().get(&path_of(&shop, renew)).await.status, 200);

        // A scanner that opens the link stops nothing.
        let path = stop_path(&shop, &mail);
        let page = shop.stack.buyer().get(&path).await;
        assert_eq!((page.status, page.header("cache-control")), (200, Some("no-store")));
        assert_eq!(page.body.matches("<button").count(), 1, "{}", page.body);
        assert!(!page.body.contains("ada@example.com"), "{}", page.body);
        advance(&shop, &one, 1).await;
        server.wait_for(3).await;

        // A mail program's click: a POST without a cookie, answered without a redirect.
        let click = "List-Unsubscribe=One-Click";
        for _ in 0..2 {
            let stopped = shop.stack.buyer().send(Method::POST, &path, click).await;
            assert_eq!(stopped.status, 200, "{}", stopped.body);
            assert!(stopped.body.contains("You get no more reminders"), "{}", stopped.body);
        }
        let told = reminders(&shop).await;
        advance(&shop, &one, 1).await;
        eventually("the webhook goes on", async || (reminders(&shop).await > told).then_some(()))
            .await;
        mails_become(&shop, "delivered", None, 3).await;
        assert_eq!(shop.number("select count(*) from mail").await, 3);
        assert_eq!(newest_subscription(&shop).await["state"], "active");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_outage_of_days_one_mail_tells_the_newest_and_a_paid_cycle_none() {
    with_mailing_shop("", |shop, server| async move {
        let (stop, workers) = shop.stack.start(&gateway_workers::Role::ALL);
        let one = subscribed(&shop, &server).await;
        stop.cancel();
        for worker in workers {
            worker.await.unwrap();
        }
        advance(&shop, &one, 29).await;
        shop.stack.gateway.remind_subscribers().await.unwrap();
        assert_eq!(reminders(&shop).await, 3);
        let written =
            "select count(*) from mail where kind = 'reminder' and contents like '%\"day\":-1%'";
        assert_eq!(shop.number(written).await, 1);
        assert_eq!(shop.number("select count(*) from mail where kind = 'reminder'").await, 1);
        // Paid before the mail is sent.
        shop.run("update subscription set covered = 2").await;
        shop.stack.start_all();
        mails_become(&shop, "dropped", Some("outdated"), 1).await;
        assert_eq!(server.taken().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_stored_as_its_hash_and_a_guess_stops_nothing() {
    with_mailing_shop("", |shop, server| async move {
        shop.stack.start_all();
        let one = subscribed(&shop, &server).await;
        advance(&shop, &one, 27).await;
        let mail = server.wait_for(2).await.remove(1);
        let path = stop_path(&shop, &mail);
        let token = path.rsplit('/').next().unwrap();
        assert_eq!(token.len(), 30);
        let mut connection = shop.stack.database.connect().await;
        let count =
            |query: &'static str| sqlx::query_scalar::<_, i64>(query).bind(token.to_owned());
        let hashed =
            "select count(*) from mail_unsubscribe where token_hash = sha256($1::text::bytea)";
        assert_eq!(count(hashed).fetch_one(&mut connection).await.unwrap(), 1);
        let plain = "select count(*) from mail m, mail_unsubscribe u
                     where strpos(m::text, $1) > 0 or strpos(u::text, $1) > 0";
        assert_eq!(count(plain).fetch_one(&mut connection).await.unwrap(), 0);
        for guess in
            ["pzu_00000000000000000000000000", "x", "%00", "pzr_00000000000000000000000000"]
        {
            let path = format!("/unsubscribe/{guess}");
            assert_eq!(shop.stack.buyer().get(&path).await.status, 404, "{guess}");
            assert_eq!(
                shop.stack.buyer().send(Method::POST, &path, "").await.status,
                404,
                "{guess}"
            );
        }
        let stopped = "select count(*) from subscription where unsubscribed_at is not null";
        assert_eq!(shop.number(stopped).await, 0);
    })
    .await;
}
