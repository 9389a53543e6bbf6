//! Ten thousand clients that connect in the same moment, more than twice as many as the API lets in
//! together: how long until the last one has its answer, and how long a merchant waits for his
//! payment meanwhile.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{
    creation,
    endpoint::Caller,
    footprint::highest,
    report::{Goal, Report, Rounds, percentile},
    world::{World, require_files, with_world},
};

const CLIENTS: usize = 10_000;
const REQUEST: &[u8] = b"GET /v1/status HTTP/1.1\r\nhost: bench\r\n\r\n";
const EVERY: Duration = Duration::from_millis(10);
const CALM: Duration = Duration::from_secs(5);
const LIMIT: Duration = Duration::from_secs(120);
/// A socket at each end, of which this process has one, and others.
const FILES: u64 = 12_000;
const ANSWERED: &str = "storm: until the last of 10,000 clients is answered";
const CREATE: &str = "storm: p99 of creation meanwhile";
const MEMORY: &str = "storm: memory of the API, at its highest";

pub async fn run(report: &mut Report) {
    if ![ANSWERED, CREATE, MEMORY].into_iter().any(|name| report.wants(name)) {
        return;
    }
    require_files(FILES);
    let (mut answered, mut create, mut memory) =
        (Rounds::default(), Rounds::default(), Rounds::default());
    let count = report.rounds;
    let (of_answered, of_create, of_memory) = (&mut answered, &mut create, &mut memory);
    with_world(&[], |world| async move {
        let api = world.installation.start_api().await;
        api.ready().await;
        created_during(&world, tokio::time::sleep(CALM)).await;
        for _ in 0..count {
            let ((), mut calm) = created_during(&world, tokio::time::sleep(CALM)).await;
            let (seconds, mut beside) = created_during(&world, storm(&world)).await;
            of_answered.add_alone(seconds);
            of_create.add(percentile(&mut beside, 0.99), percentile(&mut calm, 0.99));
        }
        of_memory.add_alone(highest(&api));
    })
    .await;
    report.value(ANSWERED, "s", None, Goal::AtMost(10.0), answered);
    report.beside(CREATE, "ms", "the same without a storm", create);
    report.value(MEMORY, "MB", None, Goal::AtMost(150.0), memory);
}

/// Seconds until each client had its answer.
async fn storm(world: &World) -> f64 {
    let (started, address) = (Instant::now(), world.installation.api);
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        clients.spawn(async move {
            let mut client = Caller::open(address).await;
            assert_eq!(client.send(REQUEST).await, 200);
        });
    }
    let all = async {
        while let Some(client) = clients.join_next().await {
            client.unwrap();
        }
    };
    tokio::time::timeout(LIMIT, all).await.expect("every client is answered");
    started.elapsed().as_secs_f64()
}

/// The result of `meanwhile`, and the milliseconds of each payment that a merchant created during
/// it, who was connected before.
async fn created_during<T>(world: &World, meanwhile: impl Future<Output = T>) -> (T, Vec<f64>) {
    world.refresh_rates().await;
    let requests = creation::requests(world).await;
    let mut merchant = Caller::open(world.installation.api).await;
    let stop = CancellationToken::new();
    let creating = async {
        let (mut took, mut pace) = (Vec::new(), tokio::time::interval(EVERY));
        while !stop.is_cancelled() {
            pace.tick().await;
            let started = Instant::now();
            assert_eq!(merchant.send(&requests[took.len() % requests.len()]).await, 201);
            took.push(started.elapsed().as_secs_f64() * 1_000.0);
        }
        took
    };
    let ending = async {
        let result = meanwhile.await;
        stop.cancel();
        result
    };
    let (took, result) = tokio::join!(creating, ending);
    (result, took)
}
