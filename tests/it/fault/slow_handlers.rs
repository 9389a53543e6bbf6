//! Work that takes longer than the broker's consumer timeout (F28), in every consuming role.

use std::{collections::BTreeSet, time::Duration};

use gateway::{asset::Network, merchant::settings::Settings};
use serde_json::json;
use sqlx::{Connection, PgConnection, Postgres, Transaction};
use support::{
    fault::fired::fired,
    server::{
        database::TestDatabase,
        installation::{Installation, Program},
        private_rabbitmq::{PrivateRabbitmq, private_rabbitmq},
        processes::within,
    },
    shop::{
        payouts::{Orders, evm_address, fund, new_order, row},
        receiver::Receiver,
        trade::Shop,
    },
};

const ORDERS: usize = 6;
const LIMIT: Duration = Duration::from_secs(120);
/// The consumer timeout here, and the interval of its check, in milliseconds. The defaults are 30
/// minutes and one.
const SHORT: [(&str, &str); 2] = [("consumer_timeout", "2000"), ("channel_tick_interval", "500")];
/// Error of the broker when it closes the channel.
const TOO_SLOW: &str = "PRECONDITION_FAILED";
/// Longer than the consumer timeout, shorter than the timeout of an attempt.
const SLOW_ANSWER: Duration = Duration::from_secs(9);
/// Until a merchant's invoices expire.
const WINDOW_S: u32 = 2;
const ROLES: [&str; 6] = [
    "chain-watcher",
    "deposit-matching",
    "expiry-timer",
    "ipn-delivery",
    "rate-refresher",
    "sweeper",
];

/// An installation in which `slow` is the only role that does not run yet, and whose broker has a
/// short consumer timeout from `begin` on.
struct Scene {
    broker: PrivateRabbitmq,
    database: TestDatabase,
    installation: Installation,
    slow: &'static str,
    _others: [Program; 2],
}

impl Scene {
    async fn with_slow(slow: &'static str) -> Self {
        let broker = private_rabbitmq().await;
        let database = TestDatabase::create().await;
        let installation = Installation::new(&database.url, &broker.access().await, &[]);
        let others: Vec<_> = ROLES.into_iter().filter(|role| *role != slow).collect();
        let workers = installation.start_workers(&others).await;
        workers.ready().await;
        let api = installation.start_api().await;
        api.ready().await;
        Self { broker, database, installation, slow, _others: [api, workers] }
    }

    /// Starts the slow role, and waits until the broker has closed its channel this many times.
    async fn begin(&self, times: usize) -> Program {
        self.broker.set(&SHORT);
        let worker = self.installation.begin_workers(&[self.slow]).await;
        let (closed, _) = within(LIMIT, "the broker loses its patience", async || {
            match worker.process.output().matches(TOO_SLOW).count() {
                closed if closed >= times => Ok(closed),
                _ => Err(worker.process.said()),
            }
        })
        .await;
        fired(closed);
        worker
    }

    async fn end(self) {
        self.database.remove().await;
    }

    async fn connect(&self) -> PgConnection {
        PgConnection::connect(&self.database.url).await.unwrap()
    }

    async fn until_count(&self, what: &str, query: &'static str, wanted: usize) {
        let mut connection = self.connect().await;
        within(LIMIT, what, async || {
            let found: i64 = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
            if found == wanted as i64 { Ok(()) } else { Err(format!("{found} of {wanted}")) }
        })
        .await;
    }
}

/// Locks this row until the transaction ends.
async fn hold<'a>(
    holder: &'a mut PgConnection,
    query: &'static str,
    id: &str,
) -> Transaction<'a, Postgres> {
    let mut held = holder.begin().await.unwrap();
    sqlx::query(query).bind(id).fetch_one(&mut *held).await.unwrap();
    held
}

