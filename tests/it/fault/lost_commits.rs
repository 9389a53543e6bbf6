//! The database goes on from an earlier point: a standby that lacks the last commits takes over
//! (failover, F32), or a backup is restored (F33). Later commits are lost; none of that work may be
//! done a second time in another way. Until it is promoted, a standby decides nothing (F36).

use std::{collections::BTreeSet, time::Duration};

use sqlx::{Connection, Executor, PgConnection};
use support::{
    client::{
        ctl::Ctl,
        exchange::{Exchange, Lost},
    },
    fault::fired::fired,
    server::{
        broker::with_broker,
        installation::{Installation, Program},
        private_postgres::{PrivatePostgres, fresh_postgres},
        processes::{Signal, within},
    },
    shop::trade::{Order, Shop, stored_order_ids},
};

const ORDERS: usize = 8;
const LIMIT: Duration = Duration::from_secs(90);
const REFUSAL: &str = "read-only replica";

pub(super) async fn one<T>(url: &str, query: &'static str) -> T
where
    T: Send + Unpin + sqlx::Type<sqlx::Postgres> + for<'r> sqlx::Decode<'r, sqlx::Postgres>,
{
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap()
}

pub(super) fn name_of(url: &str) -> &str {
    url.rsplit('/').next().unwrap()
}

/// No address was given out twice, over all that buyers ever saw.
pub(super) fn all_differ(orders: &[&[Order]]) {
    let all: Vec<_> = orders.iter().flat_map(|orders| orders.iter()).collect();
    let addresses: BTreeSet<_> = all.iter().map(|order| &order.address).collect();
    assert_eq!(addresses.len(), all.len(), "an address was given twice");
}

/// Signing is stopped until an operator has looked, and an alert is raised.
pub(super) async fn is_made_safe(url: &str) {
    let stopped = "select count(*) from payout_stop where network = '*'";
    assert_eq!(
        one::<i64>(url, stopped).await,
        1,
        "payouts go on over a database that may lack some"
    );
    let told = "select count(*) from operator_alert where kind = 'database_replaced'";
    assert_eq!(one::<i64>(url, told).await, 1);
    let returns = "select returns from database_identity";
    assert_eq!(one::<i32>(url, returns).await, 1, "it was made safe more than once");
}

async fn caught_up(standby: &str) {
    within(LIMIT, "the standby has what its primary has", async || {
        match one::<i64>(standby, "select count(*) from invoice").await {
            count if count >= ORDERS as i64 => Ok(()),
            count => Err(format!("{count} invoices")),
        }
    })
    .await;
}

/// Stops replication from its primary.
async fn cut_off(standby: &PrivatePostgres) {
    let mut hand = PgConnection::connect(&standby.url("postgres")).await.unwrap();
    hand.execute("alter system set primary_conninfo = ''").await.unwrap();
    hand.execute("select pg_reload_conf()").await.unwrap();
    let receivers = "select count(*) from pg_stat_wal_receiver";
    within(LIMIT, "the standby listens no more", async || {
        let receivers: i64 = sqlx::query_scalar(receivers).fetch_one(&mut hand).await.unwrap();
        if receivers == 0 { Ok(()) } else { Err(format!("{receivers} receivers")) }
    })
    .await;
}

/// Programs connected to a standby serve no request, and report the reason.
async fn refused(installation: &Installation, programs: [&Program; 2], shop: &Shop, known: &Order) {
    for program in programs {
        program.unready().await;
        within(LIMIT, "it says what is wrong", async || {
            if program.process.output().contains(REFUSAL) {
                Ok(())
            } else {
                Err(program.process.said())
            }
        })
        .await;
    }
    let creating = shop.try_create(installation).await;
    assert!(creating.is_err_and(|reason| reason.contains("INTERNAL_ERROR")));
    let mut reading = Exchange::post("", shop.key(), String::new());
    reading.method = http::Method::GET;
    reading.path = format!("/v1/payment/{}", known.order_id);
    match reading.once(installation.api).await {
        Ok(answer) => answer.expect_error(500, "INTERNAL_ERROR"),
        Err(Lost::NotConnected(reason) | Lost::Cut(reason)) => panic!("{reason}"),
    }
    let error = installation.gateway.db.reach().await.unwrap_err();
    assert!(error.to_string().contains(REFUSAL), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_decides_nothing_and_after_promotion_reuses_nothing_it_may_have_lost() {
    with_broker(|broker| async move {
        let mut primary = fresh_postgres().await;
        let url = primary.create_database().await;
        let access = (&*broker).into();
        let installation = Installation::new(&url, &access, &[]);
        let (api, workers) = installation.start().await;
        let shop = Shop::open(&installation, 100).await;
        let early = shop.create(&installation, ORDERS).await;
        let standby = primary.standby().await;
        let successor_url = standby.url(name_of(&url));
        caught_up(&successor_url).await;

        let successor = Installation::new(&successor_url, &access, &[]);
        let (successor_api, successor_workers) =
            (successor.start_api().await, successor.begin_workers(&["all"]).await);
        refused(&successor, [&successor_api, &successor_workers], &shop, &early[0]).await;

        cut_off(&standby).await;
        let lost = shop.create(&installation, ORDERS).await;
        primary.kill().await;
        drop((api, workers));
        assert!(one::<bool>(&standby.url("postgres"), "select pg_promote()").await);
        successor_api.ready().await;
        successor_workers.ready().await;
        let stored = one::<i64>(&successor_url, "select count(*) from invoice").await;
        assert_eq!(stored, ORDERS as i64, "the standby lacks nothing, so nothing was tried");
        fired(lost.len());
        let late = shop.create(&successor, ORDERS).await;
        all_differ(&[&early, &lost, &late]);
        is_made_safe(&successor_url).await;
        let orders = [early, late].concat();
        shop.pay(&successor, &orders).await;
        let outcome = shop.converge(&successor, &orders, LIMIT).await;
        println!("{ORDERS} orders lost; the promoted standby finished {outcome:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_backup_gives_no_address_and_no_event_twice() {
    with_broker(|broker| async move {
        let server = fresh_postgres().await;
        let url = server.create_database().await;
        let access = (&*broker).into();
        let installation = Installation::new(&url, &access, &[]);
        let (api, workers) = installation.start().await;
        let shop = Shop::open(&installation, 100).await;
        let early = shop.create(&installation, ORDERS).await;
        let backup = server.dump(name_of(&url));
        let lost = shop.create(&installation, ORDERS).await;
        shop.pay(&installation, &lost).await;
        within(LIMIT, "the orders that will be lost are told", async || {
            let told = shop.receiver.received().len();
            if told >= ORDERS { Ok(()) } else { Err(format!("{told} IPNs")) }
        })
        .await;
        // In order, so that they leave no message: one about lost work would be a dead letter.
        for program in [api, workers] {
            program.process.signal(Signal::Terminate);
            program.process.ended(LIMIT).await;
        }
        let told_before = event_ids(&shop);

        let restored = server.restore(&backup).await;
        let successor = Installation::new(&restored, &access, &[]);
        let (_api, _workers) = successor.start().await;
        let stored = stored_order_ids(&successor).await;
        fired(lost.iter().filter(|order| !stored.contains(&order.order_id)).count());
        let late = shop.create(&successor, ORDERS).await;
        all_differ(&[&early, &lost, &late]);
        is_made_safe(&restored).await;
        let orders = [early, late].concat();
        shop.receiver.forget();
        shop.pay(&successor, &orders).await;
        let outcome = shop.converge(&successor, &orders, LIMIT).await;
        assert!(told_before.is_disjoint(&event_ids(&shop)), "an event id was used again");
        println!("{ORDERS} orders lost; the restored database finished {outcome:?}");
    })
    .await;
}

pub(super) fn event_ids(shop: &Shop) -> BTreeSet<String> {
    let received = shop.receiver.received();
    received.iter().map(|post| post.header("x-gateway-event-id").to_owned()).collect()
}

/// A planned failover: the old primary's last commit says that it is the last, so nothing need be
/// feared for.
#[tokio::test(flavor = "multi_thread")]
async fn a_planned_failover_goes_on_at_the_standby_without_moving_indices_or_stopping_payouts() {
    with_broker(|broker| async move {
        let primary = fresh_postgres().await;
        let url = primary.create_database().await;
        let access = (&*broker).into();
        let installation = Installation::new(&url, &access, &[]);
        let (api, workers) = installation.start().await;
        let shop = Shop::open(&installation, 100).await;
        let early = shop.create(&installation, ORDERS).await;
        for network in [gateway::asset::Network::Solana, gateway::asset::Network::Near] {
            installation.gateway.fill_addresses(network, 5).await.unwrap();
        }
        let free = "select count(*) from address_pool where taken_at is null";
        assert_eq!(one::<i64>(&url, free).await, 10);
        let standby = primary.standby().await;
        let successor_url = standby.url(name_of(&url));
        caught_up(&successor_url).await;

        let ctl = Ctl::over(&url);
        let closed = ctl.json(&["database", "hand-over"]).await;
        let position = closed["log_position"].as_str().unwrap().to_owned();
        // The old primary lives, and lets nobody in.
        workers.unready().await;
        let refused = ctl.run(&["merchant", "list"]).await;
        refused.expect_failure("closed for a planned failover");
        assert!(shop.try_create(&installation).await.is_err());
        fired(1);
        let repeated = format!("select pg_last_wal_replay_lsn() >= '{position}'::pg_lsn");
        let mut hand = PgConnection::connect(&successor_url).await.unwrap();
        within(LIMIT, "the standby has the last commit", async || {
            let query = sqlx::query_scalar(sqlx::AssertSqlSafe(repeated.clone()));
            let there: bool = query.fetch_one(&mut hand).await.unwrap();
            if there { Ok(()) } else { Err("not yet".to_owned()) }
        })
        .await;
        drop((api, workers, hand));
        assert!(one::<bool>(&standby.url("postgres"), "select pg_promote()").await);

        let successor = Installation::new(&successor_url, &access, &[]);
        let (_api, _workers) = successor.start().await;
        let late = shop.create(&successor, ORDERS).await;
        all_differ(&[&early, &late]);
        assert_eq!(one::<i64>(&successor_url, free).await, 10, "Solana and NEAR went off sale");
        let stops = "select count(*) from payout_stop";
        assert_eq!(one::<i64>(&successor_url, stops).await, 0, "payouts were stopped");
        assert_eq!(one::<i32>(&successor_url, "select returns from database_identity").await, 0);
        let highest = "select last_value from address_index_evm";
        assert!(one::<i64>(&successor_url, highest).await < 1_000, "the addresses jumped");
        let orders = [early, late].concat();
        shop.pay(&successor, &orders).await;
        shop.converge(&successor, &orders, LIMIT).await;
    })
    .await;
}

/// What was not promoted is opened again and goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_planned_failover_without_a_promotion_can_be_taken_back() {
    let server = fresh_postgres().await;
    let url = server.create_database().await;
    let ctl = Ctl::over(&url);
    ctl.json(&["merchant", "create", "--name", "Shop"]).await;
    ctl.json(&["database", "hand-over"]).await;
    ctl.run(&["merchant", "list"]).await.expect_failure("gatewayctl database take-back");
    fired(1);
    assert_eq!(ctl.json(&["database", "take-back"]).await["opened"], true);
    assert_eq!(ctl.json(&["merchant", "list"]).await.as_array().unwrap().len(), 1);
    assert_eq!(ctl.json(&["database", "take-back"]).await["opened"], false);
}
