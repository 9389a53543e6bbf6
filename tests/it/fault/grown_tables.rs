//! Tables after years of work (F58): queries use indexes, and old rows are deleted faster than new
//! ones come, without delaying others.
//!
//! `GATEWAY_TEST_ROWS` sets the rows of the tables that are swept; those that are kept for ever
//! have a tenth. `make test-faults` sets ten million.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use gateway::app::messaging::sweep::SweepMemory;
use serde_json::json;
use sqlx::{Connection, Executor, PgConnection};
use support::{
    fault::fired::fired,
    server::{
        broker::with_broker,
        installation::Installation,
        private_postgres::fresh_postgres,
        processes::{Signal, within},
    },
    shop::trade::{Order, Shop},
};

const ROWS: i64 = 100_000;
const ORDERS: usize = 12;
/// Orders of all rounds within a minute.
const SHOPPING: usize = 100 * ORDERS;
const LIMIT: Duration = Duration::from_secs(120);
/// Time limit of one sweep.
const SWEEP_LIMIT: Duration = Duration::from_secs(60);
const FILL: &str = include_str!("grown_tables.sql");
/// Notes each deletion from the swept tables, with its number of rows.
const NOTE_DELETIONS: &str = include_str!("noted_deletions.sql");
/// Maximum of one transaction of the sweeper.
const ANSWERS_AT_ONCE: i64 = 1_000;
const WINDOW_PAGES_AT_ONCE: i64 = 1_000;
/// Rounds of trade before and during the sweep.
const ROUNDS: usize = 5;
/// Maximum ratio of the longest round during the sweep to the usual one before it.
const SLOWER_MAX: u32 = 10;
/// A shorter round is not slow, however fast the ones without load were.
const UNNOTICED: Duration = Duration::from_secs(10);
const SWEEPER: &str = "sweeper";
const TRADERS: [&str; 5] =
    ["chain-watcher", "deposit-matching", "expiry-timer", "ipn-delivery", "rate-refresher"];
/// Small tables are scanned sequentially, and should be; so is `deposit_address`, by a watcher that
/// starts. The outbox is empty between two messages at any age of the gateway.
const GROWN: &str = "
    select s.relname::text, coalesce(seq_scan, 0), reltuples::bigint
    from pg_stat_user_tables s join pg_class c on c.oid = relid
    where s.relname in ('invoice', 'deposit', 'delivery', 'delivery_attempt', 'ledger_entry',
        'timer', 'idempotency', 'request_window')";

fn rows() -> i64 {
    std::env::var("GATEWAY_TEST_ROWS").map_or(ROWS, |text| text.parse().unwrap())
}

/// Copies one finished order's rows.
async fn fill(hand: &mut PgConnection, rows: i64) {
    let started = Instant::now();
    // Filling is not the subject of the test; without this ten million rows take an hour.
    hand.execute("set synchronous_commit = off").await.unwrap();
    for statement in FILL.split(";\n").filter(|statement| !statement.trim().is_empty()) {
        let count = if statement.contains("-- swept") { rows } else { rows / 10 };
        let statement = statement.replace("$1", &count.to_string());
        hand.execute(sqlx::AssertSqlSafe(statement)).await.unwrap();
    }
    hand.execute("analyze").await.unwrap();
    println!("{rows} rows after {:?}", started.elapsed());
}

/// Number of sequential scans of each grown table. All of them are as large as they were filled.
async fn scans(hand: &mut PgConnection) -> BTreeMap<String, i64> {
    let tables: Vec<(String, i64, i64)> = sqlx::query_as(GROWN).fetch_all(hand).await.unwrap();
    // Estimates, close to the true counts.
    let small: Vec<_> = tables.iter().filter(|(.., found)| *found < rows() / 20).collect();
    assert!(small.is_empty(), "not grown: {small:?}");
    tables.into_iter().map(|(name, scans, _)| (name, scans)).collect()
}

/// Wait of the slowest buyer of a round for the invoice, and of merchants from the payments to the
/// last IPN.
#[derive(Debug, Clone, Copy, Default)]
struct Waited {
    created: Duration,
    told: Duration,
}

