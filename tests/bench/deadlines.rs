//! A hundred thousand deadlines in one second, and the lateness of a deadline without load.

use std::time::{Duration, Instant};

use support::server::processes::Signal;

use crate::{
    report::{Goal, Report, Rounds, percentile},
    world::{World, with_world},
};

const STORM: i64 = 100_000;
const CALM: i32 = 300;
const LIMIT: Duration = Duration::from_secs(300);
const DRAINED: &str = "deadlines: 100,000 due in one second, per second";
const LATENESS: &str = "deadlines: p99 lateness in calm";

/// Open invoices whose end sends an IPN, due `$3` seconds from now and then `$4` milliseconds
/// apart.
const INVOICES: &str = "
    with made as (
        insert into invoice (id, payment_id, merchant_id, status, price_amount, price_currency, pricing_mode, token_id,
            network, decimals, pay_address, pay_amount, overpay_bps, payment_window_seconds, window_seconds,
            ipn_callback_url, deadline_at)
        select gen_random_uuid(), 'pzi_' || lpad(n::text, 26, '0'), $1, 'pending', 20, 'usd', 'fiat', 'usdtmatic@polygon',
               'polygon', 6, '0x' || lpad(n::text, 40, '0'), 20000000, 500, 1800, 1800, 'http://127.0.0.1:9/ipn',
               now() + $3 * interval '1 second' + n * $4 * interval '1 millisecond'
        from generate_series(1, $2) as n
        returning id, deadline_at
    )
    insert into timer (kind, ref, due_at) select 'invoice_deadline', id, deadline_at from made";

pub async fn run(report: &mut Report) {
    if report.wants(DRAINED) {
        storm(report).await;
    }
    if report.wants(LATENESS) {
        calm(report).await;
    }
}

async fn storm(report: &mut Report) {
    let mut rounds = Rounds::default();
    for _ in 0..report.rounds {
        let rounds = &mut rounds;
        with_world(&[], |world| async move {
            insert(&world, i32::try_from(STORM).unwrap(), 0, 0).await;
            world.run("analyze").await;
            let bare = bare_updates(&world).await;
            let started = Instant::now();
            let worker = world.installation.launch("gateway-worker", &["expiry-timer"], &[]);
            world.until("select count(*) from invoice where status <> 'expired'", 0, LIMIT).await;
            rounds.add(STORM as f64 / started.elapsed().as_secs_f64(), bare);
            // Each with its event.
            world.until("select count(*) from delivery", STORM, LIMIT).await;
            worker.process.signal(Signal::Terminate);
            worker.process.ended(LIMIT).await;
        })
        .await;
    }
    let limit = Some(
        "one transaction after another that locks, updates, deletes its timer and writes its event, 20 at a time",
    );
    report.value(DRAINED, "/s", limit, Goal::AtLeast(3_000.0), rounds);
}

async fn calm(report: &mut Report) {
    let mut samples = Rounds::default();
    let rounds = &mut samples;
    let count = report.rounds;
    with_world(&[], |world| async move {
        let worker = world.installation.start_workers(&["expiry-timer"]).await;
        worker.ready().await;
        for _ in 0..count {
            insert(&world, CALM, 1, 10).await;
            let open = "select count(*) from invoice where status <> 'expired'";
            world.until(open, 0, LIMIT).await;
            let query = "select extract(epoch from updated_at - deadline_at)::float8 from invoice";
            let mut late: Vec<f64> =
                sqlx::query_scalar(query).fetch_all(&mut world.connect().await).await.unwrap();
            rounds.add_alone(percentile(&mut late, 0.99));
            world.run("truncate invoice cascade").await;
        }
        worker.process.signal(Signal::Terminate);
        worker.process.ended(LIMIT).await;
    })
    .await;
    report.value(LATENESS, "s", None, Goal::AtMost(0.5), samples);
}

/// The watcher of their network has looked past all their deadlines.
async fn insert(world: &World, count: i32, first_in: i32, apart: i32) {
    let watched = "insert into chain_cursor (network, height, hash, watched_through) \
                   values ('polygon', 1, 'x', now() + interval '1 day') on conflict do nothing";
    world.run(watched).await;
    let merchant = world.merchants(1).await.remove(0);
    let query = sqlx::query(INVOICES).bind(merchant.id).bind(count).bind(first_in).bind(apart);
    query.execute(&mut world.connect().await).await.unwrap();
}

/// Minimum cost of deciding a deadline: the row lock, the new status, the timer's end, the event
/// and its message, one commit each.
async fn bare_updates(world: &World) -> f64 {
    const SAMPLE: usize = 4_000;
    world
        .run(
            "create table bare_invoice as select id, status from invoice limit 4000;
              create table bare_timer as select id from bare_invoice;
              create table bare_event (id uuid primary key, payload text);
              create table bare_message (id uuid primary key, body text);
              create index on bare_invoice (id);
              create index on bare_timer (id)",
        )
        .await;
    let query = "select id from bare_invoice";
    let ids: Vec<uuid::Uuid> =
        sqlx::query_scalar(query).fetch_all(&mut world.connect().await).await.unwrap();
    let (gateway, ids) = (world.gateway.clone(), std::sync::Arc::new(ids));
    crate::world::per_second(SAMPLE, crate::world::POOL as usize, move |number| {
        let (gateway, id) = (gateway.clone(), ids[number]);
        async move {
            let mut tx = gateway.db.begin().await.unwrap();
            for statement in [
                "select status from bare_invoice where id = $1 for update",
                "update bare_invoice set status = 'expired' where id = $1",
                "delete from bare_timer where id = $1",
                "insert into bare_event values ($1, repeat('x', 300))",
                "insert into bare_message values ($1, repeat('x', 100))",
            ] {
                sqlx::query(statement).bind(id).execute(&mut *tx).await.unwrap();
            }
            tx.commit().await.unwrap();
        }
    })
    .await
}
