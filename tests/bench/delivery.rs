//! IPN deliveries per second: a backlog sent to an endpoint that answers at once, and the gain from
//! a second process.

use std::{sync::Arc, time::Duration};

use chrono::DateTime;
use gateway::{
    app::Gateway,
    broker::route::Route,
    storage::{
        deliveries::{self, AttemptRecord},
        events::{self, NewEvent},
    },
    webhook::retry::{DeliveryState, Progress},
};
use support::{
    server::processes::Signal,
    shop::announced::{any_invoice, new_event},
};
use tokio::sync::{Mutex, mpsc, oneshot};
use uuid::Uuid;

use crate::{
    endpoint::{Caller, Endpoint, free, post},
    report::{Goal, Report, Rounds},
    world::{POOL, World, per_second, with_world},
};

pub const BACKLOG: usize = 4_000;
pub const MERCHANTS: usize = 80;
/// Concurrent deliveries of one worker, and of the bare loop beside it.
pub const IN_FLIGHT: usize = 200;
pub const IN_FLIGHT_SETTING: (&str, &str) = ("GATEWAY_WORKER__DELIVERIES_IN_FLIGHT", "200");
const LIMIT: Duration = Duration::from_secs(120);
const RATE: &str = "deliver: IPNs per second, a backlog";
const BATCHES: &str = "deliver: IPNs per second, against commits of many";
const INSERTS: &str = "deliver: IPNs per second, against bare inserts";
const ALONE: &str = "deliver: IPNs per second, a backlog of one merchant";
const SCALE: &str = "scale: two worker processes against one";
const SCALE_AT_ONCE: &str = "scale: two worker processes, receivers answer at once";
/// Response time of the slow endpoint, so that one process is limited by waiting and not by the
/// processor.
const PAUSE: Duration = Duration::from_millis(500);
const ONE_PROCESS: &str = "one process with the same receivers";
/// Most outcomes that a worker stores together (`workers/src/batch.rs`).
const OUTCOMES: usize = 200;

pub async fn run(report: &mut Report) {
    if [RATE, BATCHES, INSERTS].into_iter().any(|name| report.wants(name)) {
        rate(report).await;
    }
    if report.wants(ALONE) {
        alone(report).await;
    }
    if report.wants(SCALE) {
        let rounds = scale(report.rounds, PAUSE).await;
        report.ratio(SCALE, "/s", ONE_PROCESS, Goal::AtLeast(1.8), rounds);
    }
    if report.wants(SCALE_AT_ONCE) {
        let rounds = scale(report.rounds, Duration::ZERO).await;
        report.beside(SCALE_AT_ONCE, "/s", ONE_PROCESS, rounds);
    }
}

async fn rate(report: &mut Report) {
    let (mut posts, mut batches, mut inserts) =
        (Rounds::default(), Rounds::default(), Rounds::default());
    let count = report.rounds;
    with_world(&[IN_FLIGHT_SETTING], |world| async move {
        for round in 0..=count {
            let ours = drain(&world, 1, Duration::ZERO, BACKLOG, MERCHANTS).await;
            let post_and_commit = bare(&world, 1).await;
            let post_and_commit_many = bare(&world, OUTCOMES).await;
            let two_inserts = two_inserts(&world).await;
            // The first round warms up.
            if round > 0 {
                posts.add(ours, post_and_commit);
                batches.add(ours, post_and_commit_many);
                inserts.add(ours, two_inserts);
            }
        }
        let limit = "a bare loop of one keep-alive POST and one commit of the same rows";
        report.ratio(RATE, "/s", limit, Goal::AtLeast(0.6), posts);
        let limit =
            "a bare loop of keep-alive POSTs and commits of up to 200 outcomes, as the worker's";
        report.beside(BATCHES, "/s", limit, batches);
        let limit = "a bare loop of two inserts and a commit";
        report.ratio(INSERTS, "/s", limit, Goal::AtLeast(0.35), inserts);
    })
    .await;
}

/// One merchant has few delivery slots, so that other merchants keep theirs.
async fn alone(report: &mut Report) {
    let mut rounds = Rounds::default();
    let count = report.rounds;
    with_world(&[], |world| async move {
        for _ in 0..count {
            rounds.add_alone(drain(&world, 1, Duration::ZERO, BACKLOG / 2, 1).await);
        }
        report.figure(ALONE, "/s", rounds);
    })
    .await;
}

