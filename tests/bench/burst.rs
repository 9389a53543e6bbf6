//! One merchant's burst, which may use its receiver and nothing of others; and others beside
//! receivers that hang.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use gateway::{broker::route::Route, storage::events};
use support::{
    server::processes::{Signal, within},
    shop::announced::{any_invoice, new_event},
};
use tokio::{
    io::{copy, sink},
    net::TcpListener,
    sync::Mutex,
    task::JoinSet,
};
use uuid::Uuid;

use crate::{
    delivery::{MERCHANTS, drain},
    endpoint::{Caller, Endpoint, HOSTS, free, post},
    report::{Goal, Report, Rounds, percentile},
    world::{World, per_second, require_files, with_world},
};

const EVENTS: usize = 2_000;
/// Attempts at once to a receiver that answers well (`app::delivery::lane`).
const PLACES: usize = 25;
const BURSTS: [(&str, Duration); 3] = [
    ("burst: 2,000 IPNs of one merchant, answers at once", Duration::ZERO),
    ("burst: 2,000 IPNs of one merchant, answers after 20 ms", Duration::from_millis(20)),
    ("burst: 2,000 IPNs of one merchant, answers after 200 ms", Duration::from_millis(200)),
];
const HANG: &str = "burst: p99 of healthy receivers while 1,000 others hang";
const BEGIN: &str = "burst: p99 of healthy receivers, 1,000 begin to hang at one time";
const ANSWERED: &str = "burst: p99 of healthy receivers, 1,000 others answer at one time";
const OTHERS: usize = 1_000;
/// Attempts that hang end after ten seconds: of a thousand that begin in six, all hang when the
/// last one has begun, and the first ones end while the healthy receivers' events are measured.
const TOGETHER: usize = 10;
const PAUSE: Duration = Duration::from_millis(60);
const HEALTHY: usize = 10;
const HEALTHY_EVENTS: usize = 300;
const EVERY: Duration = Duration::from_millis(25);
/// A socket at each end of a hanging attempt, and others.
const FILES: u64 = 4_096;
const LIMIT: Duration = Duration::from_secs(60);

pub async fn run(report: &mut Report) {
    for (name, pause) in BURSTS {
        if report.wants(name) {
            burst(report, name, pause).await;
        }
    }
    if [HANG, BEGIN, ANSWERED].iter().any(|name| report.wants(name)) {
        hang(report).await;
    }
}

/// Against as many bare connections as the merchant gets; and, as no merchant can get more than
/// there is, against the same events of many merchants.
async fn burst(report: &mut Report, name: &str, pause: Duration) {
    let mut rounds = Rounds::default();
    let count = report.rounds;
    with_world(&[], |world| async move {
        for round in 0..=count {
            let many = drain(&world, 1, pause, EVENTS, MERCHANTS).await;
            let one = drain(&world, 1, pause, EVENTS, 1).await;
            let bare = bare(pause).await;
            // The first round warms up.
            if round > 0 {
                rounds.add(one, many.min(bare));
            }
        }
        let limit = "25 bare keep-alive connections to the receiver, or the same events of 80 \
                     merchants where that is less";
        report.ratio(name, "/s", limit, Goal::AtLeast(0.8), rounds);
    })
    .await;
}

/// The same bodies to the same receiver with nothing between.
async fn bare(pause: Duration) -> f64 {
    let endpoint = Endpoint::answering_after(pause).await;
    let mut callers = Vec::new();
    for _ in 0..PLACES {
        callers.push(Mutex::new(Caller::open(endpoint.address(0)).await));
    }
    let callers = Arc::new(callers);
    per_second(EVENTS, PLACES, move |number| {
        let callers = callers.clone();
        async move {
            let new = new_event(Uuid::nil(), Uuid::nil(), "http://127.0.0.1/ipn");
            let request = post("/ipn", &[("x-gateway-event-id", &new.event_id)], &new.payload);
            assert_eq!(free(&callers, number).await.send(&request).await, 200);
        }
    })
    .await
}

