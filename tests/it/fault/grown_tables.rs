//! Tables after years of work (F58): trade goes on over indexes, and what may be forgotten goes faster than it comes.
//!
//! `GATEWAY_TEST_ROWS` says how many rows the tables have that are swept; those that are kept for ever have a tenth. `make
//! test-faults` sets ten million.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use gateway::app::sweep::SweepMemory;
use serde_json::json;
use sqlx::{Connection, Executor, PgConnection};
use support::{
    broker::with_broker,
    installation::Installation,
    private_postgres::private_postgres,
    processes::{Signal, within},
    trade::{Order, Shop},
};

const ROWS: i64 = 100_000;
const ORDERS: usize = 12;
const LIMIT: Duration = Duration::from_secs(120);
/// What the sweeper gives one sweep.
const SWEEP_LIMIT: Duration = Duration::from_secs(60);
const FILL: &str = include_str!("grown_tables.sql");
/// Small tables are read whole, and should be; so is `deposit_address`, by a watcher that starts.
const GROWN: &str = "
    select relname::text, coalesce(seq_scan, 0) from pg_stat_user_tables
    where relname in ('invoice', 'deposit', 'delivery', 'delivery_attempt', 'ledger_entry',
        'idempotency', 'request_window')";

fn rows() -> i64 {
    std::env::var("GATEWAY_TEST_ROWS").map_or(ROWS, |text| text.parse().unwrap())
}

/// Copies one finished order's rows.
async fn fill(hand: &mut PgConnection, rows: i64) {
    let started = Instant::now();
    // What is filled here is not what is tested; without it ten million rows take an hour.
    hand.execute("set synchronous_commit = off").await.unwrap();
    for statement in FILL.split(";\n").filter(|statement| !statement.trim().is_empty()) {
        let count = if statement.contains("-- swept") { rows } else { rows / 10 };
        let statement = statement.replace("$1", &count.to_string());
        hand.execute(sqlx::AssertSqlSafe(statement)).await.unwrap();
    }
    hand.execute("analyze").await.unwrap();
    // A session tells its own reads at most once a second; these would be counted as the programs'.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    hand.execute("select 1").await.unwrap();
    println!("{rows} rows after {:?}", started.elapsed());
}

async fn scans(hand: &mut PgConnection) -> BTreeMap<String, i64> {
    let scans: Vec<(String, i64)> = sqlx::query_as(GROWN).fetch_all(hand).await.unwrap();
    scans.into_iter().collect()
}

async fn count(hand: &mut PgConnection, query: &'static str) -> i64 {
    sqlx::query_scalar(query).fetch_one(hand).await.unwrap()
}

/// Waits until every order is told as finished, once.
async fn told(shop: &Shop, orders: &[Order]) {
    within(LIMIT, "every order is told", async || {
        let told: Vec<_> = shop.receiver.received();
        let is_told = |order: &&Order| {
            let posts = told.iter().map(support::receiver::Received::json);
            let mut finished = posts.filter(|ipn| ipn["payment_id"] == order.payment_id.as_str());
            finished.any(|ipn| ipn["payment_status"] == "finished")
        };
        match orders.iter().filter(|order| !is_told(order)).count() {
            0 => Ok(()),
            missing => Err(format!("{missing} IPNs did not arrive")),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trade_over_grown_tables_reads_none_of_them_whole_and_what_may_go_goes() {
    with_broker(|broker| async move {
        let server = private_postgres().await;
        let url = server.create_database().await;
        let mut hand = PgConnection::connect(&url).await.unwrap();
        let installation = Installation::new(&url, &(&*broker).into(), &[]);
        let shop = Shop::open(&installation, 2 * ORDERS).await;
        {
            let (_api, _workers) = installation.start().await;
            let first = shop.create(&installation, 1).await;
            shop.pay(&installation, &first).await;
            told(&shop, &first).await;
        }
        fill(&mut hand, rows()).await;
        let before = scans(&mut hand).await;

        let (api, workers) = installation.start().await;
        let started = Instant::now();
        let orders = shop.create(&installation, ORDERS).await;
        let created = started.elapsed();
        shop.pay(&installation, &orders).await;
        told(&shop, &orders).await;
        let client = installation.client(shop.key());
        for order in &orders[..2] {
            assert_eq!(client.get(&format!("/v1/payment/{}", order.order_id)).await.status, 200);
        }
        for sort in ["created_at", "updated_at"] {
            let list = client.get(&format!("/v1/payment?limit=20&sortBy={sort}")).await;
            assert_eq!(list.status, 200, "{}", list.body);
        }
        let quick = json!({
            "price_amount": 9, "price_currency": "usd", "pay_currency": "usdtmatic", "order_id": "repeated",
        });
        let repeated = client.with_header("idempotency-key", "once").post("/v1/payment", &quick).await;
        assert_eq!(repeated.status, 201, "{}", repeated.body);
        println!("{ORDERS} orders in {created:?}, told after {:?}", started.elapsed());
        within(LIMIT, "the sweeper has begun to forget", async || {
            let gone = "select n_tup_del from pg_stat_user_tables where relname = 'idempotency'";
            if count(&mut hand, gone).await > 0 { Ok(()) } else { Err("it has not".to_owned()) }
        })
        .await;
        for program in [api, workers] {
            program.process.signal(Signal::Terminate);
            program.process.ended(LIMIT).await;
        }
        let after = scans(&mut hand).await;
        assert_eq!(after.len(), 7, "{after:?}");
        assert_eq!(before, after, "a grown table was read whole");

        sweep_all(&installation, &mut hand).await;
    })
    .await;
}

/// The programs' own sweeper has begun. Sweeps until nothing is left to forget; each sweep is bounded, and what is still
/// needed stays.
async fn sweep_all(installation: &Installation, hand: &mut PgConnection) {
    const OLD: &str = "select (select count(*) from idempotency where created_at < now() - interval '24 hours')
                            + (select count(*) from request_window where last_at < now() - interval '6 minutes')";
    const FRESH: &str = "select (select count(*) from idempotency where created_at > now() - interval '20 hours')
                              + (select count(*) from request_window where last_at > now() + interval '1 hour')";
    let (old, fresh) = (count(hand, OLD).await, count(hand, FRESH).await);
    assert!(fresh >= rows() && old < rows(), "{old} of {} forgotten so far, {fresh} fresh", rows());
    let (mut memory, mut sweeps, started) = (SweepMemory::default(), 0, Instant::now());
    while count(hand, OLD).await > 0 {
        let began = Instant::now();
        let swept = installation.gateway.sweep(None, &mut memory).await.unwrap();
        assert!(began.elapsed() < SWEEP_LIMIT, "one sweep took {:?}", began.elapsed());
        assert!(swept.forgotten > 0, "sweep {sweeps} forgot nothing, and there was something");
        sweeps += 1;
    }
    println!(
        "{} rows forgotten beside trade, {old} in {sweeps} sweeps, {:?}",
        rows() - old,
        started.elapsed()
    );
    assert_eq!(count(hand, FRESH).await, fresh, "what is still needed was forgotten");
}
