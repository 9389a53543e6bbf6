//! A storm of deadlines (F52): all within one second, of many merchants with receivers of their
//! own, one of which has more of them than any other and is slow. In the middle both expiry workers
//! are killed, and their queued messages are lost (F53).
//!
//! `GATEWAY_TEST_DEADLINES` sets the number; `make test-faults` sets a hundred thousand.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
    time::{Duration, Instant},
};

use gateway::{
    app::merchant::manage::NewMerchant,
    asset::Network,
    broker::route::{Route, WorkQueue},
    merchant::settings::Settings,
};
use serde_json::json;
use sqlx::PgConnection;
use support::{
    fault::fired::fired,
    server::{
        broker::{TestBroker, with_broker},
        database::TestDatabase,
        installation::{Installation, Program},
        processes::{Signal, within},
    },
    shop::{
        receiver::{Received, Receiver},
        unconfirmed,
    },
};
use uuid::Uuid;

const DEADLINES: usize = 2_000;
const MERCHANTS: usize = 50;
/// The first merchant has this part of all deadlines, up to a maximum: once the others are done,
/// the time for its deliveries depends on its few slots, some thirty a second.
const HOT_PART: usize = 4;
const HOT_MAX: usize = 2_500;
const HOT_PAUSE: Duration = Duration::from_millis(100);
/// Everything is delivered within a minute plus the time of the slowest step at this rate. Two busy
/// cores reach several times this rate in a debug build.
const SPARE: Duration = Duration::from_secs(60);
const TOLD_PER_SECOND_MIN: usize = 100;
/// Maximum by which the wait of the other merchants' events may exceed that of the merchant with
/// the many and slow ones.
const BEHIND_THE_HOT_MAX_MS: f64 = 5_000.0;
/// One IPN of this many is verified; a debug build takes a while for each.
const VERIFY_EVERY: usize = 20;

/// Copies of one row `$1`, `$2` more that end within the second that began at `$3`.
const COPIES: &str = "
    with copy as (
        insert into invoice select (jsonb_populate_record(original, jsonb_build_object(
            'id', gen_random_uuid(), 'payment_id', 'pzi_' || md5(original.id::text || n),
            'deadline_at', $3 + (n - 1) * interval '1 second' / $2::int))).*
        from invoice original, generate_series(1, $2::int) as n where original.id = $1
        returning id, deadline_at
    )
    insert into timer (kind, ref, due_at) select 'invoice_deadline', id, deadline_at from copy";

struct Shop {
    merchant: NewMerchant,
    receiver: Receiver,
    /// An invoice with an address of its own; the others are its copies.
    payment_id: String,
}

fn deadlines() -> usize {
    std::env::var("GATEWAY_TEST_DEADLINES").map_or(DEADLINES, |text| text.parse().unwrap())
}

async fn number(connection: &mut PgConnection, query: &'static str) -> usize {
    let number: i64 = sqlx::query_scalar(query).fetch_one(connection).await.unwrap();
    usize::try_from(number).unwrap()
}

/// A merchant with one invoice, and a receiver at an address of its own: attempts at one host are
/// limited.
async fn open(installation: &Installation, place: usize) -> Shop {
    let host = Ipv4Addr::new(127, 4, 0, u8::try_from(place + 1).unwrap());
    let pause = if place == 0 { HOT_PAUSE } else { Duration::ZERO };
    let receiver = Receiver::at(host.into(), 200, pause).await;
    let merchant = installation.gateway.create_merchant("Stormy", Settings::default()).await;
    let merchant = merchant.unwrap();
    let body = json!({
        "price_amount": 100, "price_currency": "usd", "pay_currency": "usdtmatic",
        "ipn_callback_url": receiver.url,
    });
    let created = installation.client(merchant.api_key.reveal()).post("/v1/payment", &body).await;
    assert_eq!(created.status, 201, "{}", created.body);
    let payment_id = created.json()["payment_id"].as_str().unwrap().to_owned();
    Shop { merchant, receiver, payment_id }
}

/// Moves `count` deadlines into one second, which is over by now.
async fn gather(connection: &mut PgConnection, shops: &[Shop], count: usize) {
    let began = Instant::now();
    let second: chrono::DateTime<chrono::Utc> =
        sqlx::query_scalar("select now() - interval '1 second'")
            .fetch_one(&mut *connection)
            .await
            .unwrap();
    let hot = (count / HOT_PART).min(HOT_MAX);
    let others = (count - hot).div_ceil(shops.len() - 1);
    for (place, shop) in shops.iter().enumerate() {
        // Including the original.
        let copies = if place == 0 { hot - 1 } else { others - 1 };
        let moved =
            "with moved as (update invoice set deadline_at = $2 where payment_id = $1 returning id)
                     update timer set due_at = $2 from moved where ref = moved.id returning ref";
        let moved = sqlx::query_scalar(moved).bind(&shop.payment_id).bind(second);
        let original: Uuid = moved.fetch_one(&mut *connection).await.unwrap();
        let copies =
            sqlx::query(COPIES).bind(original).bind(i32::try_from(copies).unwrap()).bind(second);
        copies.execute(&mut *connection).await.unwrap();
    }
    sqlx::query("analyze").execute(connection).await.unwrap();
    println!("{count} deadlines of one second after {:?}", began.elapsed());
}