impl Waited {
    /// Waits of some rounds, each sorted from the shortest to the longest.
    fn sorted(rounds: &[Self]) -> Vec<Self> {
        let parts = |part: fn(&Self) -> Duration| {
            let mut parts: Vec<_> = rounds.iter().map(part).collect();
            parts.sort();
            parts
        };
        let (created, told) = (parts(|round| round.created), parts(|round| round.told));
        created.into_iter().zip(told).map(|(created, told)| Self { created, told }).collect()
    }

    fn is_near(self, calm: Self) -> bool {
        let near = |busy: Duration, calm| busy <= UNNOTICED.max(calm * SLOWER_MAX);
        near(self.created, calm.created) && near(self.told, calm.told)
    }
}

/// Creates and pays orders, and waits for their IPNs.
async fn trade(installation: &Installation, shop: &Shop) -> (Vec<Order>, Waited) {
    let (mut orders, mut waited) = (Vec::new(), Waited::default());
    for _ in 0..ORDERS {
        let (order, took) = shop.try_create(installation).await.unwrap();
        orders.push(order);
        waited.created = waited.created.max(took);
    }
    let paid = Instant::now();
    shop.pay(installation, &orders).await;
    told(shop, &orders).await;
    waited.told = paid.elapsed();
    (orders, waited)
}

/// Trades during the sweep, until it has deleted rows for some time. Nobody ever waits for a lock
/// that a deletion holds.
async fn trade_beside_the_sweeper(
    installation: &Installation,
    shop: &Shop,
    hand: &mut PgConnection,
) -> Vec<Waited> {
    let gone = "select count(*) from noted_deletion where relation = 'idempotency'";
    let (mut rounds, started) = (Vec::new(), Instant::now());
    while rounds.len() < ROUNDS || count(hand, gone).await == 0 {
        assert!(started.elapsed() < LIMIT, "the sweeper has not begun to forget");
        tokio::select! {
            (_, waited) = trade(installation, shop) => rounds.push(waited),
            kept_waiting = first_kept_waiting(hand) => panic!("{kept_waiting} waits for a deletion"),
        }
    }
    rounds
}

