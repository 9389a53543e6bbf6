//! Work that takes longer than the broker waits for its answer (F28).

use std::time::Duration;

use sqlx::{Connection, PgConnection};
use support::{
    database::TestDatabase, installation::Installation, private_rabbitmq::private_rabbitmq,
    processes::within, trade::Shop,
};

const ORDERS: usize = 6;
const LIMIT: Duration = Duration::from_secs(120);
/// The broker's patience here, and how often it looks, in milliseconds. Its own are 30 minutes and one.
const SHORT: [(&str, &str); 2] = [("consumer_timeout", "2000"), ("channel_tick_interval", "500")];
const USUAL: [(&str, &str); 2] =
    [("consumer_timeout", "1800000"), ("channel_tick_interval", "60000")];
/// What the broker says when it closes the channel.
const TOO_SLOW: &str = "PRECONDITION_FAILED";

#[tokio::test(flavor = "multi_thread")]
async fn work_slower_than_the_brokers_patience_is_given_back_and_done_once() {
    let broker = private_rabbitmq().await;
    let database = TestDatabase::create().await;
    let access = broker.access().await;
    let installation = Installation::new(&database.url, &access, &[]);
    let api = installation.start_api().await;
    let others = ["chain-watcher", "ipn-delivery", "expiry-timer", "sweeper", "rate-refresher"];
    let others = installation.start_workers(&others).await;
    others.ready().await;
    api.ready().await;
    let shop = Shop::open(&installation, ORDERS).await;
    let orders = shop.create(&installation, ORDERS).await;
    shop.pay(&installation, &orders).await;
    let mut holder = PgConnection::connect(&database.url).await.unwrap();
    within(LIMIT, "every deposit waits to be matched", async || {
        let query = sqlx::query_scalar("select count(*) from deposit where state = 'final'");
        let found: i64 = query.fetch_one(&mut holder).await.unwrap();
        if found == ORDERS as i64 { Ok(()) } else { Err(format!("{found} deposits")) }
    })
    .await;
    let mut held = holder.begin().await.unwrap();
    let query = "select id from invoice where payment_id = $1 for update";
    sqlx::query(query).bind(&orders[0].payment_id).fetch_one(&mut *held).await.unwrap();
    broker.set(&SHORT);
    let workers = installation.start_workers(&["deposit-matching"]).await;
    within(LIMIT, "the broker loses its patience, twice", async || {
        match workers.process.output().matches(TOO_SLOW).count() {
            0 | 1 => Err(workers.process.said()),
            _ => Ok(()),
        }
    })
    .await;
    // The others did not wait for the slow one.
    within(LIMIT, "everybody else is told", async || match shop.receiver.received().len() {
        told if told >= ORDERS - 1 => Ok(()),
        told => Err(format!("{told} IPNs")),
    })
    .await;
    held.rollback().await.unwrap();
    let outcome = shop.converge(&installation, &orders, LIMIT).await;
    broker.set(&USUAL);
    println!("channels closed on slow work; afterwards {outcome:?}");
    database.remove().await;
}