/// Waits until no more than `count` timers are left.
async fn until_left(connection: &mut PgConnection, count: usize, limit: Duration) {
    within(limit, &format!("{count} deadlines are left"), async || {
        match number(connection, "select count(*) from timer").await {
            left if left <= count => Ok(()),
            left => Err(format!("{left} deadlines are left")),
        }
    })
    .await;
}

/// The workers are killed, deadlines continue to fire, and the broker loses the queued messages.
/// Returns their number.
async fn lose(
    installation: &Installation,
    broker: &TestBroker,
    connection: &mut PgConnection,
    workers: Vec<Program>,
) -> usize {
    for worker in workers {
        worker.process.signal(Signal::Kill);
    }
    installation.gateway.ring_timers().await.unwrap();
    let route = Route::Expiry.as_str();
    within(SPARE, "what rang is in the broker", async || {
        let query = sqlx::query_scalar("select count(*) from outbox where route = $1");
        let left: i64 = query.bind(route).fetch_one(&mut *connection).await.unwrap();
        if left == 0 { Ok(()) } else { Err(format!("{left} messages in the outbox")) }
    })
    .await;
    let lost = broker.purge(&broker.topology.work_queue(WorkQueue::Expiry)).await;
    // Lost ones fire again after a minute, which the test does not wait for.
    let minute = "update timer set due_at = due_at - interval '60 seconds' where due_at > now()";
    sqlx::query(minute).execute(connection).await.unwrap();
    usize::try_from(lost).unwrap()
}

/// One buyer of each merchant pays when their own deadline is over and others are not yet.
async fn pay_late(installation: &Installation, connection: &mut PgConnection, shops: &[Shop]) {
    let ids: Vec<_> = shops.iter().map(|shop| shop.payment_id.clone()).collect();
    within(SPARE, "what ended first has expired", async || {
        let query =
            "select count(*) from invoice where payment_id = any ($1) and status <> 'expired'";
        let open: i64 =
            sqlx::query_scalar(query).bind(&ids).fetch_one(&mut *connection).await.unwrap();
        if open == 0 { Ok(()) } else { Err(format!("{open} are open")) }
    })
    .await;
    for id in &ids {
        installation.gateway.simulate_deposit(&unconfirmed(id, "100")).await.unwrap();
    }
    let settings = installation.gateway.config.chain(Network::Polygon);
    let confirmations = u32::try_from(settings.confirmations).unwrap();
    installation.gateway.simulate_mine(Network::Polygon, confirmations).await.unwrap();
}

/// Each invoice has expired, with one event for it; those that were paid too late have another one
/// for that.
async fn check_rows(connection: &mut PgConnection, all: usize, paid_late: usize) {
    for (query, expected) in [
        ("select count(*) from invoice where status = 'expired'", all),
        ("select count(*) from delivery where kind = 'expired'", all),
        ("select count(distinct invoice_id) from delivery where kind = 'expired'", all),
        ("select count(*) from delivery where kind = 'late_deposit_received'", paid_late),
        ("select count(*) from delivery", all + paid_late),
        ("select count(*) from timer", 0),
    ] {
        assert_eq!(number(connection, query).await, expected, "{query}");
    }
}

/// Milliseconds from an event to its merchant's response, 99th percentile: of this merchant, and of
/// all others.
async fn waited(connection: &mut PgConnection, hot: Uuid) -> (f64, f64) {
    let query = "
        with took as (
            select d.merchant_id = $1 as is_hot,
                   extract(epoch from a.started_at - d.created_at)::float8 * 1000 + a.duration_ms as ms
            from delivery d join delivery_attempt a on a.delivery_id = d.id)
        select percentile_cont(0.99) within group (order by ms) filter (where is_hot),
               percentile_cont(0.99) within group (order by ms) filter (where not is_hot) from took";
    sqlx::query_as(query).bind(hot).fetch_one(connection).await.unwrap()
}

