//! The screens of a merchant: each shows what the database holds, and no more than its own.

use std::time::Duration;

use chrono::NaiveDate;
use gateway::{
    account::Role,
    app::{
        legacy::address::NewCallback,
        messaging::sweep::SweepMemory,
        sandbox::simulate::{Deposit, PaidIn, Payee},
    },
    asset::Network,
    invoice::Status,
    storage::access,
};
use rust_decimal::Decimal;
use serde_json::json;
use support::{
    server::broker::eventually,
    shop::{Shop, with_shop},
};

use super::{Desk, Visitor, between, payment, with_desk};

const HOSTILE: &str = "\"><script>alert(1)</script>";

/// A shop whose workers run, with a dashboard and its owner.
async fn with_owner<F: Future<Output = ()>>(test: impl FnOnce(Desk, Shop, Visitor) -> F) {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let (gateway, address) = shop.stack.dashboard("").await;
        let desk = Desk { stack: shop.stack.clone(), gateway, address };
        let owner = desk.signed_in("o@example.com", Role::Owner, Some(&shop.merchant)).await;
        test(desk, shop, owner).await;
    })
    .await;
}

/// The payments that a page links to.
fn linked(body: &str) -> Vec<String> {
    let rest = body.split("href=\"/payments/pzi_").skip(1);
    let mut ids: Vec<_> =
        rest.map(|rest| format!("pzi_{}", rest.split('"').next().unwrap())).collect();
    ids.dedup();
    ids
}

/// The value of a form's field in a page.
fn field(body: &str, name: &str) -> String {
    between(body, &format!("name=\"{name}\" value=\""), "\"").to_owned()
}

