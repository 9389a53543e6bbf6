//! Processes that are killed at named moments, between steps that must survive each other (F1, F2,
//! F4 to F9, F11, F12).
//!
//! For each moment: a process is killed there in the middle of an order, another one starts, and in
//! the end every order is paid, delivered and booked once. A moment at which no process is killed
//! fails.

use std::{collections::BTreeSet, time::Duration};

use gateway::{
    app::link::order::OrderForm, broker::route::DeadLetterQueue, merchant::settings::Settings,
};
use serde_json::json;
use sqlx::{Connection, PgConnection};
use support::{
    client::exchange::{Exchange, Lost},
    fault::fired::died_at,
    server::{
        broker::with_broker,
        database::TestDatabase,
        installation::{Installation, Program},
        processes::within,
    },
    shop::{
        receiver::Receiver,
        trade::{self, Order, Shop, stored_order_ids},
        unconfirmed,
    },
};

const DEATH_LIMIT: Duration = Duration::from_secs(60);
const RECOVERY_LIMIT: Duration = Duration::from_secs(90);
const FAIL_POINT: &str = "FAIL_POINT";

/// Roles of a trade. Each moment is in one of them; the others go on running.
const ROLES: [&str; 4] = ["chain-watcher", "deposit-matching", "ipn-delivery", "rate-refresher"];

const MOMENTS: [(&str, &str); 7] = [
    ("watch.written", "chain-watcher"),
    ("watch.committed", "chain-watcher"),
    ("match.written", "deposit-matching"),
    ("match.committed", "deposit-matching"),
    ("ipn.sending", "ipn-delivery"),
    ("ipn.answered", "ipn-delivery"),
    ("ipn.recorded", "ipn-delivery"),
];

/// Attempts of one delivery before it is dead-lettered (spec, "Retries").
const ATTEMPTS: usize = 5;

/// An invoice with a payment on its way is decided by itself, all others many at a time.
const EXPIRIES: [(&str, bool); 4] = [
    ("expire.written", false),
    ("expire.committed", false),
    ("expire_one.written", true),
    ("expire_one.committed", true),
];

async fn with_installation<F: Future<Output = ()>>(test: impl FnOnce(Installation) -> F) {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        test(Installation::new(&database.url, &(&*broker).into(), &[])).await;
        database.remove().await;
    })
    .await;
}

/// A program that can do its work, and is killed when it reaches `moment`.
async fn doomed(installation: &Installation, name: &str, roles: &[&str], moment: &str) -> Program {
    let program = installation.launch(name, roles, &[(FAIL_POINT, moment)]);
    program.ready().await;
    program
}

