//! Five thousand pages that wait for their payment: memory of the API, the time from a commit to
//! the pages, and what they cost those who create payments.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use crate::{
    creation,
    endpoint::Caller,
    footprint::resident,
    report::{Goal, Report, Rounds, percentile},
    world::{World, require_files, with_world},
};

const PAGES: usize = 5_000;
/// Each needs a connection, of which half may wait.
const CONNECTIONS_MAX: &str = "12000";
/// A socket of each page and of the calls beside them, and as many again while those of the round
/// before are closed.
const FILES: u64 = 12_000;
const TOLD: usize = 200;
const LIMIT: Duration = Duration::from_secs(120);
const MEMORY: &str = "pages: resident memory of the api, 5,000 waiting pages";
const CREATE: &str = "pages: POST /v1/payment beside 5,000 waiting pages";
const KNOWN: &str = "pages: p99 from a commit to the page, 5,000 waiting pages";

pub async fn run(report: &mut Report) {
    if ![MEMORY, CREATE, KNOWN].into_iter().any(|name| report.wants(name)) {
        return;
    }
    require_files(FILES);
    let settings = [
        ("GATEWAY_API__CONNECTIONS_MAX", CONNECTIONS_MAX),
        // Each page is another buyer's.
        ("GATEWAY_API__TRUSTED_PROXIES", "127.0.0.1/32"),
    ];
    let (mut memory, mut create, mut known) =
        (Rounds::default(), Rounds::default(), Rounds::default());
    let count = report.rounds;
    let (of_memory, of_create, of_known) = (&mut memory, &mut create, &mut known);
    with_world(&settings, |world| async move {
        let api = world.installation.start_api().await;
        api.ready().await;
        // As many invoices as pages, and no cold caches.
        for _ in 0..=PAGES / creation::ORDERS {
            created(&world).await;
        }
        for _ in 0..count {
            let calm = created(&world).await;
            let (pages, ids) = open(&world).await;
            of_memory.add_alone(resident(&api));
            of_create.add(created(&world).await, calm);
            of_known.add_alone(told(&world, &ids).await);
            drop(pages);
        }
    })
    .await;
    report.value(MEMORY, "MB", None, Goal::AtMost(150.0), memory);
    report.ratio(CREATE, "/s", "the same with no page open", Goal::AtLeast(1.0 / 1.1), create);
    report.value(KNOWN, "ms", None, Goal::AtMost(500.0), known);
}

async fn created(world: &World) -> f64 {
    world.refresh_rates().await;
    let requests = creation::requests(world).await;
    creation::call(world, requests).await
}

fn question(id: &str, number: usize, since: &str) -> Vec<u8> {
    let client = format!("10.{}.{}.1", number / 250, number % 250);
    format!(
        "GET /v1/invoices/{id}/status?since={since}&wait=40 HTTP/1.1\r\nhost: bench\r\n\
         x-forwarded-for: {client}\r\nif-none-match: \"{since}\"\r\n\r\n"
    )
    .into_bytes()
}

/// Pages that ask again and again, as the script of the checkout does, until dropped.
async fn open(world: &Arc<World>) -> (JoinSet<()>, Vec<String>) {
    let query = "select payment_id from invoice where status = 'pending' order by id limit $1";
    let ids: Vec<String> = sqlx::query_scalar(query)
        .bind(i64::try_from(PAGES).unwrap())
        .fetch_all(&mut world.connect().await)
        .await
        .unwrap();
    assert_eq!(ids.len(), PAGES);
    let mut pages = JoinSet::new();
    let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
    for (number, id) in ids.iter().cloned().enumerate() {
        let (world, begun) = (world.clone(), begun.clone());
        let mut page = Caller::open(world.installation.checkout).await;
        pages.spawn(async move {
            let mut mark = world.gateway.buyer_mark(&id).await.unwrap().unwrap();
            drop(begun);
            loop {
                mark = page.tag(&question(&id, number, &mark)).await.expect("an answer");
            }
        });
    }
    drop(begun);
    // Ends when all have asked.
    let _: Option<()> = tokio::time::timeout(LIMIT, begins.recv()).await.unwrap();
    (pages, ids)
}

/// Milliseconds within which 99 of 100 further pages of these invoices were answered after a
/// commit.
async fn told(world: &Arc<World>, ids: &[String]) -> f64 {
    let mut took = Vec::new();
    for (number, id) in ids.iter().rev().take(TOLD).enumerate() {
        let mark = world.gateway.buyer_mark(id).await.unwrap().unwrap();
        let mut page = Caller::open(world.installation.checkout).await;
        let asked = question(id, PAGES + number, &mark);
        let waiting = tokio::spawn(async move {
            assert_eq!(page.send(&asked).await, 200);
            Instant::now()
        });
        world.gateway.cancel_invoice(id).await.unwrap();
        let committed = Instant::now();
        let told = waiting.await.unwrap();
        took.push(told.saturating_duration_since(committed).as_secs_f64() * 1_000.0);
    }
    percentile(&mut took, 0.99)
}
