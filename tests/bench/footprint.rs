//! Resident memory of each program, idle and with a thousand deliveries in progress.

use std::{fs, time::Duration};

use support::server::installation::Program;

use crate::{
    delivery::fill,
    endpoint::Endpoint,
    report::{Goal, Report, Rounds},
    world::with_world,
};

const IN_FLIGHT: usize = 1_000;
const SETTLE: Duration = Duration::from_secs(5);
const LIMIT: Duration = Duration::from_secs(60);
/// Longer than it takes to start a thousand deliveries, shorter than the timeout of an attempt.
const ANSWERS_AFTER: Duration = Duration::from_secs(8);
const IDLE: &str = "memory: resident, idle";
const BUSY: &str = "memory: resident, 1,000 deliveries in flight";

pub async fn run(report: &mut Report) {
    if report.wants(IDLE) {
        idle(report).await;
    }
    if report.wants(BUSY) {
        busy(report).await;
    }
}

async fn idle(report: &mut Report) {
    let (mut of_api, mut of_worker) = (Rounds::default(), Rounds::default());
    for _ in 0..report.rounds {
        let (of_api, of_worker) = (&mut of_api, &mut of_worker);
        with_world(&[], |world| async move {
            let api = world.installation.start_api().await;
            let worker = world.installation.start_workers(&["all"]).await;
            api.ready().await;
            worker.ready().await;
            tokio::time::sleep(SETTLE).await;
            of_api.add_alone(resident(&api));
            of_worker.add_alone(resident(&worker));
        })
        .await;
    }
    let goal = Goal::AtMost(30.0);
    report.value(&format!("{IDLE}, api"), "MB", None, goal, of_api);
    report.value(&format!("{IDLE}, worker with all roles"), "MB", None, goal, of_worker);
}

async fn busy(report: &mut Report) {
    let mut rounds = Rounds::default();
    let in_flight = IN_FLIGHT.to_string();
    for _ in 0..report.rounds {
        let rounds = &mut rounds;
        with_world(&[("GATEWAY_WORKER__DELIVERIES_IN_FLIGHT", &in_flight)], |world| async move {
            let endpoint = Endpoint::answering_after(ANSWERS_AFTER).await;
            fill(&world, &endpoint, IN_FLIGHT, IN_FLIGHT / 10).await;
            let worker = world.installation.launch("gateway-worker", &["ipn-delivery"], &[]);
            endpoint.until(IN_FLIGHT, LIMIT).await;
            rounds.add_alone(resident(&worker));
        })
        .await;
    }
    report.value(BUSY, "MB", None, Goal::AtMost(100.0), rounds);
}

/// Megabytes of a process's memory that are in RAM.
pub fn resident(program: &Program) -> f64 {
    megabytes(program, "VmRSS:")
}

/// The most megabytes of a process's memory that were in RAM since it began.
pub fn highest(program: &Program) -> f64 {
    megabytes(program, "VmHWM:")
}

fn megabytes(program: &Program, counter: &str) -> f64 {
    let path = format!("/proc/{}/status", program.process.pid());
    let status = fs::read_to_string(path).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(counter)).unwrap();
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kilobytes as f64 / 1024.0
}