async fn dies(program: Program, moment: &str) {
    program.process.ended(DEATH_LIMIT).await;
    let said = program.process.said();
    assert!(said.contains(&format!("dies at {moment}")), "{moment}: it ended otherwise\n{said}");
    died_at(moment);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_dies_between_any_two_steps_leaves_every_order_done_once() {
    with_installation(|installation| async move {
        let api = installation.start_api().await;
        let shop = Shop::open(&installation, MOMENTS.len()).await;
        let mut orders: Vec<Order> = Vec::new();
        for (moment, role) in MOMENTS {
            let others: Vec<_> = ROLES.into_iter().filter(|other| *other != role).collect();
            let others = installation.start_workers(&others).await;
            let victim = doomed(&installation, "gateway-worker", &[role], moment).await;
            api.ready().await;
            let order = shop.create(&installation, 1).await;
            shop.pay(&installation, &order).await;
            dies(victim, moment).await;
            orders.extend(order);
            // The sweeper is part of the recovery: a message may have been lost with the process.
            let successor = installation.start_workers(&[role, "expiry-timer", "sweeper"]).await;
            let outcome = shop.converge(&installation, &orders, RECOVERY_LIMIT).await;
            println!("{moment}: {outcome:?}");
            drop((others, successor));
        }
    })
    .await;
}

/// An order is paid whose merchant refuses its webhook, by workers that are killed at `moment`,
/// `deaths` times.
async fn refused_around(installation: &Installation, moment: &str, deaths: usize) -> Shop {
    let api = installation.start_api().await;
    let others: Vec<_> = ROLES.into_iter().filter(|role| *role != "ipn-delivery").collect();
    let others = installation.start_workers(&others).await;
    api.ready().await;
    let shop = Shop::open(installation, 1).await;
    shop.receiver.answer(500);
    let order = shop.create(installation, 1).await;
    shop.pay(installation, &order).await;
    for _ in 0..deaths {
        let victim =
            installation.launch("gateway-worker", &["ipn-delivery"], &[(FAIL_POINT, moment)]);
        dies(victim, moment).await;
    }
    let successor = installation.start_workers(&["ipn-delivery", "sweeper"]).await;
    within(RECOVERY_LIMIT, "it is given up", async || given_up(installation).await).await;
    drop((others, successor));
    shop
}

/// The only delivery is dead after five attempts, and no further message is queued.
async fn given_up(installation: &Installation) -> Result<(), String> {
    let connecting = PgConnection::connect(&installation.database_url);
    let mut connection = connecting.await.map_err(|error| error.to_string())?;
    let query = sqlx::query_as(
        "select state, attempts, (select count(*) from delivery_attempt), (select count(*) from outbox) from delivery",
    );
    let found: Option<(String, i16, i64, i64)> =
        query.fetch_optional(&mut connection).await.map_err(|error| error.to_string())?;
    let wanted = ("dead".to_owned(), 5, 5, 0);
    found.as_ref().filter(|found| **found == wanted).map(drop).ok_or_else(|| format!("{found:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_that_die_after_each_refused_attempt_make_five_and_park_one_dead_letter() {
    with_installation(|installation| async move {
        let shop = refused_around(&installation, "ipn.recorded", ATTEMPTS).await;
        assert_eq!(
            shop.receiver.received().len(),
            ATTEMPTS,
            "each was on record when its worker died"
        );
        assert_eq!(trade::dead_letters(&installation, DeadLetterQueue::Ipn).await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_dies_before_it_records_a_refusal_has_its_attempt_made_again() {
    with_installation(|installation| async move {
        let shop = refused_around(&installation, "ipn.answered", 1).await;
        assert_eq!(shop.receiver.received().len(), ATTEMPTS + 1, "the first was not on record");
        assert_eq!(trade::dead_letters(&installation, DeadLetterQueue::Ipn).await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_that_dies_around_its_commit_gives_one_invoice_to_a_repeated_request() {
    with_installation(|installation| async move {
        let workers = installation.start_workers(&["all"]).await;
        workers.ready().await;
        let shop = Shop::open(&installation, 10).await;
        for moment in ["create.written", "create.committed"] {
            let victim = doomed(&installation, "gateway-api", &[], moment).await;
            let (request, order_id) = with_idempotency_key(&shop, moment);
            let lost = request.once(installation.api).await;
            assert!(matches!(lost, Err(Lost::Cut(_))), "{moment}: {lost:?}");
            dies(victim, moment).await;
            let stored = stored_order_ids(&installation).await.contains(&order_id);
            assert_eq!(stored, moment == "create.committed", "{moment}");

            let successor = installation.start_api().await;
            successor.ready().await;
            let answer = request.once(installation.api).await.unwrap();
            let again = request.once(installation.api).await.unwrap();
            assert_eq!((answer.status, again.status), (201, 201), "{}", answer.body);
            assert_eq!(answer.body, again.body, "{moment}");
            let replayed = answer.header("x-gateway-idempotent-replay").is_some();
            assert_eq!(replayed, stored, "{moment}");
            let order = Shop::order(&answer, order_id, 0);
            shop.pay(&installation, &[order]).await;
        }
        within(RECOVERY_LIMIT, "both orders are told", async || {
            let told = shop.receiver.received().len();
            if told >= 2 { Ok(()) } else { Err(format!("{told} IPNs")) }
        })
        .await;
        let ids = stored_order_ids(&installation).await;
        assert_eq!(ids.len(), 2, "{ids:?}");
    })
    .await;
}

/// The shop's next order of its first merchant, under an idempotency key.
fn with_idempotency_key(shop: &Shop, key: &str) -> (Exchange, String) {
    let (mut request, order_id, _) = shop.next();
    request.headers.push(("idempotency-key".into(), key.into()));
    (request, order_id)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_dies_after_the_confirm_publishes_again_and_nothing_happens_twice() {
    with_installation(|installation| async move {
        let workers = installation.start_workers(&["all"]).await;
        workers.ready().await;
        let shop = Shop::open(&installation, 4).await;
        // The first message that it publishes kills it, whoever caused that.
        let victim = installation.launch("gateway-api", &[], &[(FAIL_POINT, "relay.confirmed")]);
        victim.listening().await;
        // Its response may come or not: the relay dies beside it.
        let (request, order_id, _) = shop.next();
        let _ = request.once(installation.api).await;
        dies(victim, "relay.confirmed").await;
        assert!(stored_order_ids(&installation).await.contains(&order_id));
        let successor = installation.start_api().await;
        successor.ready().await;
        let client = installation.client(shop.key());
        let answer = client.get(&format!("/v1/payment/{order_id}")).await;
        let order = Shop::order(&answer, order_id, 0);
        shop.pay(&installation, std::slice::from_ref(&order)).await;
        let outcome = shop.converge(&installation, &[order], RECOVERY_LIMIT).await;
        println!("relay.confirmed: {outcome:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expiry_timer_killed_around_its_commit_sends_one_expired_event() {
    with_installation(|installation| async move {
        let api = installation.start_api().await;
        let others = ["chain-watcher", "ipn-delivery", "rate-refresher", "sweeper"];
        let others = installation.start_workers(&others).await;
        others.ready().await;
        api.ready().await;
        let receiver = Receiver::answering(200).await;
        for (told, (moment, paid_in_part)) in EXPIRIES.into_iter().enumerate() {
            let id = create_hasty(&installation, &receiver).await;
            if paid_in_part {
                let part = unconfirmed(&id, "1");
                installation.gateway.simulate_deposit(&part).await.unwrap();
            }
            let ripe = format!("{moment}: the deadline can be decided");
            within(RECOVERY_LIMIT, &ripe, async || ripe_for_expiry(&installation, &id).await).await;
            // It may die before any response.
            let role = ["expiry-timer"];
            let victim = installation.launch("gateway-worker", &role, &[(FAIL_POINT, moment)]);
            dies(victim, moment).await;
            let successor = installation.start_workers(&["expiry-timer"]).await;
            let ipns = receiver.wait_for(told + 1).await;
            assert_eq!(ipns.len(), told + 1, "{moment}");
            assert_eq!(ipns[told].json()["payment_status"], "expired");
            drop(successor);
        }
        // Its message follows all those that the killed process left behind, so none of them can
        // still be delivered.
        let _calm = installation.start_workers(&["expiry-timer"]).await;
        create_hasty(&installation, &receiver).await;
        let all = EXPIRIES.len() + 1;
        receiver.wait_for(all).await;
        within(RECOVERY_LIMIT, "all is told", async || settled(&installation).await).await;
        let mut connection = PgConnection::connect(&installation.database_url).await.unwrap();
        let query = sqlx::query_scalar("select event_id from delivery where kind = 'expired'");
        let written: BTreeSet<String> =
            query.fetch_all(&mut connection).await.unwrap().into_iter().collect();
        let received = receiver.received();
        let ids: BTreeSet<_> =
            received.iter().map(|ipn| ipn.header("x-gateway-event-id").to_owned()).collect();
        assert_eq!((written.len(), received.len()), (all, all), "events, IPNs");
        assert_eq!(written, ids);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expiry_timer_killed_around_a_reminder_sends_each_day_once() {
    with_installation(|installation| async move {
        let api = installation.start_api().await;
        let others =
            installation.start_workers(&["ipn-delivery", "rate-refresher", "sweeper"]).await;
        others.ready().await;
        api.ready().await;
        let receiver = Receiver::answering(200).await;
        let link_id = create_weekly(&installation, &receiver).await;
        for (told, moment) in ["remind.written", "remind.committed"].into_iter().enumerate() {
            let email = format!("a{told}@example.com");
            within(RECOVERY_LIMIT, "somebody subscribes", async || {
                let form = OrderForm { email: email.clone(), ..OrderForm::default() };
                let ordered =
                    installation.gateway.order_by_link(&link_id, "192.0.2.1", &form).await;
                ordered.map(|_| ()).map_err(|error| error.to_string())
            })
            .await;
            pass_a_renewal(&installation).await;
            let role = ["expiry-timer"];
            let victim = installation.launch("gateway-worker", &role, &[(FAIL_POINT, moment)]);
            dies(victim, moment).await;
            let successor = installation.start_workers(&role).await;
            receiver.wait_for(7 * (told + 1)).await;
            within(RECOVERY_LIMIT, "all is told", async || delivered(&installation).await).await;
            drop(successor);
        }
        let mut told: Vec<_> = receiver
            .received()
            .iter()
            .map(|ipn| {
                let body = ipn.json();
                let day = body["_gateway"]["renewal"]["day_offset"].as_i64().unwrap();
                (body["subscriber_email"].as_str().unwrap().to_owned(), day)
            })
            .collect();
        told.sort();
        let expected: Vec<_> = ["a0@example.com", "a1@example.com"]
            .into_iter()
            .flat_map(|email| (-3..=3).map(move |day| (email.to_owned(), day)))
            .collect();
        assert_eq!(told, expected);
    })
    .await;
}

/// A link of a weekly subscription.
async fn create_weekly(installation: &Installation, receiver: &Receiver) -> String {
    let merchant =
        installation.gateway.create_merchant("Weekly", Settings::default()).await.unwrap();
    let body = json!({
        "type": "subscription", "title": "Weekly", "price_amount": 10, "price_currency": "usd", "interval": "week",
        "ipn_callback_url": receiver.url,
    });
    let created = installation.client(merchant.api_key.reveal()).post("/v1/links", &body).await;
    assert_eq!(created.status, 201, "{}", created.body);
    created.json()["link_id"].as_str().unwrap().to_owned()
}

/// Lets the new subscription be one that was paid eleven days ago: its renewal is four days over.
async fn pass_a_renewal(installation: &Installation) {
    let mut connection = PgConnection::connect(&installation.database_url).await.unwrap();
    let paid = "update subscription
        set state = 'active', covered = 1, payments = 1, anchor = now() - interval '11 days', due_at = now()
        where state = 'pending'";
    let done = sqlx::query(paid).execute(&mut connection).await.unwrap();
    assert_eq!(done.rows_affected(), 1);
}

/// No message waits to be published or delivered.
async fn delivered(installation: &Installation) -> Result<(), String> {
    let connecting = PgConnection::connect(&installation.database_url);
    let mut connection = connecting.await.map_err(|error| error.to_string())?;
    let query = sqlx::query_scalar(
        "select (select count(*) from outbox)
             + (select count(*) from delivery where state <> 'delivered')",
    );
    let open: i64 = query.fetch_one(&mut connection).await.map_err(|error| error.to_string())?;
    if open == 0 { Ok(()) } else { Err(format!("{open} rows are still to be worked on")) }
}

/// An invoice that expires after two seconds.
async fn create_hasty(installation: &Installation, receiver: &Receiver) -> String {
    let settings = Settings { payment_window_seconds: 2, ..Settings::default() };
    let merchant = installation.gateway.create_merchant("Hasty", settings).await.unwrap();
    let body = json!({
        "price_amount": 9, "price_currency": "usd", "pay_currency": "usdtmatic",
        "ipn_callback_url": receiver.url,
    });
    let client = installation.client(merchant.api_key.reveal());
    let created = client.post("/v1/payment", &body).await;
    assert_eq!(created.status, 201, "{}", created.body);
    created.json()["payment_id"].as_str().unwrap().to_owned()
}

/// The watcher has looked beyond its deadline, and has seen its payments.
async fn ripe_for_expiry(installation: &Installation, payment_id: &str) -> Result<(), String> {
    let connecting = PgConnection::connect(&installation.database_url);
    let mut connection = connecting.await.map_err(|error| error.to_string())?;
    let query = sqlx::query_scalar(
        "select watched_through > deadline_at
                and (select count(*) from deposit where invoice_id = invoice.id)
                  = (select count(*) from sim_transfer where lower(address) = lower(pay_address))
         from invoice join chain_cursor using (network) where payment_id = $1",
    );
    let is_ripe = query.bind(payment_id).fetch_optional(&mut connection).await;
    match is_ripe.map_err(|error| error.to_string())? {
        Some(true) => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// No timer is due, no message waits to be published or delivered.
async fn settled(installation: &Installation) -> Result<(), String> {
    let connecting = PgConnection::connect(&installation.database_url);
    let mut connection = connecting.await.map_err(|error| error.to_string())?;
    let query = sqlx::query_scalar(
        "select (select count(*) from timer) + (select count(*) from outbox)
             + (select count(*) from delivery where state <> 'delivered')",
    );
    let open: i64 = query.fetch_one(&mut connection).await.map_err(|error| error.to_string())?;
    if open == 0 { Ok(()) } else { Err(format!("{open} rows are still to be worked on")) }
}