async fn told(receiver: &Receiver, count: usize) {
    within(LIMIT, "everybody else is told", async || match receiver.received().len() {
        told if told >= count => Ok(()),
        told => Err(format!("{told} IPNs")),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_slower_than_the_broker_timeout_is_redelivered_and_done_once() {
    let scene = Scene::with_slow("deposit-matching").await;
    let shop = Shop::open(&scene.installation, ORDERS).await;
    let orders = shop.create(&scene.installation, ORDERS).await;
    shop.pay(&scene.installation, &orders).await;
    let waiting = "select count(*) from deposit where state = 'final'";
    scene.until_count("every deposit waits to be matched", waiting, ORDERS).await;
    let mut holder = scene.connect().await;
    let invoice = "select id from invoice where payment_id = $1 for update";
    let held = hold(&mut holder, invoice, &orders[0].payment_id).await;
    let _worker = scene.begin(2).await;
    // The others did not wait for the slow one.
    told(&shop.receiver, ORDERS - 1).await;
    held.rollback().await.unwrap();
    let outcome = shop.converge(&scene.installation, &orders, LIMIT).await;
    println!("channels closed on slow work; afterwards {outcome:?}");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_slower_than_the_broker_timeout_is_made_once_and_delays_no_other() {
    let scene = Scene::with_slow("ipn-delivery").await;
    let shop = Shop::open(&scene.installation, ORDERS).await;
    let orders = shop.create(&scene.installation, ORDERS).await;
    shop.pay(&scene.installation, &orders).await;
    let waiting = "select count(*) from delivery";
    scene.until_count("every event waits to be delivered", waiting, ORDERS).await;
    shop.receiver.hesitate_once(SLOW_ANSWER);
    let _worker = scene.begin(1).await;
    let outcome = shop.converge(&scene.installation, &orders, LIMIT).await;
    // The running attempt finished and was recorded, so the message that the broker sent again was
    // stale.
    assert_eq!(outcome.repeats, 0, "{outcome:?}");
    println!("channels closed on a slow receiver; afterwards {outcome:?}");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expiry_slower_than_the_broker_timeout_is_redelivered_and_sends_one_event() {
    let scene = Scene::with_slow("expiry-timer").await;
    let settings = Settings { payment_window_seconds: WINDOW_S, ..Settings::default() };
    let merchant = scene.installation.gateway.create_merchant("Hasty", settings).await.unwrap();
    let (client, receiver) =
        (scene.installation.client(merchant.api_key.reveal()), Receiver::answering(200).await);
    let body = json!({
        "price_amount": 9, "price_currency": "usd", "pay_currency": "usdtmatic", "ipn_callback_url": receiver.url,
    });
    let mut ids = Vec::new();
    for _ in 0..ORDERS {
        let answer = client.post("/v1/payment", &body).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        ids.push(answer.json()["payment_id"].as_str().unwrap().to_owned());
    }
    let over = "select count(*) from invoice where deadline_at < now()";
    scene.until_count("every deadline is over", over, ORDERS).await;
    let mut holder = scene.connect().await;
    let invoice = "select id from invoice where payment_id = $1 for update";
    let held = hold(&mut holder, invoice, &ids[0]).await;
    let _worker = scene.begin(2).await;
    told(&receiver, ORDERS - 1).await;
    held.rollback().await.unwrap();
    let delivered = "select count(*) from delivery where kind = 'expired' and state = 'delivered'";
    scene.until_count("every deadline is told", delivered, ORDERS).await;
    let posts = receiver.received();
    let named: BTreeSet<_> =
        posts.iter().map(|post| post.json()["payment_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!((posts.len(), named), (ORDERS, ids.into_iter().collect()));
    scene.end().await;
}

/// A funded order of one recipient each; their ids.
async fn funded_payouts(scene: &Scene) -> Vec<String> {
    let gateway = &scene.installation.gateway;
    // Somebody's order shows that there are rates.
    Shop::open(&scene.installation, 1).await.create(&scene.installation, 1).await;
    let merchant = Orders::open(gateway).await;
    let mut ids = Vec::new();
    for number in (1..).take(ORDERS) {
        let rows = vec![row(1, evm_address(number), 1_000_000)];
        let wanted = new_order(Network::Polygon, "usdtmatic", rows);
        let order = merchant.confirmed(gateway, &wanted).await;
        fund(gateway, &order).await;
        ids.push(order["id"].as_str().unwrap().to_owned());
    }
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_slower_than_the_broker_timeout_is_redelivered_and_paid_once() {
    let scene = Scene::with_slow("payout-batch").await;
    let ids = funded_payouts(&scene).await;
    let funded = "select count(*) from payout_order where state = 'funded'";
    scene.until_count("every order is funded", funded, ORDERS).await;
    let mut holder = scene.connect().await;
    let order = "select id from payout_order where order_id = $1 for update";
    let held = hold(&mut holder, order, &ids[0]).await;
    let _worker = scene.begin(2).await;
    let completed = "select count(*) from payout_order where state = 'completed'";
    scene.until_count("everybody else is paid", completed, ORDERS - 1).await;
    held.rollback().await.unwrap();
    scene.until_count("every order is paid", completed, ORDERS).await;
    let paid = "select count(*) from sim_transfer where address like '0x000000000000000000000000000000aa%'";
    scene.until_count("nobody was paid twice", paid, ORDERS).await;
    scene.end().await;
}
