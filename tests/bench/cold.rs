//! The first requests after PostgreSQL was started over a million invoices of which nothing is in
//! memory, beside the same requests once more.

use std::{
    fs::{self, File},
    path::Path,
    time::{Duration, Instant},
};

use rustix::fs::{Advice, fadvise};
use serde_json::json;
use support::server::{
    private_postgres::{PrivatePostgres, fresh_postgres},
    processes::Signal,
};

use crate::{
    growth::{Filled, LARGE},
    report::{Report, Rounds, percentile},
    world::with_world_over,
};

const KINDS: [&str; 3] = ["create", "read", "list"];
const NAME: &str = "cold: p99 of the first requests among 1,000,000 invoices";
/// Each by a merchant of its own, of which there are as many.
const REQUESTS: usize = 100;
const LIMIT: Duration = Duration::from_secs(30);

pub async fn run(report: &mut Report) {
    if !report.wants(NAME) {
        return;
    }
    let mut server = fresh_postgres().await;
    let database = server.create_database().await;
    let mut rounds = KINDS.map(|_| Rounds::default());
    let (of_kinds, count) = (&mut rounds, report.rounds);
    with_world_over(&database, &[], |world| async move {
        let filled = Filled::of(world, LARGE).await;
        for round in 0..count {
            let world = &filled.world;
            chill(&mut server).await;
            let api = world.installation.start_api().await;
            api.ready().await;
            world.refresh_rates().await;
            let cold = p99(&filled, 2 * round).await;
            let warm = p99(&filled, 2 * round).await;
            for (kind, rounds) in of_kinds.iter_mut().enumerate() {
                rounds.add(cold[kind], warm[kind]);
            }
            api.process.signal(Signal::Terminate);
            api.process.ended(LIMIT).await;
        }
    })
    .await;
    for (kind, rounds) in KINDS.iter().zip(rounds) {
        report.beside(&format!("{NAME}, {kind}"), "ms", "the same requests once more", rounds);
    }
}

/// Restarts the server without anything of its files in memory.
async fn chill(server: &mut PrivatePostgres) {
    // Written out by the stop, so that the kernel can let go of it.
    server.stop().await;
    forget(Path::new(&server.data()));
    server.start().await;
}

fn forget(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            forget(&path);
        } else if kind.is_file() {
            let file = File::open(&path).unwrap();
            file.sync_data().unwrap();
            fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        }
    }
}

/// Milliseconds that 99 of a hundred requests of each kind do not exceed. Another `spread` asks for
/// other invoices.
async fn p99(filled: &Filled, spread: usize) -> [f64; 3] {
    let order = json!({ "price_amount": 20, "price_currency": "usd", "pay_currency": "usdtmatic" });
    let mut samples: [Vec<f64>; 3] = Default::default();
    for merchant in 0..REQUESTS {
        let client = filled.client(merchant);
        let path =
            format!("/v1/payment/{}", filled.invoice(merchant, 37 * (spread + 1) + merchant));
        let started = Instant::now();
        assert_eq!(client.get(&path).await.status, 200);
        samples[1].push(milliseconds(started));
        let started = Instant::now();
        assert_eq!(client.get("/v1/payment?limit=50&page=0").await.status, 200);
        samples[2].push(milliseconds(started));
        let started = Instant::now();
        assert_eq!(client.post("/v1/payment", &order).await.status, 201);
        samples[0].push(milliseconds(started));
    }
    samples.map(|mut samples| percentile(&mut samples, 0.99))
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1_000.0
}
