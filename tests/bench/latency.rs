//! Time from an event to its endpoint without load, at 100 a second, and beside endpoints that
//! hang.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use gateway::{
    app::merchant::manage::NewMerchant,
    broker::{
        envelope::{DepositRef, encode},
        route::Route,
    },
    storage::{events, outbox},
};
use sqlx::Connection;
use support::{
    server::processes::Signal,
    shop::{
        announced::{any_invoice, new_event},
        payable::Payable,
    },
};
use uuid::Uuid;

use crate::{
    delivery::insert_silently,
    endpoint::{Caller, Endpoint, post},
    report::{Goal, Report, Rounds, percentile},
    world::{World, with_world},
};

const EVENTS: usize = 500;
const EVERY: Duration = Duration::from_millis(10);
const LIMIT: Duration = Duration::from_secs(60);
const MERCHANTS: usize = 50;
const HANG: Duration = Duration::from_secs(10);
const SENT: &str = "latency: delivery committed → IPN received";
/// Shown beside [`SENT`]: a message that is published before the commit's answer has come back
/// shortens that figure, and not this one.
const BEGUN: &str = "latency: delivery begun → IPN received";
const PAID: &str = "latency: deposit committed → IPN received";
const HANGING: &str = "latency: healthy p99 while 1 endpoint in 50 hangs";

pub async fn run(report: &mut Report) {
    if report.wants(SENT) {
        sent(report).await;
    }
    if report.wants(PAID) {
        paid(report).await;
    }
    if report.wants(HANGING) {
        hanging(report).await;
    }
}

async fn sent(report: &mut Report) {
    let (mut p50, mut p99) = (Rounds::default(), Rounds::default());
    let (mut begun_p50, mut begun_p99) = (Rounds::default(), Rounds::default());
    let count = report.rounds;
    with_world(&[], |world| async move {
        let _relay = world.relay();
        let worker = world.installation.start_workers(&["ipn-delivery"]).await;
        worker.ready().await;
        let endpoint = Endpoint::answering_after(Duration::ZERO).await;
        let merchants = Merchants::open(&world, MERCHANTS).await;
        for round in 0..=count {
            let sent = merchants.send(&world, |at| endpoint.url(at)).await;
            let (mut ours, mut begun) = sent.latencies(&endpoint, EVENTS).await;
            let (mut bare, mut bare_begun) = straight(&world, &merchants).await;
            if round > 0 {
                p50.add(percentile(&mut ours, 0.5), percentile(&mut bare, 0.5));
                p99.add(percentile(&mut ours, 0.99), percentile(&mut bare, 0.99));
                begun_p50.add(percentile(&mut begun, 0.5), percentile(&mut bare_begun, 0.5));
                begun_p99.add(percentile(&mut begun, 0.99), percentile(&mut bare_begun, 0.99));
            }
        }
        worker.process.signal(Signal::Terminate);
        worker.process.ended(LIMIT).await;
        let limit = "commit and POST by one loop without a queue";
        report.value(&format!("{SENT}, p50"), "ms", Some(limit), Goal::AtMost(3.0), p50);
        report.value(&format!("{SENT}, p99"), "ms", Some(limit), Goal::AtMost(10.0), p99);
        report.beside(&format!("{BEGUN}, p50"), "ms", limit, begun_p50);
        report.beside(&format!("{BEGUN}, p99"), "ms", limit, begun_p99);
    })
    .await;
}

async fn paid(report: &mut Report) {
    let (mut p50, mut p99) = (Rounds::default(), Rounds::default());
    let count = report.rounds;
    with_world(&[], |world| async move {
        let _relay = world.relay();
        let workers = world.installation.start_workers(&["deposit-matching", "ipn-delivery"]).await;
        workers.ready().await;
        let endpoint = Endpoint::answering_after(Duration::ZERO).await;
        let merchants = world.merchants(MERCHANTS).await;
        for round in 0..=count {
            let mut ours = pay(&world, &merchants, &endpoint).await;
            if round > 0 {
                p50.add_alone(percentile(&mut ours, 0.5));
                p99.add_alone(percentile(&mut ours, 0.99));
            }
        }
        workers.process.signal(Signal::Terminate);
        workers.process.ended(LIMIT).await;
        report.value(&format!("{PAID}, p50"), "ms", None, Goal::AtMost(8.0), p50);
        report.value(&format!("{PAID}, p99"), "ms", None, Goal::AtMost(30.0), p99);
    })
    .await;
}

