//! Ten thousand renewals in one minute, the lateness of a reminder without load, and how long
//! buyers wait meanwhile.

use std::time::{Duration, Instant};

use support::server::{installation::Program, processes::Signal};
use uuid::Uuid;

use crate::{
    creation,
    report::{Goal, Report, Rounds, percentile},
    world::{World, with_world},
};

const STORM: i32 = 10_000;
const CALM: i32 = 300;
const LIMIT: Duration = Duration::from_secs(120);
const TOLD: &str = "reminders: 10,000 due in one minute, per second";
const LATENESS: &str = "reminders: p99 lateness in calm";
const BUYERS: &str = "reminders: POST /v1/payment beside 10,000 of them";

/// Subscriptions with a paid invoice each, whose first reminder (three days before the renewal) is
/// due `$4` seconds from now and then `$5` milliseconds apart.
const SUBSCRIPTIONS: &str = "
    with made as (
        insert into subscription (id, subscription_id, merchant_id, link_id, email, state, price_amount, price_currency,
            interval, interval_count, anchor, covered, payments, day_seconds, clock_origin, due_at)
        select gen_random_uuid(), 'pzs_' || replace(gen_random_uuid()::text, '-', ''), $1, $2,
               n || '@' || gen_random_uuid() || '.example', 'active', 20, 'usd', 'day', 30, due - interval '27 days', 1, 1,
               86400, due - interval '27 days', due
        from generate_series(1, $3) as n,
             lateral (select now() + $4 * interval '1 second' + n * $5 * interval '1 millisecond' as due) as at
        returning id, due_at
    ), paid as (
        insert into invoice (id, payment_id, merchant_id, status, price_amount, price_currency, pricing_mode, token_id,
            network, decimals, pay_address, pay_amount, overpay_bps, payment_window_seconds, window_seconds,
            ipn_callback_url, deadline_at, invoice_type, link_id, subscription_id, subscriber_email, subscription_cycle)
        select gen_random_uuid(), 'pzi_' || substr(replace(id::text, '-', ''), 1, 26), $1, 'paid', 20, 'usd', 'fiat',
               'usdtmatic@polygon', 'polygon', 6, '0x' || md5(id::text) || 'deadbeef', 20000000, 500, 1800, 1800,
               'http://127.0.0.1:9/ipn', now(), 'subscription', $2, id, 'a@b.example', 1
        from made
    )
    insert into bench_due select id, due_at from made";

pub async fn run(report: &mut Report) {
    if report.wants(TOLD) {
        storm(report).await;
    }
    if report.wants(LATENESS) {
        calm(report).await;
    }
    if report.wants(BUYERS) {
        buyers(report).await;
    }
}

async fn storm(report: &mut Report) {
    let mut rounds = Rounds::default();
    for _ in 0..report.rounds {
        let rounds = &mut rounds;
        with_world(&[], |world| async move {
            insert(&world, STORM, 0, 0).await;
            world.run("analyze").await;
            let started = Instant::now();
            let worker = world.installation.launch("gateway-worker", &["expiry-timer"], &[]);
            told(&world, STORM).await;
            rounds.add_alone(f64::from(STORM) / started.elapsed().as_secs_f64());
            // Each with its webhook, and once.
            world.until("select count(*) from delivery", STORM.into(), LIMIT).await;
            stop(worker).await;
        })
        .await;
    }
    report.value(TOLD, "/s", None, Goal::AtLeast(2_000.0), rounds);
}

async fn calm(report: &mut Report) {
    let mut samples = Rounds::default();
    let rounds = &mut samples;
    let count = report.rounds;
    with_world(&[], |world| async move {
        let worker = world.installation.launch("gateway-worker", &["expiry-timer"], &[]);
        worker.ready().await;
        for _ in 0..count {
            insert(&world, CALM, 1, 10).await;
            told(&world, CALM).await;
            let query = "select extract(epoch from s.updated_at - d.due_at)::float8 \
                         from bench_due d join subscription s using (id)";
            let mut late: Vec<f64> =
                sqlx::query_scalar(query).fetch_all(&mut world.connect().await).await.unwrap();
            rounds.add_alone(percentile(&mut late, 0.99));
            world.run("truncate subscription, invoice, bench_due cascade").await;
        }
        stop(worker).await;
    })
    .await;
    report.value(LATENESS, "s", None, Goal::AtMost(1.0), samples);
}

/// Time of the same requests, with reminders and without.
async fn buyers(report: &mut Report) {
    let mut samples = Rounds::default();
    let rounds = &mut samples;
    let count = report.rounds;
    with_world(&[], |world| async move {
        let api = world.installation.start_api().await;
        api.ready().await;
        creation::call(&world, creation::requests(&world).await).await;
        for _ in 0..count {
            world.refresh_rates().await;
            let calm = creation::call(&world, creation::requests(&world).await).await;
            let requests = creation::requests(&world).await;
            insert(&world, STORM, 0, 0).await;
            let worker = world.installation.launch("gateway-worker", &["expiry-timer"], &[]);
            world.until("select least(count(*), 1) from subscription_reminder", 1, LIMIT).await;
            let busy = creation::call(&world, requests).await;
            told(&world, STORM).await;
            stop(worker).await;
            rounds.add(1_000.0 / busy, 1_000.0 / calm);
            world
                .run("truncate subscription, invoice, bench_due, event, delivery, outbox cascade")
                .await;
        }
    })
    .await;
    let limit = "the same without reminders";
    report.ratio(BUYERS, "ms", limit, Goal::AtMost(1.25), samples);
}

async fn insert(world: &World, count: i32, first_in: i32, apart: i32) {
    world
        .run("create table if not exists bench_due (id uuid primary key, due_at timestamptz)")
        .await;
    let merchant = world.merchants(1).await.remove(0).id;
    let mut connection = world.connect().await;
    let link = Uuid::now_v7();
    let made = "insert into link (id, link_id, merchant_id, type, title, price_amount, price_currency, interval, \
                interval_count) values ($1, $2, $3, 'subscription', 'Coffee club', 20, 'usd', 'day', 30)";
    let link_id = format!("pzl_{}", &link.simple().to_string()[6..]);
    let query = sqlx::query(made).bind(link).bind(link_id).bind(merchant);
    query.execute(&mut connection).await.unwrap();
    let query = sqlx::query(SUBSCRIPTIONS).bind(merchant).bind(link);
    let query = query.bind(count).bind(first_in).bind(apart);
    query.execute(&mut connection).await.unwrap();
}

/// Waits until every subscription that is due has its reminder.
async fn told(world: &World, count: i32) {
    let query =
        "select count(*) from subscription_reminder r join bench_due d on d.id = r.subscription_id";
    world.until(query, count.into(), LIMIT).await;
}

async fn stop(worker: Program) {
    worker.process.signal(Signal::Terminate);
    worker.process.ended(LIMIT).await;
}
