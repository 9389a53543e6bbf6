//! A rolling update (F17) and the way back: the next version beside this one, over one schema and
//! one set of queues, under load.
//!
//! The next version is simulated: by a schema one step ahead, as its migration would leave it, and
//! by messages with more fields than this version knows. The previous one is this one too, unless
//! `GATEWAY_TEST_PREVIOUS` names a folder with its programs, as `scripts/test-update.sh` does. On
//! the way back it finds the rows and the messages of the version after it.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use gateway::broker::{
    envelope::{InvoiceRef, encode},
    route::WorkQueue,
};
use sqlx::{Connection, Executor, PgConnection};
use support::{
    client::exchange::Lost,
    fault::fired::fired,
    server::{
        broker::{TestBroker, with_broker},
        database::TestDatabase,
        installation::{Installation, Program},
        processes::{Signal, free_port, within},
    },
    shop::trade::{Order, Shop, stored_order_ids},
};
use tokio::sync::watch;

const LIMIT: Duration = Duration::from_secs(120);
const CUSTOMERS: usize = 3;
const PAUSE: Duration = Duration::from_millis(300);
/// Adds to every table columns that a next version might have: a nullable one, and one with a
/// default.
const NEXT_SCHEMA: &str = "
    set lock_timeout = 500;
    do $$ declare name text; begin
        for name in select tablename from pg_tables where schemaname = 'public' and tablename not like '\\_%' loop
            execute format('alter table %I add column if not exists next_note text', name);
            execute format('alter table %I add column if not exists next_count integer not null default 0', name);
        end loop;
    end $$;
    create table if not exists next_table (id uuid primary key);
    insert into _sqlx_migrations (version, description, success, checksum, execution_time)
    values (20991231000000, 'next', true, '', 1) on conflict do nothing;";

fn local() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port()))
}

/// Creates orders without pause over the API that the load balancer names; only 201 is accepted.
/// Also returns the number of requests without a response.
async fn customer(
    shop: Arc<Shop>,
    balancer: watch::Receiver<SocketAddr>,
    stop: Arc<AtomicBool>,
) -> (Vec<Order>, usize) {
    let (mut orders, mut cut) = (Vec::new(), 0);
    while !stop.load(Ordering::Relaxed) {
        let (exchange, order_id, merchant) = shop.next();
        let api = *balancer.borrow();
        match exchange.once(api).await {
            Ok(answer) => {
                assert_eq!(answer.status, 201, "{}", answer.body);
                orders.push(Shop::order(&answer, order_id, merchant));
            }
            // It stopped between the load balancer's choice and the connection: a load balancer
            // tries the next one.
            Err(Lost::NotConnected(_)) => {}
            Err(Lost::Cut(_)) => cut += 1,
        }
        tokio::time::sleep(PAUSE).await;
    }
    (orders, cut)
}

/// As its migration would: a table in use is tried again.
async fn next_schema(installation: &Installation) {
    let mut connection = PgConnection::connect(&installation.database_url).await.unwrap();
    within(LIMIT, "the next version's schema is there", async || {
        connection.execute(NEXT_SCHEMA).await.map(drop).map_err(|error| error.to_string())
    })
    .await;
}

/// Our message with an additional field.
async fn message_of_the_next_version(broker: &TestBroker, installation: &Installation) {
    let mut connection = PgConnection::connect(&installation.database_url).await.unwrap();
    let query = sqlx::query_scalar("select id from invoice limit 1");
    let invoice_id = query.fetch_one(&mut connection).await.unwrap();
    let mut body: serde_json::Value =
        serde_json::from_str(&encode(&InvoiceRef { invoice_id })).unwrap();
    body["next_hint"] = "unknown here".into();
    let queue = broker.topology.work_queue(WorkQueue::Expiry);
    broker.publish_by_hand(&queue, &body.to_string()).await;
}

/// Settings of an API beside the one that is there, and its address.
fn beside() -> (SocketAddr, [(&'static str, String); 2]) {
    let next = local();
    let listen = ("GATEWAY_API__LISTEN", next.to_string());
    (next, [listen, ("GATEWAY_CHECKOUT__LISTEN", local().to_string())])
}

/// A program of the version before, where there is one.
fn previous(
    installation: &Installation,
    name: &str,
    arguments: &[&str],
    more: &[(&str, &str)],
) -> Program {
    match std::env::var_os("GATEWAY_TEST_PREVIOUS") {
        Some(folder) => installation.launch_release(Path::new(&folder), name, arguments, more),
        None => installation.launch(name, arguments, more),
    }
}

/// The API first, then the workers, of either version.
async fn roll(
    (api, workers): (Program, Program),
    balancer: &watch::Sender<SocketAddr>,
    start: impl Fn(&str, &[&str], &[(&str, &str)]) -> Program,
) -> (Program, Program) {
    let (address, settings) = beside();
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let next = start("gateway-api", &[], &settings);
    next.ready().await;
    balancer.send_replace(address);
    let api = replace(api, async || next).await;
    let workers = replace(workers, async || start("gateway-worker", &["all"], &[])).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    (api, workers)
}

async fn replace(old: Program, start: impl AsyncFnOnce() -> Program) -> Program {
    let next = start().await;
    next.ready().await;
    old.process.signal(Signal::Terminate);
    old.process.ended(LIMIT).await;
    assert!(!old.process.output().contains("cut off by the stop"), "{}", old.process.said());
    fired(1);
    next
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_update_and_the_way_back_under_load_lose_no_request_and_no_work() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let programs = match std::env::var_os("GATEWAY_TEST_PREVIOUS") {
            Some(folder) => installation.start_release(Path::new(&folder)).await,
            None => installation.start().await,
        };
        let shop = Arc::new(Shop::open(&installation, 2_000).await);
        let (balancer, apis) = watch::channel(installation.api);
        let stop = Arc::new(AtomicBool::new(false));
        let customers = (0..CUSTOMERS)
            .map(|_| tokio::spawn(customer(shop.clone(), apis.clone(), stop.clone())))
            .collect::<Vec<_>>();
        tokio::time::sleep(Duration::from_secs(1)).await;
        next_schema(&installation).await;
        message_of_the_next_version(&broker, &installation).await;

        let launch = |name: &str, arguments: &[&str], more: &[(&str, &str)]| {
            installation.launch(name, arguments, more)
        };
        let before = |name: &str, arguments: &[&str], more: &[(&str, &str)]| {
            previous(&installation, name, arguments, more)
        };
        let programs = roll(programs, &balancer, launch).await;
        let programs = roll(programs, &balancer, before).await;
        let programs = roll(programs, &balancer, launch).await;
        stop.store(true, Ordering::Relaxed);
        let (mut orders, mut cut) = (Vec::new(), 0);
        for seen in join_all(customers).await {
            let (acknowledged, unanswered) = seen.unwrap();
            orders.extend(acknowledged);
            cut += unanswered;
        }
        // The load balancer has sent no request to the old one since before it was stopped.
        assert_eq!(cut, 0, "requests were cut off");
        assert!(orders.len() > 4 * CUSTOMERS, "there was no load: {} orders", orders.len());
        let acknowledged: BTreeSet<_> = orders.iter().map(|order| order.order_id.clone()).collect();
        assert_eq!(stored_order_ids(&installation).await, acknowledged);
        shop.pay(&installation, &orders).await;
        // No dead letter: the message of the next version was understood.
        let outcome = shop.converge(&installation, &orders, LIMIT).await;
        println!("{} orders over two versions; afterwards {outcome:?}", orders.len());
        drop(programs);
        database.remove().await;
    })
    .await;
}
