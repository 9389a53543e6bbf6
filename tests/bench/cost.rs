//! Cost of one invoice and of one delivery: commits, rows, messages, bytes of WAL, and processor
//! time by program.

use std::{fs, sync::Arc, time::Duration};

use support::server::{installation::Program, processes::Signal};

use crate::{
    creation::{ORDERS, call, requests},
    delivery::{BACKLOG, MERCHANTS, fill},
    endpoint::Endpoint,
    report::{Report, Rounds},
    world::{World, with_world},
};

const INVOICE: &str = "cost: one invoice created";
const DELIVERY: &str = "cost: one IPN delivered";
const LIMIT: Duration = Duration::from_secs(60);
/// Unit in which the kernel counts processor time.
const TICKS_PER_SECOND: f64 = 100.0;

/// Commits, rows inserted, updated or deleted, messages and bytes, as the database counts them.
/// Every message comes from a row of the outbox.
const COUNTED: &str = "
    select (select xact_commit from pg_stat_database where datname = current_database())::float8,
           (select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables)::float8,
           (select n_tup_ins from pg_stat_user_tables where relname = 'outbox')::float8,
           (pg_current_wal_insert_lsn() - '0/0')::float8";

const FIGURES: [(&str, &str); 7] = [
    ("commits", ""),
    ("rows written", ""),
    ("broker messages", ""),
    ("write-ahead log", "B"),
    ("processor, gateway", "ms"),
    ("processor, PostgreSQL", "ms"),
    ("processor, RabbitMQ", "ms"),
];

pub async fn run(report: &mut Report) {
    if report.wants(INVOICE) {
        let mut rounds = FIGURES.map(|_| Rounds::default());
        for _ in 0..report.rounds {
            with_world(&[], |world| of_an_invoice(world, &mut rounds)).await;
        }
        tell(report, INVOICE, rounds);
    }
    if report.wants(DELIVERY) {
        let mut rounds = FIGURES.map(|_| Rounds::default());
        for _ in 0..report.rounds {
            with_world(&[], |world| of_a_delivery(world, &mut rounds)).await;
        }
        tell(report, DELIVERY, rounds);
    }
}

fn tell(report: &mut Report, name: &str, rounds: [Rounds; 7]) {
    for ((figure, unit), rounds) in FIGURES.into_iter().zip(rounds) {
        report.figure(&format!("{name}, {figure}"), unit, rounds);
    }
}

async fn of_an_invoice(world: Arc<World>, rounds: &mut [Rounds; 7]) {
    let api = world.installation.start_api().await;
    api.ready().await;
    let requests = requests(&world).await;
    let before = Spent::by(&world, &api).await;
    call(&world, requests).await;
    before.until_now(&world, api, ORDERS, rounds).await;
}

async fn of_a_delivery(world: Arc<World>, rounds: &mut [Rounds; 7]) {
    let endpoint = Endpoint::answering_after(Duration::ZERO).await;
    fill(&world, &endpoint, BACKLOG, MERCHANTS).await;
    let worker = world.installation.launch("gateway-worker", &["ipn-delivery"], &[]);
    let before = Spent::by(&world, &worker).await;
    endpoint.until(BACKLOG, LIMIT).await;
    before.until_now(&world, worker, BACKLOG, rounds).await;
}

/// All counters so far.
struct Spent([f64; 7]);

impl Spent {
    async fn by(world: &World, program: &Program) -> Self {
        // A connection reports its counters when it ends: those that prepared the rows must not
        // count later.
        world.gateway.db.close().await;
        let gateway = processor_time(|process| process.id == program.process.pid());
        Self::of(world, gateway).await
    }

    async fn of(world: &World, gateway: f64) -> Self {
        let mut connection = world.connect().await;
        let counted: (f64, f64, f64, f64) =
            sqlx::query_as(COUNTED).fetch_one(&mut connection).await.unwrap();
        let (commits, rows, messages, log) = counted;
        let postgres = processor_time(|process| process.name == "postgres");
        let broker = processor_time(|process| process.name == "beam.smp");
        Self([commits, rows, messages, log, gateway, postgres, broker])
    }

    /// Ends the program, so that all its work is counted, and adds a round: the difference per item
    /// of `count`.
    async fn until_now(
        self,
        world: &World,
        program: Program,
        count: usize,
        rounds: &mut [Rounds; 7],
    ) {
        let gateway = processor_time(|process| process.id == program.process.pid());
        program.process.signal(Signal::Terminate);
        program.process.ended(LIMIT).await;
        let after = Self::of(world, gateway).await;
        for (at, rounds) in rounds.iter_mut().enumerate() {
            rounds.add_alone((after.0[at] - self.0[at]) / count as f64);
        }
    }
}

/// A line of `/proc/*/stat`.
struct Counted {
    id: u32,
    name: String,
    ticks: f64,
}

/// Milliseconds of processor time of all processes selected by `wanted`, with those of their ended
/// children.
fn processor_time(wanted: impl Fn(&Counted) -> bool) -> f64 {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let stat = fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
        let (id, rest) = stat.split_once(" (")?;
        let (name, fields) = rest.rsplit_once(") ")?;
        // utime, stime, cutime, cstime: fields 14 to 17, of which 3 is the first after the name.
        let ticks =
            fields.split(' ').skip(11).take(4).filter_map(|text| text.parse::<f64>().ok()).sum();
        Some(Counted { id: id.parse().ok()?, name: name.to_owned(), ticks })
    });
    let ticks: f64 = processes.filter(wanted).map(|process| process.ticks).sum();
    ticks * 1000.0 / TICKS_PER_SECOND
}