async fn scale(count: usize, pause: Duration) -> Rounds {
    let mut rounds = Rounds::default();
    let of_all = &mut rounds;
    with_world(&[IN_FLIGHT_SETTING], |world| async move {
        for _ in 0..count {
            let two = drain(&world, 2, pause, BACKLOG, MERCHANTS).await;
            let one = drain(&world, 1, pause, BACKLOG, MERCHANTS).await;
            of_all.add(two, one);
        }
    })
    .await;
    rounds
}

/// Writes the row without a message, for loops that run without a broker.
pub async fn insert_silently(connection: &mut sqlx::PgConnection, new: &NewEvent) {
    let delivery = new.delivery.as_ref().unwrap();
    sqlx::query(
        "insert into delivery (id, event_id, channel, kind, merchant_id, invoice_id, subject, url, payload, state,
             next_attempt_at)
         values ($1, $2, 'ipn', $3, $4, $5, $6, $7, $8, 'pending', now())",
    )
    .bind(delivery.id)
    .bind(&new.event_id)
    .bind(new.kind.delivery_name())
    .bind(new.merchant_id)
    .bind(delivery.invoice_id)
    .bind(new.subject)
    .bind(&delivery.url)
    .bind(&new.payload)
    .execute(connection)
    .await
    .unwrap();
}

/// Lets `processes` workers send `backlog` queued deliveries of `merchants` merchants; returns
/// deliveries per second, from the first read until the last outcome is stored.
pub async fn drain(
    world: &Arc<World>,
    processes: usize,
    pause: Duration,
    backlog: usize,
    merchants: usize,
) -> f64 {
    let endpoint = Endpoint::answering_after(pause).await;
    drain_to(&endpoint, world, processes, backlog, merchants).await
}

/// The same to an endpoint of the caller's.
pub async fn drain_to(
    endpoint: &Endpoint,
    world: &Arc<World>,
    processes: usize,
    backlog: usize,
    merchants: usize,
) -> f64 {
    fill(world, endpoint, backlog, merchants).await;
    let settings = endpoint.settings();
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, &**value)).collect();
    let mut workers = Vec::new();
    for _ in 0..processes {
        workers.push(world.installation.launch("gateway-worker", &["ipn-delivery"], &settings));
    }
    endpoint.until(backlog, LIMIT).await;
    let open = "select count(*) from delivery where state <> 'delivered'";
    world.until(open, 0, LIMIT).await;
    assert_eq!(endpoint.count(), backlog, "something was sent twice");
    let rate =
        "select (count(*) / extract(epoch from max(d.updated_at) - min(a.started_at)))::float8
                from delivery d join delivery_attempt a on a.delivery_id = d.id";
    let rate = sqlx::query_scalar(rate).fetch_one(&mut world.connect().await).await.unwrap();
    for worker in &workers {
        worker.process.signal(Signal::Terminate);
        worker.process.ended(LIMIT).await;
    }
    world.run("truncate delivery, outbox cascade").await;
    rate
}

/// Writes deliveries and waits until all their messages are in the work queue.
pub async fn fill(world: &Arc<World>, endpoint: &Endpoint, backlog: usize, merchants: usize) {
    let relay = world.relay();
    let merchants = world.merchants(merchants).await;
    let mut connection = world.connect().await;
    let mut invoices = Vec::new();
    for merchant in &merchants {
        invoices.push(any_invoice(&mut connection, merchant.id).await);
    }
    let mut tx = world.gateway.db.begin().await.unwrap();
    for number in 0..backlog {
        let at = number % merchants.len();
        let new = new_event(merchants[at].id, invoices[at], &endpoint.url(at));
        let route = Route::Ipn.as_str();
        events::tell(&mut tx, &[new], route).await.unwrap();
    }
    tx.commit().await.unwrap();
    world.gateway.relay_wake.notify_one();
    world.until("select count(*) from outbox", 0, LIMIT).await;
    drop(relay);
}

