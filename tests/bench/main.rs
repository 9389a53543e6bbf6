//! `make bench`: throughput and latency of the gateway, each beside a limit measured in the same
//! run.
//!
//! These machines are noisy, so an absolute number means little: every figure that can be is a
//! ratio to a bare loop that runs the same statements with the same pool and concurrency, taken in
//! alternating rounds. The median of the rounds counts, and the raw samples are kept in
//! `.run/bench.json`. Servers are the ones `make test` uses, with fsync and synchronous_commit on.
#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on panics")]
#![allow(
    clippy::float_arithmetic,
    clippy::cast_precision_loss,
    reason = "statistics, and no money"
)]

mod burst;
mod cold;
mod cost;
mod creation;
mod dashboard;
mod deadlines;
mod delivery;
mod encrypted;
mod endpoint;
mod export;
mod flood;
mod footprint;
mod growth;
mod latency;
mod mixed;
mod pages;
mod payout;
mod reminders;
mod report;
mod scan;
mod slow_disk;
mod storm;
mod world;
mod x402;

use report::Report;

const HELP: &str = "\
make bench                 all measures
make bench ONLY=delivery   those whose name contains the word
make bench ROUNDS=3        fewer rounds than five, for a quick look";

#[tokio::main]
async fn main() {
    // `cargo bench` passes flags of its own.
    if std::env::args().any(|argument| argument == "--help") {
        println!("{HELP}");
        return;
    }
    let mut report = Report::from_environment();
    world::require_durable_servers().await;
    // First, while this process has no freed memory for the addresses.
    scan::run(&mut report).await;
    creation::run(&mut report).await;
    slow_disk::run(&mut report).await;
    delivery::run(&mut report).await;
    encrypted::run(&mut report).await;
    burst::run(&mut report).await;
    latency::run(&mut report).await;
    deadlines::run(&mut report).await;
    reminders::run(&mut report).await;
    flood::run(&mut report).await;
    growth::run(&mut report).await;
    cold::run(&mut report).await;
    dashboard::run(&mut report).await;
    export::run(&mut report).await;
    mixed::run(&mut report).await;
    payout::run(&mut report).await;
    x402::run(&mut report).await;
    pages::run(&mut report).await;
    storm::run(&mut report).await;
    footprint::run(&mut report).await;
    cost::run(&mut report).await;
    report.finish();
}
