//! An ordinary day in ten minutes: payments are created, paid and told, lists and payments are
//! read, and buyers' pages ask, all at a steady pace, while PostgreSQL vacuums its tables and
//! writes a checkpoint. Percentiles per minute, and a picture of them.

mod picture;

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use gateway::broker::{
    envelope::{DepositRef, encode},
    route::Route,
};
use gateway::storage::outbox;
use serde_json::json;
use sqlx::Connection;
use support::{
    server::{private_postgres::fresh_postgres, processes::Signal},
    shop::payable::Payable,
};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::{
    endpoint::{Caller, Endpoint, post},
    latency::final_deposit,
    report::{Report, Rounds, percentile},
    world::{World, with_world_over},
};

const NAME: &str = "mixed: a minute's p50, p95 and p99";
const MINUTE: Duration = Duration::from_secs(60);
const MERCHANTS: usize = 60;
const LIMIT: Duration = Duration::from_secs(60);
const VACUUMS: &str = "select coalesce(sum(autovacuum_count), 0)::int8 from pg_stat_user_tables";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Create,
    /// From the commit of a final deposit to its IPN.
    Paid,
    Read,
    List,
    /// A buyer's page.
    Poll,
}

impl Kind {
    pub const ALL: [Self; 5] = [Self::Create, Self::Paid, Self::Read, Self::List, Self::Poll];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "POST /v1/payment",
            Self::Paid => "deposit to IPN",
            Self::Read => "GET /v1/payment/{id}",
            Self::List => "GET /v1/payment",
            Self::Poll => "a buyer's page",
        }
    }

    /// The pace: together 65 a second.
    const fn every(self) -> Duration {
        Duration::from_millis(match self {
            Self::Create | Self::Poll => 50,
            Self::Paid | Self::Read => 100,
            Self::List => 200,
        })
    }
}

/// Milliseconds of each request, by the minute in which it was due.
#[derive(Default)]
pub struct Samples(HashMap<(Kind, usize), Vec<f64>>);

impl Samples {
    fn add(&mut self, kind: Kind, due: Duration, took: Duration) {
        let minute = usize::try_from(due.as_secs() / MINUTE.as_secs()).unwrap();
        self.0.entry((kind, minute)).or_default().push(took.as_secs_f64() * 1_000.0);
    }

    /// The percentile of each minute.
    pub fn per_minute(&self, kind: Kind, share: f64) -> Vec<f64> {
        let samples = (0..).map_while(|minute| self.0.get(&(kind, minute)));
        samples.map(|samples| percentile(&mut samples.clone(), share)).collect()
    }
}

pub async fn run(report: &mut Report) {
    if !report.wants(NAME) {
        return;
    }
    let minutes = 2 * u32::try_from(report.rounds).unwrap();
    let mut samples = Samples::default();
    let of_all = &mut samples;
    // Each page is another buyer's.
    let settings = [("GATEWAY_API__TRUSTED_PROXIES", "127.0.0.1/32")];
    // A server for everybody's tests may have its autovacuum switched off.
    let server = fresh_postgres().await;
    let url = server.create_database().await;
    with_world_over(&url, &settings, |world| async move {
        let (api, workers) = world.installation.start().await;
        let vacuums = vacuums(&world).await;
        *of_all = day(&world, minutes * MINUTE).await;
        let vacuums = self::vacuums(&world).await - vacuums;
        eprintln!("    {vacuums} tables were vacuumed meanwhile");
        assert!(vacuums > 0, "no table was vacuumed: this is no ordinary day");
        for program in [api, workers] {
            program.process.signal(Signal::Terminate);
            program.process.ended(LIMIT).await;
        }
    })
    .await;
    for kind in Kind::ALL {
        for (share, name) in [(0.5, "p50"), (0.95, "p95"), (0.99, "p99")] {
            let mut rounds = Rounds::default();
            samples.per_minute(kind, share).into_iter().for_each(|figure| rounds.add_alone(figure));
            report.figure(&format!("mixed: a minute's {name}, {}", kind.name()), "ms", rounds);
        }
    }
    picture::draw(&samples);
}

async fn vacuums(world: &World) -> i64 {
    sqlx::query_scalar(VACUUMS).fetch_one(&mut world.connect().await).await.unwrap()
}

/// All kinds of requests for so long, and a checkpoint in the middle.
async fn day(world: &Arc<World>, length: Duration) -> Samples {
    let load = Arc::new(Load::open(world, length).await);
    let mut tasks = JoinSet::new();
    for kind in [Kind::Create, Kind::Read, Kind::List, Kind::Poll] {
        let load = load.clone();
        tasks.spawn(async move { load.ask(kind).await });
    }
    let paying = load.clone();
    tasks.spawn(async move { paying.pay().await });
    let rates = tokio::spawn({
        let world = world.clone();
        async move {
            loop {
                tokio::time::sleep(MINUTE / 2).await;
                world.refresh_rates().await;
            }
        }
    });
    tokio::time::sleep(length / 2).await;
    world.run("checkpoint").await;
    let mut samples = Samples::default();
    while let Some(taken) = tasks.join_next().await {
        let (kind, taken) = taken.unwrap();
        taken.into_iter().for_each(|(due, took)| samples.add(kind, due, took));
    }
    rates.abort();
    samples
}