/// The same endpoint and the same rows with nothing between: no queue, no signature, no guard.
/// Up to `together` outcomes are committed in one statement.
async fn bare(world: &Arc<World>, together: usize) -> f64 {
    let endpoint = Endpoint::answering_after(Duration::ZERO).await;
    let merchant = world.merchants(1).await.remove(0);
    let invoice = any_invoice(&mut world.connect().await, merchant.id).await;
    let mut tx = world.gateway.db.begin().await.unwrap();
    let mut rows = Vec::new();
    for _ in 0..BACKLOG {
        let new = new_event(merchant.id, invoice, &endpoint.url(0));
        insert_silently(&mut tx, &new).await;
        rows.push(new);
    }
    tx.commit().await.unwrap();
    let mut callers = Vec::new();
    for at in 0..IN_FLIGHT {
        callers.push(Mutex::new(Caller::open(endpoint.address(at)).await));
    }
    let store = Arc::new(Store::of(world, together));
    let (rows, callers) = (Arc::new(rows), Arc::new(callers));
    let rate = per_second(BACKLOG, IN_FLIGHT, move |number| {
        let (rows, callers, store) = (rows.clone(), callers.clone(), store.clone());
        async move {
            let new = &rows[number];
            let request = post("/ipn", &[("x-gateway-event-id", &new.event_id)], &new.payload);
            let status = free(&callers, number).await.send(&request).await;
            store.put(delivered(new.delivery.as_ref().unwrap().id, status)).await;
        }
    })
    .await;
    world.run("truncate delivery, outbox cascade").await;
    rate
}

type Waiting = (AttemptRecord, oneshot::Sender<()>);

/// Commits outcomes: each alone, or those that wait together.
enum Store {
    Alone(Arc<Gateway>),
    Together(mpsc::UnboundedSender<Waiting>),
}

impl Store {
    fn of(world: &World, together: usize) -> Self {
        let gateway = world.gateway.clone();
        if together == 1 {
            return Self::Alone(gateway);
        }
        let (sender, mut receiver) = mpsc::unbounded_channel::<Waiting>();
        tokio::spawn(async move {
            let mut batch = Vec::new();
            while receiver.recv_many(&mut batch, together).await > 0 {
                commit(&gateway, &batch.iter().map(|(record, _)| record).collect::<Vec<_>>()).await;
                batch.drain(..).for_each(|(_, committed)| committed.send(()).unwrap());
            }
        });
        Self::Together(sender)
    }

    /// Returns when the outcome is committed.
    async fn put(&self, record: AttemptRecord) {
        match self {
            Self::Alone(gateway) => commit(gateway, &[&record]).await,
            Self::Together(writer) => {
                let (committed, outcome) = oneshot::channel();
                writer.send((record, committed)).ok().unwrap();
                outcome.await.unwrap();
            }
        }
    }
}

async fn commit(gateway: &Gateway, records: &[&AttemptRecord]) {
    let mut connection = gateway.db.connection().await.unwrap();
    let recorded = deliveries::record_attempts(&mut connection, records).await.unwrap();
    assert_eq!(recorded.len(), records.len());
}

fn delivered(delivery_id: Uuid, status: u16) -> AttemptRecord {
    AttemptRecord {
        delivery_id,
        expected: Progress { state: DeliveryState::Pending, cycle: 1, attempts: 0 },
        cycle: 1,
        attempt: 1,
        new_state: DeliveryState::Delivered,
        retry_in_seconds: 30,
        started_at: DateTime::UNIX_EPOCH,
        duration_ms: 1,
        status: i16::try_from(status).ok(),
        error: None,
        excerpt: None,
        next: None,
    }
}

async fn two_inserts(world: &Arc<World>) -> f64 {
    world.run("create table if not exists bare_a (id uuid primary key, body text); create table if not exists bare_b (id uuid primary key, body text); truncate bare_a, bare_b").await;
    let gateway = world.gateway.clone();
    per_second(BACKLOG, POOL as usize, move |_| {
        let gateway = gateway.clone();
        async move {
            let mut tx = gateway.db.begin().await.unwrap();
            for statement in
                ["insert into bare_a values ($1, $2)", "insert into bare_b values ($1, $2)"]
            {
                let query = sqlx::query(statement).bind(Uuid::now_v7()).bind("a line of text");
                query.execute(&mut *tx).await.unwrap();
            }
            tx.commit().await.unwrap();
        }
    })
    .await
}