/// Sums all hours that have ended.
async fn sum_hours(desk: &Desk) {
    let mut memory = SweepMemory::default();
    let behind =
        "select count(*) from merchant_hours_summed where through < now() - interval '2 hours'";
    for _ in 0..600 {
        desk.gateway.sweep(None, &mut memory).await.unwrap();
        let mut connection = desk.stack.database.connect().await;
        let count: i64 = sqlx::query_scalar(behind).fetch_one(&mut connection).await.unwrap();
        if count == 0 {
            return;
        }
        // The workers' own sweeper may be at it.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the hours are not summed");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_page_compares_periods_and_names_what_asks_for_attention() {
    with_owner(|desk, shop, mut owner| async move {
        let empty = owner.get("/").await.body;
        assert!(empty.contains("Nothing at the moment."), "{empty}");
        let (one, two) = (shop.invoice().await, shop.invoice().await);
        for id in [&one, &two] {
            shop.pay(id, "100").await;
            shop.becomes(id, Status::Paid).await;
            shop.delivery_becomes(id, "delivered").await;
        }
        shop.sql(
            "update deposit set settled_at = settled_at - interval '1 day' where invoice_id = $1",
            &two,
        )
        .await;
        // The workers may have summed the hours before.
        desk.gateway.sum_hours_again().await.unwrap();
        shop.pay(&one, "7").await;
        eventually("a late deposit", async || {
            let late = shop.number("select count(*) from deposit where booked_as = 'late'").await;
            (late == 1).then_some(())
        })
        .await;
        let page = owner.get("/").await.body;
        let tile = between(&page, "<dt>Today</dt>", "</dl>");
        assert!(tile.contains("<dd>100.00 <span"), "{tile}");
        assert!(tile.contains("<dd>Yesterday: 100.00</dd>"), "{tile}");
        assert!(page.contains("7 USDT came after the payment had ended"), "{page}");
        assert!(
            page.contains("role=\"img\" aria-labelledby=\"days-usd-title")
                && page.contains("USD received per day"),
            "{page}"
        );
        let paid = between(&page, "data-label=\"Step\">Paid", "</tr>");
        assert!(paid.contains(">2<") && paid.contains("100.0 %"), "{paid}");
        assert!(page.contains("From event to your receiver"), "{page}");
        assert_eq!(
            linked(between(&page, "id=\"needs\"", "</section>")),
            std::slice::from_ref(&one)
        );
    })
    .await;
}

fn sum(days: &[(NaiveDate, Decimal)]) -> Decimal {
    days.iter().map(|(_, value)| value).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn hours_are_summed_once_and_change_no_figure() {
    with_owner(|desk, shop, _| async move {
        let merchant_id = shop.merchant.new.id;
        let mut ids = Vec::new();
        for (back, price) in [("3 hours", 100), ("26 hours", 200), ("9 days", 300), ("40 days", 400)] {
            let id = shop.invoice_of(json!({ "price_amount": price })).await;
            shop.pay(&id, &price.to_string()).await;
            shop.becomes(&id, Status::Paid).await;
            let mut connection = desk.stack.database.connect().await;
            for statement in [
                "update deposit set settled_at = settled_at - $2::text::interval
                 where invoice_id = (select id from invoice where payment_id = $1)",
                "update event set created_at = created_at - $2::text::interval where resource_id = $1",
            ] {
                let done = sqlx::query(statement).bind(&id).bind(back);
                assert!(done.execute(&mut connection).await.unwrap().rows_affected() > 0);
            }
            ids.push(id);
        }
        // The workers may have summed these hours before the rows were moved into them.
        desk.gateway.sum_hours_again().await.unwrap();
        let before = desk.gateway.overview(merchant_id).await.unwrap();
        assert_eq!(before.ends.paid, 3, "{before:?}");
        assert_eq!(sum(&before.fiats[0].days), 600.into());
        sum_hours(&desk).await;
        let rows = "select count(*) from merchant_hour_taking";
        assert_eq!(shop.number(rows).await, 4);
        let after = desk.gateway.overview(merchant_id).await.unwrap();
        assert_eq!((&before.fiats, &before.tokens), (&after.fiats, &after.tokens));
        assert_eq!(before.ends, after.ends);
        // A reversal is subtracted although its hour was summed.
        shop.sql("update deposit set state = 'reversed' where invoice_id = $1", &ids[1]).await;
        let less = desk.gateway.overview(merchant_id).await.unwrap();
        assert_eq!(sum(&less.fiats[0].days), 400.into());
        // Rows that were written for the past later are found by summing again.
        shop.sql("update deposit set state = 'settled' where invoice_id = $1", &ids[1]).await;
        shop.sql("update deposit set settled_at = settled_at - interval '1 day' where invoice_id = $1", &ids[1])
            .await;
        desk.gateway.sum_hours_again().await.unwrap();
        sum_hours(&desk).await;
        assert_eq!(shop.number(rows).await, 4);
        let again = desk.gateway.overview(merchant_id).await.unwrap();
        assert_eq!(sum(&again.fiats[0].days), 600.into());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_are_filtered_and_found_by_amount_and_by_e_mail() {
    with_owner(|desk, shop, mut owner| async move {
        let paid = shop.invoice_of(json!({ "price_amount": 123.45 })).await;
        shop.pay(&paid, "123.45").await;
        shop.becomes(&paid, Status::Paid).await;
        let open = shop.invoice_of(json!({ "pay_currency": "usdtbsc", "price_amount": 50 })).await;
        let cancelled = shop.invoice().await;
        desk.gateway.cancel_invoice(&cancelled).await.unwrap();
        shop.sql(
            "update invoice set created_at = created_at - interval '3 days' where id = $1",
            &open,
        )
        .await;
        shop.sql("update invoice set subscriber_email = 'Ann@Example.com' where id = $1", &open)
            .await;
        let today = date_now(&shop).await;
        for (parameters, ids) in [
            ("status=paid", vec![&paid]),
            ("status=pending", vec![&open]),
            ("status=overpaid", vec![]),
            ("currency=usdtmatic@polygon", vec![&cancelled, &paid]),
            ("network=bsc", vec![&open]),
            ("network=bsc&currency=usdtmatic@polygon", vec![]),
            ("status=paid&network=polygon", vec![&paid]),
            (format!("from={today}").as_str(), vec![&cancelled, &paid]),
            (format!("from={today}&to={today}&status=cancelled").as_str(), vec![&cancelled]),
            ("to=2001-01-01", vec![]),
            ("status=%27&network=moon&from=x", vec![&cancelled, &paid, &open]),
            ("q=123.45", vec![&paid]),
            ("q=123.45+USDT", vec![&paid]),
            ("q=%24123.45", vec![&paid]),
            ("q=ann%40example.com", vec![&open]),
            ("q=nobody%40example.com", vec![]),
            ("q=123.46", vec![]),
        ] {
            let body = owner.get(&format!("/payments?{parameters}")).await.body;
            let ids: Vec<_> = ids.into_iter().cloned().collect();
            assert_eq!(linked(&body), ids, "{parameters}: {body}");
        }
        let body = owner.get("/payments?status=paid&network=polygon").await.body;
        assert!(body.contains("<option value=\"paid\" selected>"), "{body}");
        let theirs = desk.merchant().await;
        let mut other = desk.signed_in("t@example.com", Role::Owner, Some(&theirs)).await;
        for parameters in ["status=paid", "q=123.45", "q=ann%40example.com", "network=bsc"] {
            let body = other.get(&format!("/payments?{parameters}")).await.body;
            assert_eq!(linked(&body), Vec::<String>::new(), "{parameters}");
        }
    })
    .await;
}

/// The database's date.
async fn date_now(shop: &Shop) -> String {
    let mut connection = shop.stack.database.connect().await;
    let today = sqlx::query_scalar("select (now() at time zone 'UTC')::date::text");
    today.fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn filtered_pages_follow_one_another_without_a_gap() {
    with_desk(|desk| async move {
        desk.stack.lift_rate_limits().await;
        let merchant = desk.merchant().await;
        let mut ids = Vec::new();
        for turn in 0..60 {
            ids.push(payment(&merchant, &format!("order {turn}")).await);
        }
        ids.reverse();
        let mut viewer = desk.signed_in("v@example.com", Role::Viewer, Some(&merchant)).await;
        let (mut path, mut seen) =
            ("/payments?status=pending&network=polygon".to_owned(), Vec::new());
        let mut last = String::new();
        loop {
            last.clone_from(&path);
            let body = viewer.get(&path).await.body;
            seen.extend(linked(&body));
            let Some((_, rest)) = body.split_once("rel=\"next\" href=\"") else { break };
            path = rest.split('"').next().unwrap().replace("&#38;", "&");
            assert!(path.contains("status=pending") && path.contains("network=polygon"), "{path}");
        }
        assert_eq!(seen, ids);
        let body = viewer.get(&last).await.body;
        let newer = between(&body, "rel=\"prev\" href=\"", "\"").replace("&#38;", "&");
        assert_eq!(linked(&viewer.get(&newer).await.body), &ids[25..50]);
        assert!(!viewer.get("/payments").await.body.contains("/payments/new"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_is_created_by_hand_once_however_often_its_form_is_sent() {
    with_owner(|desk, shop, mut owner| async move {
        let page = owner.get("/payments/new").await.body;
        let key = field(&page, "key");
        let fields = [
            ("key", key.as_str()),
            ("price", "12.50"),
            ("price_currency", "eur"),
            ("pay_currency", "usdtmatic@polygon"),
            ("order_id", HOSTILE),
            ("description", "Two cakes"),
        ];
        let made = owner.post("/payments/new", &fields).await;
        assert_eq!(made.status, 303, "{}", made.body);
        let place = made.header("location").unwrap().to_owned();
        let again = owner.clone().post("/payments/new", &fields).await;
        assert_eq!(again.header("location"), Some(place.as_str()));
        assert_eq!(shop.number("select count(*) from invoice").await, 1);
        let body = owner.get(&place).await.body;
        for text in ["12.5 EUR", "Two cakes", "Created. Send the buyer", "QR code of the checkout"] {
            assert!(body.contains(text), "{text} in {body}");
        }
        assert!(!body.contains("<script>alert"), "{body}");
        // The key with other values makes nothing, and gives a form with a key of its own.
        let mut other = fields;
        other[1] = ("price", "13");
        let refused = owner.post("/payments/new", &other).await;
        assert_eq!(refused.status, 422);
        assert!(refused.body.contains("was sent before with other values"), "{}", refused.body);
        assert_ne!(field(&refused.body, "key"), key);
        for (name, value, words) in [
            ("price", "-1", "The price must be a number above 0"),
            ("price", "0.01", "below the minimum"),
            ("price_currency", "xyz", "USD, EUR or GBP"),
            ("pay_currency", "moon@moon", "not in the catalogue"),
            ("webhook_url", "ftp://x", "The webhook address"),
            ("key", "x", "has no key"),
        ] {
            let page = owner.get("/payments/new").await.body;
            let key = field(&page, "key");
            let mut all = vec![("key", key.as_str())];
            all.extend(fields.iter().skip(1).copied().filter(|(known, _)| *known != name));
            all.retain(|(known, _)| *known != name);
            all.push((name, value));
            let refused = owner.post("/payments/new", &all).await;
            assert_eq!(refused.status, 422, "{name}={value}: {}", refused.body);
            assert!(refused.body.contains(words), "{words}: {}", refused.body);
        }
        let page = owner.get("/payments/new").await.body;
        let key = field(&page, "key");
        let draft = [("key", key.as_str()), ("price", "20"), ("price_currency", "usd"), ("pay_currency", "all")];
        let made = owner.post("/payments/new", &draft).await;
        let body = owner.get(made.header("location").unwrap()).await.body;
        assert!(body.contains("the buyer has not chosen a currency"), "{body}");
        // The people of a suspended merchant read, and create nothing.
        desk.gateway.set_suspended(shop.merchant.new.id, true).await.unwrap();
        let mut owner = desk.signed_in_again("o@example.com").await;
        let refused = owner.get("/payments/new").await;
        assert_eq!(refused.status, 403, "{}", refused.body);
        assert!(refused.body.contains("has suspended this merchant"), "{}", refused.body);
        assert_eq!(owner.get("/payments").await.status, 200);
        assert_eq!(shop.number("select count(*) from invoice").await, 2);
        let authors = "select count(*) from audit_entry where operator = 'o@example.com' and subject_kind = 'payment'";
        assert_eq!(shop.number(authors).await, 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payments_page_shows_its_books_and_every_attempt() {
    with_owner(|_, shop, mut owner| async move {
        shop.receiver.answer_first(&[500]);
        let id = shop.invoice_of(json!({ "order_description": HOSTILE })).await;
        shop.pay(&id, "150").await;
        shop.becomes(&id, Status::Overpaid).await;
        let (row, attempts) = shop.delivery_becomes(&id, "delivered").await;
        assert_eq!(attempts.len(), 2);
        shop.run("update delivery_attempt set excerpt = '<script>alert(2)</script>', error = '<b>bad</b>'").await;
        let body = owner.get(&format!("/payments/{id}")).await.body;
        for text in [
            "150 USDT on Polygon credited",
            "available balance",
            "buyer, on polygon",
            "operator",
            "excess",
            "answered 500",
            "&#60;script&#62;alert(2)&#60;/script&#62;",
            "&#60;b&#62;bad",
            &shop.receiver.url,
            &row.event_id,
            "data-action=\"event.resend\"",
        ] {
            assert!(body.contains(text), "{text} in {body}");
        }
        assert!(!body.contains("<script>alert") && !body.contains("<b>bad"), "{body}");
        let event = owner.get(&format!("/events/{}", row.event_id)).await.body;
        for text in ["openssl dgst -sha512", "x-gateway-sig", &row.event_id, &format!("/payments/{id}")] {
            assert!(event.contains(text), "{text} in {event}");
        }
        assert!(!event.contains("<script>alert"), "{event}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_filtered_counted_and_sent_again_together() {
    with_owner(|desk, shop, mut owner| async move {
        shop.receiver.answer(500);
        let ids = [shop.invoice().await, shop.invoice().await];
        for id in &ids {
            shop.pay(id, "100").await;
            shop.becomes(id, Status::Paid).await;
            shop.delivery_becomes(id, "dead").await;
        }
        shop.receiver.answer(200);
        let good = shop.expired(json!({})).await;
        shop.delivery_becomes(&good, "delivered").await;
        let rows = |body: &str| body.matches("data-label=\"Event\"").count();
        for (parameters, count) in [
            ("", 3),
            ("state=dead", 2),
            ("state=delivered", 1),
            ("state=pending", 0),
            ("type=invoice.paid", 2),
            ("type=invoice.expired", 1),
            ("type=invoice.expired&state=dead", 0),
            ("type=invoice.created&state=x", 3),
        ] {
            let body = owner.get(&format!("/events?{parameters}")).await.body;
            assert_eq!(rows(&body), count, "{parameters}: {body}");
        }
        let body = owner.get("/events").await.body;
        let receivers = &body[body.find("id=\"endpoints\"").unwrap()..];
        assert!(receivers.contains("1 of 11") && receivers.contains("failing"), "{receivers}");
        let overview = owner.get("/").await.body;
        assert!(overview.contains("failed 10 of its last 11 attempts"), "{overview}");

        let preview = owner.get("/events/resend?type=invoice.paid").await.body;
        assert!(preview.contains("Send 2 again"), "{preview}");
        assert!(owner.get("/events/resend?state=delivered").await.body.contains("Send 1 again"));
        assert!(
            owner
                .get("/events/resend?type=mass_payout.completed")
                .await
                .body
                .contains("None matches")
        );
        let mut other =
            desk.signed_in("t@example.com", Role::Owner, Some(&desk.merchant().await)).await;
        assert!(other.get("/events/resend").await.body.contains("None matches"));
        let (row, _) = shop.delivery(&ids[0]).await;
        let stolen = other.get(&format!("/events/resend?after={}", row.event_id)).await;
        assert_eq!(stolen.status, 404);
        let done = owner
            .post("/events/resend", &[("state", ""), ("type", "invoice.paid"), ("after", "")])
            .await;
        assert!(done.body.contains("2 webhooks are being sent again"), "{}", done.body);
        for id in &ids {
            shop.delivery_becomes(id, "delivered").await;
        }
        assert!(owner.get("/events/resend").await.body.contains("None matches"));
    })
    .await;
}

/// They are told in the dialect of the old API alone, and have webhooks all the same.
#[tokio::test(flavor = "multi_thread")]
async fn deposits_without_an_invoice_are_found_among_the_webhooks_and_sent_again() {
    with_owner(|_desk, shop, mut owner| async move {
        let gateway = &shop.stack.gateway;
        let mut connection = shop.stack.database.connect().await;
        let caller = access::caller(&mut connection, shop.merchant.new.id).await.unwrap().unwrap();
        let new = NewCallback {
            currency: "USDT.POL".to_owned(),
            ipn_url: Some(shop.receiver.url.clone()),
            label: None,
        };
        let address = gateway.legacy_callback_address(&caller, new).await.unwrap();
        let payee = Payee::Address { network: Network::Polygon, address };
        let paid_in = PaidIn { currency: Some("USDTMATIC".to_owned()), contract: None };
        let (amount, txid) = ("7".to_owned(), None);
        shop.send(&Deposit { payee, paid_in, amount, txid, unconfirmed: false }).await;
        let told = "select count(*) from delivery where state = 'delivered'";
        eventually("it is told", async || (shop.number(told).await == 1).then_some(())).await;
        let listed = owner.get("/events?type=deposit.credited").await.body;
        assert_eq!(listed.matches("data-label=\"Event\"").count(), 1, "{listed}");
        assert!(listed.contains("<option value=\"deposit.credited\" selected>"), "{listed}");
        let none = owner.get("/events?type=invoice.paid").await.body;
        assert_eq!(none.matches("data-label=\"Event\"").count(), 0, "{none}");
        let preview = owner.get("/events/resend?type=deposit.credited&state=delivered").await.body;
        assert!(preview.contains("Send 1 again"), "{preview}");
        let samples = owner.get("/events/test").await.body;
        assert!(!samples.contains("deposit.credited"), "{samples}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_event_shows_the_answer_of_the_receiver() {
    with_owner(|desk, shop, mut owner| async move {
        owner.get("/events/test").await;
        let none = owner.post("/events/test", &[("type", "invoice.paid"), ("url", "")]).await;
        assert_eq!(none.status, 422);
        assert!(none.body.contains("url is required"), "{}", none.body);
        let url = shop.receiver.url.clone();
        let taken = owner.post("/events/test", &[("type", "invoice.paid"), ("url", &url)]).await;
        assert!(
            taken.body.contains(">accepted<") && taken.body.contains("noted"),
            "{}",
            taken.body
        );
        let got = shop.receiver.wait_for(1).await;
        got[0].verify(shop.merchant.new.webhook_secret.reveal());
        assert_eq!(got[0].json()["_gateway"]["test"], true);
        shop.receiver.answer(503);
        let failed =
            owner.post("/events/test", &[("type", "invoice.expired"), ("url", &url)]).await;
        assert!(failed.body.contains("the receiver answered 503"), "{}", failed.body);
        let evil = owner.post("/events/test", &[("type", "invoice.paid"), ("url", HOSTILE)]).await;
        assert_eq!(evil.status, 422);
        assert!(!evil.body.contains("<script>alert"), "{}", evil.body);
        desk.stack.sql("update guess_budget set guesses = 60 where key like 'test-event:%'").await;
        let over = owner.post("/events/test", &[("type", "invoice.paid"), ("url", &url)]).await;
        assert_eq!(over.status, 429, "{}", over.body);
        assert!(over.body.contains("too many test events; wait 15 minutes"), "{}", over.body);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_balance_and_its_statement_are_the_books() {
    with_owner(|desk, shop, mut owner| async move {
        let id = shop.invoice().await;
        shop.pay(&id, "100").await;
        shop.becomes(&id, Status::Paid).await;
        let body = owner.get("/balance").await.body;
        let balance = between(&body, "id=\"balance\"", "</section>");
        assert!(balance.contains("USDT") && balance.contains(">100<"), "{balance}");
        let statement = &body[body.find("statement-title").unwrap()..];
        assert!(statement.contains("+100") && statement.contains("available"), "{statement}");
        assert_eq!(linked(statement), [id]);
        assert!(!owner.get("/balance?currency=btc@bitcoin").await.body.contains("+100"));
        assert!(owner.get("/balance?currency=usdtmatic@polygon&fiat=eur").await.body.contains("+100"));
        let theirs = desk.merchant().await;
        let mut other = desk.signed_in("t@example.com", Role::Viewer, Some(&theirs)).await;
        let empty = other.get("/balance").await.body;
        assert!(empty.contains("Nothing yet.") && empty.contains("No entries."), "{empty}");

        shop.run(
            "insert into ledger_entry (kind, source, asset, debit, credit, amount)
             select 'late_deposit', gen_random_uuid(), 'usdtmatic@polygon', 'custody:polygon', 'late:' || merchant_id, 1000000 + n
             from (select merchant_id from invoice limit 1) as one, generate_series(1, 59) as n",
        )
        .await;
        let (mut path, mut amounts) = ("/balance?currency=usdtmatic@polygon".to_owned(), Vec::new());
        loop {
            let body = owner.get(&path).await.body;
            let rows = body.split("data-label=\"Amount\" class=\"number\">").skip(1);
            amounts.extend(rows.map(|rest| rest.split('<').next().unwrap().to_owned()));
            let Some((_, rest)) = body.split_once("rel=\"next\" href=\"") else { break };
            path = rest.split('"').next().unwrap().replace("&#38;", "&");
        }
        let mut wanted: Vec<_> = (1..=59).rev().map(|n| format!("+1.{n:06}").trim_end_matches('0').to_owned()).collect();
        wanted.push("+100".to_owned());
        assert_eq!(amounts, wanted);
        for odd in ["/balance?older=x", "/balance?currency=%27", "/balance?fiat=xyz", "/balance?older=-5"] {
            assert_eq!(owner.get(odd).await.status, 200, "{odd}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_of_two_who_change_settings_at_once_is_refused_with_a_reason() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut one = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        let mut two = desk.signed_in("p@example.com", Role::Owner, Some(&merchant)).await;
        let version = field(&one.get("/settings").await.body, "version");
        assert_eq!(field(&two.get("/settings").await.body, "version"), version);
        let fields = |name, bps| {
            [
                ("version", version.as_str()),
                ("name", name),
                ("overpay_bps", bps),
                ("payment_window", "900"),
                ("selection_window", "900"),
                ("accept", "btc@bitcoin"),
                ("accept", "usdtmatic@polygon"),
                ("payout_webhook_url", "https://shop.example/payouts"),
            ]
        };
        assert_eq!(one.post("/settings", &fields(HOSTILE, "100")).await.status, 303);
        let refused = two.post("/settings", &fields("Second", "200")).await;
        assert_eq!(refused.status, 422);
        assert!(refused.body.contains("somebody changed this meanwhile"), "{}", refused.body);
        let row = desk.gateway.merchant(merchant.new.id).await.unwrap();
        assert_eq!((row.name.as_str(), row.overpay_bps), (HOSTILE, 100));
        let accepted = ["btc@bitcoin", "usdtmatic@polygon"].map(str::to_owned).to_vec();
        assert_eq!(row.accepted_tokens, Some(accepted));
        for page in ["/settings", "/", "/payments", "/events", "/balance", "/developers"] {
            let body = two.get(page).await.body;
            assert!(!body.contains("<script>alert"), "{page}: {body}");
        }
        // The page that refused shows the settings as they are, and its form is taken.
        let fresh = field(&refused.body, "version");
        let mut again = fields("Second", "200");
        again[0] = ("version", fresh.as_str());
        assert_eq!(two.post("/settings", &again).await.status, 303);
        // No currency at all is none of the choices.
        let fresh = field(&two.get("/settings").await.body, "version");
        let mut none = fields("Second", "200").to_vec();
        none[0] = ("version", fresh.as_str());
        none.retain(|(name, _)| *name != "accept");
        let refused = two.post("/settings", &none).await;
        assert_eq!(refused.status, 422, "{}", refused.body);
        assert!(refused.body.contains("Tick at least one currency"), "{}", refused.body);
        let text = two.get("/developers").await.body;
        assert!(
            text.contains(&merchant.new.id.to_string()) && text.contains("/v1/payment"),
            "{text}"
        );
    })
    .await;
}