/// The first statement that is seen to wait for a lock of a deletion.
async fn first_kept_waiting(hand: &mut PgConnection) -> String {
    const WAITING: &str = "
        select waiting.query
        from pg_stat_activity waiting
        cross join lateral unnest(pg_blocking_pids(waiting.pid)) as blocking (pid)
        join pg_stat_activity deleting on deleting.pid = blocking.pid
        where waiting.wait_event_type = 'Lock' and deleting.query ~ '^\\s*delete from (idempotency|request_window)'
        limit 1";
    loop {
        let waiting: Option<String> =
            sqlx::query_scalar(WAITING).fetch_optional(&mut *hand).await.unwrap();
        if let Some(statement) = waiting {
            return statement;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// However many rows are old, a transaction deletes a bounded number of them.
async fn deletions_are_bounded(hand: &mut PgConnection, windows_at_once: i64) {
    const LARGEST: &str = "
        select relation, max(rows)::bigint, count(*), max(took)::text
        from (
            select relation, sum(rows) as rows, max(took) as took from noted_deletion group by relation, transaction
        ) by_transaction
        group by relation
        order by relation";
    let largest: Vec<(String, i64, i64, String)> =
        sqlx::query_as(LARGEST).fetch_all(hand).await.unwrap();
    println!("largest deletion of a transaction, number of transactions, longest: {largest:?}");
    let [(_, answers, ..), (_, windows, ..)] = &largest[..] else { panic!("{largest:?}") };
    assert_eq!(*answers, ANSWERS_AT_ONCE, "answers deleted by one transaction");
    assert!(*windows <= windows_at_once, "{windows} windows deleted by one transaction");
}

/// As many windows as there are on the most pages that one transaction may delete from.
async fn windows_at_once(hand: &mut PgConnection) -> i64 {
    const ON_A_PAGE: &str = "
        select max(found) from (
            select count(*) as found from request_window group by (ctid::text::point)[0]::bigint
        ) page";
    count(hand, ON_A_PAGE).await * WINDOW_PAGES_AT_ONCE
}

/// A session reports its own reads at most once a second; they would be counted as the programs'.
async fn report_own_reads(hand: &mut PgConnection) {
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    hand.execute("select 1").await.unwrap();
}

async fn count(hand: &mut PgConnection, query: &'static str) -> i64 {
    sqlx::query_scalar(query).fetch_one(hand).await.unwrap()
}

/// Waits until earlier reads are in the statistics. A query whose program ended goes on without it,
/// and a connection that became idle reports its last reads within ten seconds
/// (`PGSTAT_IDLE_INTERVAL` of PostgreSQL).
async fn all_is_reported(hand: &mut PgConnection) {
    let others = "select count(*) from pg_stat_activity where datname = current_database() \
                  and pid <> pg_backend_pid() and backend_type = 'client backend' \
                  and (state <> 'idle' or state_change > clock_timestamp() - interval '11 seconds')";
    let started = Instant::now();
    while count(hand, others).await > 0 {
        assert!(started.elapsed() < LIMIT, "queries of programs that ended go on");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until every order is reported as finished, once.
async fn told(shop: &Shop, orders: &[Order]) {
    within(LIMIT, "every order is told", async || {
        let told: Vec<_> = shop.receiver.received();
        let is_told = |order: &&Order| {
            let posts = told.iter().map(support::shop::receiver::Received::json);
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
async fn work_over_large_tables_scans_none_of_them_and_old_rows_are_deleted_in_batches() {
    with_broker(|broker| async move {
        let server = fresh_postgres().await;
        let url = server.create_database().await;
        let mut hand = PgConnection::connect(&url).await.unwrap();
        // Autovacuum fills the BRIN index of invoices, which counts as scans of their table.
        for statement in ["alter system set autovacuum = off", "select pg_reload_conf()"] {
            hand.execute(statement).await.unwrap();
        }
        let installation = Installation::new(&url, &(&*broker).into(), &[]);
        let shop = Shop::open(&installation, SHOPPING).await;
        {
            let (_api, _workers) = installation.start().await;
            let first = shop.create(&installation, 1).await;
            shop.pay(&installation, &first).await;
            told(&shop, &first).await;
        }
        fill(&mut hand, rows()).await;
        hand.execute(NOTE_DELETIONS).await.unwrap();
        let windows_at_once = windows_at_once(&mut hand).await;
        report_own_reads(&mut hand).await;
        all_is_reported(&mut hand).await;
        let before = scans(&mut hand).await;

        let workers = installation.start_workers(&TRADERS).await;
        workers.ready().await;
        let api = installation.start_api().await;
        api.ready().await;
        let (orders, _) = trade(&installation, &shop).await;
        let mut calm = Vec::new();
        for _ in 0..ROUNDS {
            calm.push(trade(&installation, &shop).await.1);
        }
        for order in &orders[..2] {
            let client = installation.client(shop.key_of(order));
            assert_eq!(client.get(&format!("/v1/payment/{}", order.order_id)).await.status, 200);
        }
        let client = installation.client(shop.key());
        for sort in ["created_at", "updated_at"] {
            let list = client.get(&format!("/v1/payment?limit=20&sortBy={sort}")).await;
            assert_eq!(list.status, 200, "{}", list.body);
        }
        let quick = json!({
            "price_amount": 9, "price_currency": "usd", "pay_currency": "usdtmatic", "order_id": "repeated",
        });
        let repeated = client.with_header("idempotency-key", "once").post("/v1/payment", &quick).await;
        assert_eq!(repeated.status, 201, "{}", repeated.body);
        let sweeper = installation.start_workers(&[SWEEPER]).await;
        let busy = trade_beside_the_sweeper(&installation, &shop, &mut hand).await;
        println!("rounds of {ORDERS} orders in calm: {calm:?}; beside the sweeper: {busy:?}");
        let (calm, busy) = (Waited::sorted(&calm)[ROUNDS / 2], *Waited::sorted(&busy).last().unwrap());
        assert!(busy.is_near(calm), "the sweeper keeps trade waiting: {busy:?}, in calm {calm:?}");
        for program in [api, workers, sweeper] {
            program.process.signal(Signal::Terminate);
            program.process.ended(LIMIT).await;
        }
        let after = scans(&mut hand).await;
        assert_eq!(after.len(), 8, "{after:?}");
        assert_eq!(before, after, "a grown table was read whole");
        fired(after.len());

        sweep_all(&installation, &mut hand).await;
        deletions_are_bounded(&mut hand, windows_at_once).await;
    })
    .await;
}

/// The programs' own sweeper has begun. Sweeps until no old row is left; each sweep is bounded, and
/// rows still needed stay.
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