/// Each event of the merchant reached its receiver under one id, and no other did. Returns the
/// number of repeated POSTs.
async fn check_told(connection: &mut PgConnection, shop: &Shop) -> usize {
    let query =
        "select event_id, (select count(*) from delivery_attempt where delivery_id = delivery.id)
                 from delivery where merchant_id = $1";
    let query = sqlx::query_as(query).bind(shop.merchant.id);
    let written: Vec<(String, i64)> = query.fetch_all(connection).await.unwrap();
    let posts = shop.receiver.received();
    for post in posts.iter().step_by(VERIFY_EVERY) {
        post.verify(shop.merchant.webhook_secret.reveal());
    }
    let mut told: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for post in &posts {
        let id = post.header("x-gateway-event-id");
        told.entry(subject(post)).or_default().insert(id);
        *counts.entry(id).or_default() += 1;
    }
    let double: Vec<_> = told.iter().filter(|(_, ids)| ids.len() > 1).collect();
    assert!(double.is_empty(), "told as several events: {double:?}");
    assert_eq!(counts.len(), written.len(), "events told and written");
    for (id, attempts) in &written {
        let posts = counts.get(id.as_str()).copied().unwrap_or_default();
        // Relays of the killed processes have published messages that they could not delete, and
        // both copies may be sent at once.
        assert!((1..=attempts + 1).contains(&posts), "{id}: {posts} POSTs, {attempts} attempts");
    }
    check_order(shop, &posts);
    posts.len() - counts.len()
}

/// Subject of a POST: the invoice, and its end or its late payment.
fn subject(post: &Received) -> (String, String) {
    let ipn = post.json();
    assert_eq!(ipn["payment_status"], "expired");
    (
        ipn["payment_id"].as_str().unwrap().to_owned(),
        format!("{:?}", ipn.pointer("/_gateway/notice/type")),
    )
}

/// For the invoice with two events: each has the time at which its state arose, in the order of the
/// received amounts.
fn check_order(shop: &Shop, posts: &[Received]) {
    let told = posts.iter().map(Received::json);
    let of_both = told.filter(|ipn| ipn["payment_id"] == shop.payment_id.as_str());
    let mut of_both: Vec<_> = of_both.collect();
    of_both.sort_by_key(|ipn| ipn["updated_at"].as_str().unwrap().to_owned());
    of_both.dedup_by_key(|ipn| ipn["event_id"].clone());
    let received: Vec<_> = of_both.iter().map(|ipn| ipn["actually_paid"].to_string()).collect();
    assert_eq!(received, ["0", "100"], "{of_both:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_deadlines_sends_one_event_each_although_its_messages_are_lost() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let api = installation.start_api().await;
        let others = ["chain-watcher", "deposit-matching", "rate-refresher", "sweeper"];
        let others = installation.start_workers(&others).await;
        let deliverers = [
            installation.start_workers(&["ipn-delivery"]).await,
            installation.start_workers(&["ipn-delivery"]).await,
        ];
        for program in [&api, &others].into_iter().chain(&deliverers) {
            program.ready().await;
        }
        let mut shops = Vec::new();
        for place in 0..=MERCHANTS {
            shops.push(open(&installation, place).await);
        }
        let mut connection = database.connect().await;
        gather(&mut connection, &shops, deadlines()).await;
        let all = number(&mut connection, "select count(*) from timer").await;
        let limit = SPARE + Duration::from_secs((all / TOLD_PER_SECOND_MIN) as u64);

        let began = Instant::now();
        let two = async || {
            let start = || installation.launch("gateway-worker", &["expiry-timer"], &[]);
            let workers = vec![start(), start()];
            for worker in &workers {
                worker.listening().await;
            }
            workers
        };
        let workers = two().await;
        until_left(&mut connection, all * 2 / 3, limit).await;
        let lost = lose(&installation, &broker, &mut connection, workers).await;
        println!("{lost} messages lost after {:?}", began.elapsed());
        assert!(lost > 0, "no message was lost");
        let _workers = two().await;
        pay_late(&installation, &mut connection, &shops).await;
        until_left(&mut connection, 0, limit.saturating_sub(began.elapsed())).await;
        println!("all decided after {:?}", began.elapsed());
        let open = "select (select count(*) from delivery where state <> 'delivered') + (select count(*) from outbox)
                         + (select count(*) from deposit where state <> 'settled')";
        within(limit.saturating_sub(began.elapsed()), "all is told", async || {
            match number(&mut connection, open).await {
                0 => Ok(()),
                left => Err(format!("{left} rows are still to be worked on")),
            }
        })
        .await;
        println!("all told after {:?}", began.elapsed());

        check_rows(&mut connection, all, shops.len()).await;
        let mut repeats = 0;
        for shop in &shops {
            repeats += check_told(&mut connection, shop).await;
        }
        let (hot, rest) = waited(&mut connection, shops[0].merchant.id).await;
        println!("{repeats} POSTs repeated; 99 of 100 waited {hot} ms for the hot one, {rest} ms for others");
        assert!(rest <= hot + BEHIND_THE_HOT_MAX_MS, "the others waited longer than the hot one");
        fired(all);
        database.remove().await;
    })
    .await;
}
