//! Processes at their limit of open files or of memory (F18).

use std::{collections::BTreeSet, process::Command, time::Duration};

use support::{
    client::exchange::Kept,
    fault::fired::fired,
    server::{
        broker::with_broker,
        database::TestDatabase,
        installation::{Installation, Program},
        processes::within,
    },
    shop::trade::{Shop, forget_unanswered, stored_order_ids},
};
use tokio::{io::AsyncWriteExt, net::TcpStream};

const LIMIT: Duration = Duration::from_secs(90);
const ORDERS: usize = 10;
/// Clients that connect and send nothing.
const SILENT: usize = 20;
/// Enough for some 40 deliveries at a time beside everything else.
const FEW_FILES: u32 = 800;
const MANY_ORDERS: usize = 100;
/// Additional clients for each check of the memory limit.
const HUNGRY: usize = 20;
const NO_MORE_FILES: &str = "Too many open files";
/// Log line of a worker about an attempt that it could not begin.
const PUT_OFF: &str = "ipn attempt: put_off";
/// Longer than five attempts and the pauses between them, as tests have them.
const SHORTAGE: Duration = Duration::from_secs(4);

/// Sets the soft limit of a running process; the hard one stays, so that it can be lifted again.
fn limit(program: &Program, resource: &str, soft: &str) {
    let pid = program.process.pid().to_string();
    let status = Command::new("prlimit")
        .args(["--pid", &pid, &format!("--{resource}={soft}:")])
        .status()
        .unwrap();
    assert!(status.success(), "the limit {resource}={soft} was not set");
}

/// Below all that are in use, so that not even a gap between them is left.
const NO_FILES: &str = "8";