async fn hang(report: &mut Report) {
    require_files(FILES);
    let (mut hang, mut begin, mut answered) = <(Rounds, Rounds, Rounds)>::default();
    let count = report.rounds;
    with_world(&[], |world| async move {
        let healthy = Endpoint::answering_after(Duration::ZERO).await;
        let answering = Endpoint::answering_after(Duration::ZERO).await;
        let silent = Silent::listening().await;
        let good = merchants(&world, HEALTHY, |at| healthy.url(at)).await;
        // The gateway limits its attempts to each host, so these are at hosts of their own.
        let elsewhere = |at: usize| answering.url(HEALTHY + at % (HOSTS - HEALTHY));
        let others = merchants(&world, OTHERS, elsewhere).await;
        let bad = merchants(&world, OTHERS, |at| silent.url(at)).await;
        let _relay = world.relay();
        let receivers = (&healthy, &good[..]);
        for _ in 0..count {
            let meanwhile = async || {
                for some in bad.chunks(TOGETHER) {
                    tell(&world, some).await;
                    tokio::time::sleep(PAUSE).await;
                }
                within(LIMIT, "all of them hang", async || silent.holds(OTHERS)).await;
            };
            beside(&world, receivers, meanwhile, &mut hang).await;
            beside(&world, receivers, async || drop(tell(&world, &bad).await), &mut begin).await;
            let meanwhile = async || drop(tell(&world, &others).await);
            beside(&world, receivers, meanwhile, &mut answered).await;
        }
        let limit = "the same while none hangs";
        report.ratio(HANG, "ms", limit, Goal::AtMost(2.0), hang);
        report.ratio(BEGIN, "ms", limit, Goal::AtMost(2.0), begin);
        report.beside(ANSWERED, "ms", "the same without their events", answered);
    })
    .await;
}

/// Adds the p99 of healthy receivers after `before`, and without it, with a worker that has done
/// nothing else.
async fn beside(
    world: &Arc<World>,
    (healthy, good): (&Endpoint, &[Merchant]),
    before: impl AsyncFnOnce(),
    rounds: &mut Rounds,
) {
    let worker = world.installation.launch("gateway-worker", &["ipn-delivery"], &[]);
    worker.listening().await;
    // Warms up.
    latencies(world, healthy, good).await;
    let calm = latencies(world, healthy, good).await;
    before().await;
    rounds.add(p99(latencies(world, healthy, good).await), p99(calm));
    worker.process.signal(Signal::Kill);
    worker.process.ended(LIMIT).await;
    world.run("truncate delivery, outbox cascade").await;
    world.run("update merchant set slow_until = null").await;
}

struct Merchant {
    id: Uuid,
    invoice: Uuid,
    url: String,
}

async fn merchants(world: &World, count: usize, url: impl Fn(usize) -> String) -> Vec<Merchant> {
    let mut connection = world.connect().await;
    let mut merchants = Vec::with_capacity(count);
    for (at, new) in world.merchants(count).await.into_iter().enumerate() {
        let invoice = any_invoice(&mut connection, new.id).await;
        merchants.push(Merchant { id: new.id, invoice, url: url(at) });
    }
    merchants
}

/// Takes connections on all addresses of this machine and says nothing, until it is dropped.
struct Silent {
    port: u16,
    connections: Arc<AtomicUsize>,
    _listening: JoinSet<()>,
}

impl Silent {
    async fn listening() -> Self {
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let (count, mut listening) = (connections.clone(), JoinSet::new());
        listening.spawn(async move {
            let mut held = JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                held.spawn(async move { copy(&mut stream, &mut sink()).await.is_ok() });
                while held.try_join_next().is_some() {}
                count.store(held.len(), Ordering::Relaxed);
            }
        });
        Self { port, connections, _listening: listening }
    }

    /// Fails unless `count` connections were open when the latest one was opened.
    fn holds(&self, count: usize) -> Result<(), String> {
        let open = self.connections.load(Ordering::Relaxed);
        if open >= count { Ok(()) } else { Err(format!("{open} do")) }
    }

    /// Each merchant's receiver is a host of its own.
    fn url(&self, at: usize) -> String {
        format!("http://127.2.{}.{}:{}/ipn", at / 250, at % 250 + 1, self.port)
    }
}

/// Commits one event for each; returns their ids.
async fn tell(world: &World, merchants: &[Merchant]) -> Vec<String> {
    let new = |one: &Merchant| new_event(one.id, one.invoice, &one.url);
    let new: Vec<_> = merchants.iter().map(new).collect();
    let mut tx = world.gateway.db.begin().await.unwrap();
    events::tell(&mut tx, &new, Route::Ipn.as_str()).await.unwrap();
    tx.commit().await.unwrap();
    world.gateway.relay_wake.notify_one();
    new.into_iter().map(|new| new.event_id).collect()
}

/// The milliseconds from the commit of each event of the healthy receivers to its arrival.
async fn latencies(world: &Arc<World>, healthy: &Endpoint, good: &[Merchant]) -> Vec<f64> {
    healthy.forget();
    let mut committed = HashMap::new();
    for number in 0..HEALTHY_EVENTS {
        let at = number % good.len();
        for id in tell(world, &good[at..=at]).await {
            committed.insert(id, Instant::now());
        }
        tokio::time::sleep(EVERY).await;
    }
    healthy.until(HEALTHY_EVENTS, LIMIT).await;
    let took = |(id, arrived): (String, Instant)| {
        // It may have arrived before this process knew that its commit had ended.
        arrived.saturating_duration_since(committed[&id]).as_secs_f64() * 1000.0
    };
    healthy.arrivals().into_iter().map(took).collect()
}

fn p99(mut latencies: Vec<f64>) -> f64 {
    percentile(&mut latencies, 0.99)
}