/// Times since the beginning at which requests were due, and how long after that they had their
/// answers: so a late one delays those behind it in the figures too.
type Taken = (Kind, Vec<(Duration, Duration)>);

struct Load {
    world: Arc<World>,
    keys: Vec<String>,
    merchant: Uuid,
    /// Payments that are read, and whose pages ask.
    payments: Vec<String>,
    receiver: Endpoint,
    begun: Instant,
    length: Duration,
}

impl Load {
    async fn open(world: &Arc<World>, length: Duration) -> Self {
        let merchants = world.merchants(MERCHANTS).await;
        let keys: Vec<_> = merchants.iter().map(|new| new.api_key.reveal().to_owned()).collect();
        let mut payments = Vec::new();
        let mut connection = world.connect().await;
        for new in &merchants {
            payments.push(Payable::insert(&mut connection, new.id, None).await.payment_id);
        }
        let (world, merchant) = (world.clone(), merchants[0].id);
        let receiver = Endpoint::answering_after(Duration::ZERO).await;
        Self { world, keys, merchant, payments, receiver, begun: Instant::now(), length }
    }

    fn request(&self, kind: Kind, number: usize) -> Vec<u8> {
        let at = number % MERCHANTS;
        let key = &self.keys[at];
        let get = |path: &str, header: &str| {
            format!("GET {path} HTTP/1.1\r\nhost: bench\r\n{header}\r\n\r\n").into_bytes()
        };
        let signed = format!("x-api-key: {key}");
        match kind {
            Kind::Create => {
                let order = json!({
                    "price_amount": 20, "price_currency": "usd", "pay_currency": "usdtmatic",
                    "order_id": format!("order-{number}"),
                });
                post("/v1/payment", &[("x-api-key", key)], &order.to_string())
            }
            Kind::Read => get(&format!("/v1/payment/{}", self.payments[at]), &signed),
            Kind::List => get("/v1/payment?limit=50&page=0", &signed),
            Kind::Poll | Kind::Paid => get(
                &format!("/v1/invoices/{}/status", self.payments[at]),
                &format!("x-forwarded-for: 10.0.{}.{}", number / 250 % 250, number % 250),
            ),
        }
    }

    async fn ask(&self, kind: Kind) -> Taken {
        let installation = &self.world.installation;
        let address = if kind == Kind::Poll { installation.checkout } else { installation.api };
        let mut caller = Caller::open(address).await;
        let (mut taken, mut pace) = (Vec::new(), tokio::time::interval(kind.every()));
        loop {
            let due = pace.tick().await.into_std();
            let at = due.saturating_duration_since(self.begun);
            if at >= self.length {
                return (kind, taken);
            }
            let status = caller.send(&self.request(kind, taken.len())).await;
            assert!(matches!(status, 200 | 201), "{}: {status}", kind.name());
            taken.push((at, due.elapsed()));
        }
    }

    /// Commits final deposits, as a watcher does, and waits for their IPNs.
    async fn pay(&self) -> Taken {
        let relay = self.world.relay();
        let mut connection = self.world.connect().await;
        let (mut paid, mut pace) = (HashMap::new(), tokio::time::interval(Kind::Paid.every()));
        loop {
            let due = pace.tick().await.into_std();
            let at = due.saturating_duration_since(self.begun);
            if at >= self.length {
                break;
            }
            let url = self.receiver.url(paid.len());
            let payable = Payable::insert(&mut connection, self.merchant, Some(&url)).await;
            let mut tx = connection.begin().await.unwrap();
            let deposit_id = final_deposit(&mut tx, &payable).await;
            let body = encode(&DepositRef { deposit_id });
            outbox::insert(&mut tx, Route::DepositFinal.as_str(), &body).await.unwrap();
            tx.commit().await.unwrap();
            self.world.gateway.relay_wake.notify_one();
            paid.insert(payable.payment_id, (at, Instant::now()));
        }
        self.receiver.until(paid.len(), LIMIT).await;
        drop(relay);
        let query =
            "select d.event_id, i.payment_id from delivery d join invoice i on i.id = d.invoice_id";
        let told: Vec<(String, String)> =
            sqlx::query_as(query).fetch_all(&mut connection).await.unwrap();
        let told: HashMap<_, _> = told.into_iter().collect();
        let taken = self.receiver.arrivals().into_iter().map(|(event_id, arrived)| {
            let (due, committed) = paid[&told[&event_id]];
            (due, arrived.saturating_duration_since(committed))
        });
        (Kind::Paid, taken.collect())
    }
}