async fn hanging(report: &mut Report) {
    let mut rounds = Rounds::default();
    let count = report.rounds;
    with_world(&[], |world| async move {
        let _relay = world.relay();
        let worker = world.installation.start_workers(&["ipn-delivery"]).await;
        worker.ready().await;
        let healthy = Endpoint::answering_after(Duration::ZERO).await;
        let hangs = Endpoint::answering_after(HANG).await;
        for round in 0..=count {
            // New merchants each time: a merchant known to be slow already has a lane of its own.
            let merchants = Merchants::open(&world, MERCHANTS).await;
            let calm = merchants.send(&world, |at| healthy.url(at)).await;
            let (mut calm, _) = calm.latencies(&healthy, EVENTS).await;
            let one_in_fifty = |at| if at == 0 { hangs.url(0) } else { healthy.url(at) };
            let others = EVENTS - EVENTS / MERCHANTS;
            let beside = merchants.send(&world, one_in_fifty).await;
            let (mut beside, _) = beside.latencies(&healthy, others).await;
            if round > 0 {
                rounds.add(percentile(&mut beside, 0.99), percentile(&mut calm, 0.99));
            }
        }
        report.ratio(HANGING, "ms", "the same with no endpoint hanging", Goal::AtMost(2.0), rounds);
    })
    .await;
}

/// Merchants with an invoice each for deliveries to refer to.
struct Merchants(Vec<(NewMerchant, Uuid)>);

/// When each event's delivery was begun and when it was committed.
struct Committed(HashMap<String, (Instant, Instant)>);

impl Merchants {
    async fn open(world: &World, count: usize) -> Self {
        let mut merchants = Vec::new();
        for merchant in world.merchants(count).await {
            let invoice = any_invoice(&mut world.connect().await, merchant.id).await;
            merchants.push((merchant, invoice));
        }
        Self(merchants)
    }

    /// Commits deliveries at a steady pace, to the endpoint that `url` returns for the merchant's
    /// number.
    async fn send(&self, world: &World, url: impl Fn(usize) -> String) -> Committed {
        let mut committed = HashMap::new();
        let mut pace = tokio::time::interval(EVERY);
        for number in 0..EVENTS {
            pace.tick().await;
            let at = number % self.0.len();
            let (merchant, invoice) = &self.0[at];
            let url = url(at);
            let new = [new_event(merchant.id, *invoice, &url)];
            let begun = Instant::now();
            let mut tx = world.gateway.db.begin().await.unwrap();
            events::tell(&mut tx, &new, Route::Ipn.as_str()).await.unwrap();
            tx.commit().await.unwrap();
            let [new] = new;
            world.gateway.relay_wake.notify_one();
            committed.insert(new.event_id, (begun, Instant::now()));
        }
        Committed(committed)
    }
}

impl Committed {
    /// Milliseconds from each commit to its arrival at `endpoint`, and from each beginning; waits
    /// for the `wanted` arrivals that the endpoint receives.
    async fn latencies(self, endpoint: &Endpoint, wanted: usize) -> (Vec<f64>, Vec<f64>) {
        endpoint.until(wanted, LIMIT).await;
        let took = |(event_id, arrived): (String, Instant)| {
            let (begun, committed) = self.0[&event_id];
            // It may have arrived before this process knew that its commit had ended.
            let since_commit = arrived.saturating_duration_since(committed);
            (milliseconds(since_commit), milliseconds(arrived - begun))
        };
        let latencies: (Vec<_>, Vec<_>) = endpoint.arrivals().into_iter().map(took).unzip();
        assert_eq!(latencies.0.len(), wanted, "something was sent twice");
        endpoint.forget();
        latencies
    }
}