async fn says(program: &Program, words: &str) {
    within(LIMIT, &format!("the log says {words:?}"), async || {
        if program.process.output().contains(words) { Ok(()) } else { Err(program.process.said()) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_without_free_descriptors_serves_open_connections_and_all_others_afterwards() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let (api, _workers) = installation.start().await;
        let shop = Shop::open(&installation, 3 * ORDERS).await;
        let mut orders = shop.create(&installation, ORDERS).await;
        let mut kept = Kept::open(installation.api).await.unwrap();
        let (exchange, order_id, merchant) = shop.next();
        let answer = kept.send(&exchange).await.unwrap();
        orders.push(Shop::order(&answer, order_id, merchant));

        limit(&api, "nofile", NO_FILES);
        let mut silent = Vec::new();
        for _ in 0..SILENT {
            silent.push(TcpStream::connect(installation.api).await.unwrap());
        }
        says(&api, NO_MORE_FILES).await;
        fired(api.process.output().matches(NO_MORE_FILES).count());
        // Connected clients are still served.
        let (exchange, order_id, merchant) = shop.next();
        let answer = kept.send(&exchange).await.unwrap();
        assert_eq!(answer.status, 201, "{}", answer.body);
        orders.push(Shop::order(&answer, order_id, merchant));
        assert!(api.process.is_alive());

        drop(silent);
        limit(&api, "nofile", "1024");
        let (more, _) = within(LIMIT, "a new client is served", async || {
            shop.try_create(&installation).await.map(|(order, _)| order)
        })
        .await;
        orders.push(more);
        let stored = stored_order_ids(&installation).await;
        let acknowledged: BTreeSet<_> = orders.iter().map(|order| order.order_id.clone()).collect();
        assert_eq!(stored, acknowledged);
        shop.pay(&installation, &orders).await;
        let outcome = shop.converge(&installation, &orders, LIMIT).await;
        println!("{SILENT} clients and no free descriptor; afterwards {outcome:?}");
        database.remove().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_without_a_free_descriptor_deliver_everything_once_they_have_some() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let (_api, workers) = installation.start().await;
        let shop = Shop::open(&installation, ORDERS).await;
        let orders = shop.create(&installation, ORDERS).await;
        limit(&workers, "nofile", NO_FILES);
        shop.pay(&installation, &orders).await;
        says(&workers, PUT_OFF).await;
        assert!(workers.process.is_alive(), "{}", workers.process.said());
        // Long enough for each delivery to be attempted until it is dead-lettered.
        tokio::time::sleep(SHORTAGE).await;
        limit(&workers, "nofile", "1024");
        let outcome = shop.converge(&installation, &orders, LIMIT).await;
        let put_off = workers.process.output().matches(PUT_OFF).count();
        fired(put_off);
        println!("{put_off} attempts put off without a descriptor; afterwards {outcome:?}");
        assert_eq!((outcome.repeats, attempts(&installation).await), (0, all_at_once(ORDERS)));
        database.remove().await;
    })
    .await;
}

/// Number of recorded attempts, of those without a response, and the maximum of one event.
async fn attempts(installation: &Installation) -> (i64, i64, i16) {
    use sqlx::Connection;
    let mut connection = sqlx::PgConnection::connect(&installation.database_url).await.unwrap();
    let query = "select count(*), count(*) filter (where a.status is null), max(d.attempts)
                 from delivery_attempt a join delivery d on d.id = a.delivery_id";
    sqlx::query_as(query).fetch_one(&mut connection).await.unwrap()
}

fn all_at_once(orders: usize) -> (i64, i64, i16) {
    (i64::try_from(orders).unwrap(), 0, 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_that_may_open_few_files_take_on_few_deliveries_and_say_so() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let api = installation.start_api().await;
        let workers = installation.start_workers_with_files(FEW_FILES, &["all"]).await;
        api.ready().await;
        workers.ready().await;
        let said = workers.process.output();
        let line = said.lines().find(|line| line.contains("may open few files"));
        let line = line.unwrap_or_else(|| panic!("{}", workers.process.said()));
        for words in ["allowed=800", "needed=3712", "in_flight=36", "in_flight_slow=7"] {
            assert!(line.contains(words), "no {words} in {line}");
        }
        fired(1);
        let shop = Shop::open(&installation, MANY_ORDERS).await;
        let orders = shop.create(&installation, MANY_ORDERS).await;
        shop.pay(&installation, &orders).await;
        shop.converge(&installation, &orders, LIMIT).await;
        assert!(!workers.process.output().contains(PUT_OFF));
        database.remove().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_killed_for_lack_of_memory_loses_nothing_that_it_acknowledged() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let (api, _workers) = installation.start().await;
        let shop = Shop::open(&installation, 1_000).await;
        let mut orders = shop.create(&installation, ORDERS).await;
        // Less than it has: every further allocation is refused.
        limit(&api, "data", "1048576");
        let (mut held, mut unanswered) = (Vec::new(), 0);
        within(LIMIT, "it has run out of memory", async || {
            match shop.try_create(&installation).await {
                Ok((order, _)) => orders.push(order),
                Err(_) => unanswered += 1,
            }
            for _ in 0..HUNGRY {
                held.extend(half_a_body(&installation, shop.key()).await);
            }
            if api.process.is_alive() { Err("it lives".to_owned()) } else { Ok(()) }
        })
        .await;
        let said = api.process.output();
        assert!(said.contains("memory allocation of"), "{}", api.process.said());
        fired(1);

        let successor = installation.start_api().await;
        successor.ready().await;
        let stored = stored_order_ids(&installation).await;
        let acknowledged: BTreeSet<_> = orders.iter().map(|order| order.order_id.clone()).collect();
        assert!(stored.is_superset(&acknowledged), "acknowledged and not stored");
        forget_unanswered(&installation.database_url, &acknowledged).await;
        shop.pay(&installation, &orders).await;
        let outcome = shop.converge(&installation, &orders, LIMIT).await;
        println!(
            "died beside {} clients, {unanswered} orders unanswered; afterwards {outcome:?}",
            held.len()
        );
        database.remove().await;
    })
    .await;
}

/// A client that sends most of a body and waits.
async fn half_a_body(installation: &Installation, key: &str) -> Option<TcpStream> {
    let mut client = TcpStream::connect(installation.api).await.ok()?;
    let head = format!(
        "POST /v1/payment HTTP/1.1\r\nhost: test\r\nx-api-key: {key}\r\ncontent-type: application/json\r\n\
         content-length: 65000\r\n\r\n"
    );
    client.write_all(head.as_bytes()).await.ok()?;
    client.write_all(&[b' '; 60_000]).await.ok()?;
    Some(client)
}
