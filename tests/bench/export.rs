//! An export of a million rows: how fast it is read and sent, how much memory the API takes for it,
//! and how long others wait for their invoices meanwhile.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use futures_util::TryStreamExt;
use gateway::app::merchant::manage::NewMerchant;
use serde_json::json;
use support::{client::Client, server::processes::Signal};
use tokio_util::sync::CancellationToken;

use crate::{
    footprint::highest,
    report::{Goal, Report, Rounds, percentile},
    world::{World, with_world},
};

/// Each entry has two rows: the account that it left and the account that it entered.
const ENTRIES: i32 = 500_000;
const ROWS: usize = 1_000_000;
/// Ask for invoices meanwhile. One may ask 60 times a minute.
const OTHERS: usize = 100;
const EVERY: Duration = Duration::from_millis(20);
const BESIDE_FOR: Duration = Duration::from_secs(10);
const LIMIT: Duration = Duration::from_secs(60);

const SPEED: &str = "export: 1,000,000 rows of the ledger as CSV";
const MEMORY: &str = "export: memory of the API, at its highest";
const BESIDE: &str = "export: p99 of creation by others meanwhile";
const FLOOR: &str = "export: p99 of creation by others beside one query that only calculates";
/// Reads and writes nothing: one process of PostgreSQL has a processor to itself.
const CALCULATE: &str = "select count(*) from generate_series(1, 1000000) as n where n % 7 = 0";

/// Entries of the merchant `$1`, over a day.
const FILL: &str = "
    insert into ledger_entry (kind, source, asset, debit, credit, amount, created_at)
    select 'deposit', gen_random_uuid(), 'usdtmatic@polygon', 'custody:polygon', 'merchant:' || $1, 1000000 + n,
           timestamptz '2026-01-15 00:00Z' + n * interval '100 milliseconds'
    from generate_series(1, $2::int) as n";

/// As many rows with as much in each, by the quickest way that PostgreSQL has.
const COPY: &str = "
    copy (
        select e.id, e.created_at, side.account, e.asset, e.amount, e.kind, e.source
        from ledger_entry e cross join lateral (values (e.debit), (e.credit)) as side (account)
        order by e.id
    ) to stdout (format csv)";

pub async fn run(report: &mut Report) {
    if ![SPEED, MEMORY, BESIDE, FLOOR].iter().any(|name| report.wants(name)) {
        return;
    }
    let (mut speed, mut memory) = (Rounds::default(), Rounds::default());
    let (mut beside, mut floor) = (Rounds::default(), Rounds::default());
    for _ in 0..report.rounds {
        let (speed, memory) = (&mut speed, &mut memory);
        let (beside, floor) = (&mut beside, &mut floor);
        with_world(&[], |world| async move {
            let merchant = world.merchants(1).await.remove(0);
            fill(&world, &merchant).await;
            let others = world.merchants(OTHERS).await;
            let api = world.installation.start_api().await;
            api.ready().await;
            let copied = copied(&world).await;
            let exported = exported(&world, &merchant).await;
            speed.add(exported, copied);
            memory.add_alone(highest(&api));
            // The first creations of a merchant read what later ones find in memory.
            created(&world, &others, tokio::time::sleep(BESIDE_FOR / 2)).await;
            let calm = created(&world, &others, tokio::time::sleep(BESIDE_FOR)).await;
            // One export after another, for as many invoices as in the calm.
            let exporting = again(async || download(&world, &merchant).await);
            beside.add(created(&world, &others, exporting).await, calm);
            let mut connection = world.connect().await;
            let calculating = again(async || {
                sqlx::query(CALCULATE).execute(&mut connection).await.unwrap();
            });
            floor.add(created(&world, &others, calculating).await, calm);
            api.process.signal(Signal::Terminate);
            api.process.ended(LIMIT).await;
        })
        .await;
    }
    report.ratio(SPEED, "/s", "a bare COPY … TO STDOUT", Goal::AtLeast(0.3), speed);
    report.value(MEMORY, "MB", None, Goal::AtMost(100.0), memory);
    report.ratio(BESIDE, "ms", "the same without an export", Goal::AtMost(1.25), beside);
    report.beside(FLOOR, "ms", "the same without the query", floor);
}

/// Does it one time after another for as long as the calm was measured.
async fn again(mut work: impl AsyncFnMut()) {
    let started = Instant::now();
    while started.elapsed() < BESIDE_FOR {
        work().await;
    }
}

async fn fill(world: &World, merchant: &NewMerchant) {
    let mut connection = world.connect().await;
    let fill = sqlx::query(FILL).bind(merchant.id.to_string()).bind(ENTRIES);
    fill.execute(&mut connection).await.unwrap();
    world.run("vacuum analyze").await;
    // The system would write what was filled while creations are measured, half a minute later.
    world.run("checkpoint").await;
}

/// Rows per second of the bare copy.
async fn copied(world: &World) -> f64 {
    let mut connection = world.connect().await;
    let started = Instant::now();
    let mut pieces = connection.copy_out_raw(COPY).await.unwrap();
    let mut rows = 0;
    while let Some(piece) = pieces.try_next().await.unwrap() {
        rows += lines(&piece);
    }
    assert_eq!(rows, ROWS);
    ROWS as f64 / started.elapsed().as_secs_f64()
}

/// Rows per second of the export, from the request to the last byte.
async fn exported(world: &World, merchant: &NewMerchant) -> f64 {
    let started = Instant::now();
    download(world, merchant).await;
    ROWS as f64 / started.elapsed().as_secs_f64()
}

/// On a thread of its own: what else this program measures would wait for the counting of lines.
async fn download(world: &World, merchant: &NewMerchant) {
    let (api, key) = (world.installation.api, merchant.api_key.reveal().to_owned());
    tokio::task::spawn_blocking(move || take(api, &key)).await.unwrap();
}

fn take(api: SocketAddr, key: &str) {
    let mut stream = TcpStream::connect(api).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let request = format!(
        "GET /v1/export/ledger?from=2026-01-01&to=2026-02-01 HTTP/1.1\r\nhost: api\r\nx-api-key: {key}\r\n\
         connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let (mut piece, mut found, mut first) = (vec![0; 64 * 1024], 0, true);
    loop {
        let read = stream.read(&mut piece).unwrap();
        if read == 0 {
            break;
        }
        if std::mem::take(&mut first) {
            assert!(piece.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&piece));
        }
        found += lines(&piece[..read]);
    }
    // The head of the answer and the heading of the file are lines too.
    assert!(found > ROWS, "{found}");
}

fn lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// The 99th of a hundred milliseconds that a new invoice takes while `meanwhile` runs.
async fn created(
    world: &World,
    others: &[NewMerchant],
    meanwhile: impl Future<Output = ()>,
) -> f64 {
    world.refresh_rates().await;
    let stop = CancellationToken::new();
    let creating = async {
        let body =
            json!({ "price_amount": 20, "price_currency": "usd", "pay_currency": "usdtmatic" });
        let (mut took, mut pace) = (Vec::new(), tokio::time::interval(EVERY));
        while !stop.is_cancelled() {
            pace.tick().await;
            let key = others[took.len() % others.len()].api_key.reveal();
            let client = Client::new(world.installation.api).with_key(key);
            let started = Instant::now();
            assert_eq!(client.post("/v1/payment", &body).await.status, 201);
            took.push(started.elapsed().as_secs_f64() * 1000.0);
        }
        took
    };
    let ended = async {
        meanwhile.await;
        stop.cancel();
    };
    let (mut took, ()) = tokio::join!(creating, ended);
    percentile(&mut took, 0.99)
}