fn milliseconds(took: Duration) -> f64 {
    took.as_secs_f64() * 1000.0
}

/// Minimum work: commit the row, then POST over open connections.
async fn straight(world: &Arc<World>, merchants: &Merchants) -> (Vec<f64>, Vec<f64>) {
    let endpoint = Endpoint::answering_after(Duration::ZERO).await;
    let mut caller = Caller::open(endpoint.address(0)).await;
    let mut committed = HashMap::new();
    let mut pace = tokio::time::interval(EVERY);
    for number in 0..EVENTS {
        pace.tick().await;
        let (merchant, invoice) = &merchants.0[number % merchants.0.len()];
        let new = new_event(merchant.id, *invoice, &endpoint.url(0));
        let begun = Instant::now();
        let mut connection = world.gateway.db.connection().await.unwrap();
        insert_silently(&mut connection, &new).await;
        committed.insert(new.event_id.clone(), (begun, Instant::now()));
        caller.send(&post("/ipn", &[("x-gateway-event-id", &new.event_id)], &new.payload)).await;
    }
    Committed(committed).latencies(&endpoint, EVENTS).await
}

/// Commits a final deposit for each of many invoices, as a watcher does; returns milliseconds to
/// their IPNs.
async fn pay(world: &World, merchants: &[NewMerchant], endpoint: &Endpoint) -> Vec<f64> {
    endpoint.forget();
    let mut connection = world.connect().await;
    let mut invoices = Vec::new();
    for number in 0..EVENTS {
        let (merchant, url) = (&merchants[number % merchants.len()], endpoint.url(0));
        invoices.push(Payable::insert(&mut connection, merchant.id, Some(&url)).await);
    }
    let mut committed = HashMap::new();
    let mut pace = tokio::time::interval(EVERY);
    for payable in invoices {
        pace.tick().await;
        let mut tx = connection.begin().await.unwrap();
        let deposit = final_deposit(&mut tx, &payable).await;
        let body = encode(&DepositRef { deposit_id: deposit });
        outbox::insert(&mut tx, Route::DepositFinal.as_str(), &body).await.unwrap();
        tx.commit().await.unwrap();
        world.gateway.relay_wake.notify_one();
        committed.insert(payable.payment_id, Instant::now());
    }
    endpoint.until(EVENTS, LIMIT).await;
    let mut latencies = Vec::new();
    let query =
        "select d.event_id, i.payment_id from delivery d join invoice i on i.id = d.invoice_id";
    let events: Vec<(String, String)> =
        sqlx::query_as(query).fetch_all(&mut connection).await.unwrap();
    let payments: HashMap<_, _> = events.into_iter().collect();
    for (event_id, at) in endpoint.arrivals() {
        let Some(start) = payments.get(&event_id).and_then(|id| committed.get(id)) else {
            continue;
        };
        latencies.push(milliseconds(at - *start));
    }
    assert_eq!(latencies.len(), EVENTS);
    latencies
}

/// A deposit of 20 USDT with all its confirmations.
pub async fn final_deposit(connection: &mut sqlx::PgConnection, payable: &Payable) -> Uuid {
    let id = Uuid::now_v7();
    sqlx::query(
        "insert into deposit (id, network, deposit_key, tx_hash, address_id, invoice_id, token_id, amount,
             amount_text, height, block_hash, mined_at, first_seen_at, state)
         values ($1, 'polygon', $2, $2, $3, $4, 'usdtmatic@polygon', 20000000, '20000000', 1, 'b', now(), now(), 'final')",
    )
    .bind(id)
    .bind(id.to_string())
    .bind(payable.address_id)
    .bind(payable.invoice)
    .execute(connection)
    .await
    .unwrap();
    id
}
