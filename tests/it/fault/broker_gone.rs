//! The broker stops, is killed, or loses its data, while invoices are created and paid.

use std::time::Duration;

use gateway::broker::{route::WorkQueue, topology::Role};
use http::Method;
use support::{
    fault::fired::fired,
    server::{
        database::TestDatabase,
        installation::{BrokerAccess, Installation},
        private_rabbitmq::{PrivateRabbitmq, private_rabbitmq},
        processes::{Signal, within},
    },
    shop::trade::{Order, Shop},
};

const ORDERS: usize = 15;
/// Orders whose IPNs a wiped broker held.
const UNTOLD: usize = 100;
/// The reconnect delay is at most 15 s.
const RECONNECT_LIMIT: Duration = Duration::from_secs(60);
/// Maximum time of recovery from a wiped broker: three minutes.
const REBUILD_LIMIT: Duration = Duration::from_secs(180);
/// Limit of a request that must not notice the broker; the machine may be busy with other tests.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);

/// Creates orders while the broker is away, and pays them and earlier ones.
async fn trade_without_broker(
    installation: &Installation,
    shop: &Shop,
    before: &[Order],
) -> Vec<Order> {
    let mut orders = before.to_vec();
    for _ in 0..ORDERS {
        let (order, took) = shop.try_create(installation).await.unwrap();
        assert!(took < ANSWER_LIMIT, "a request waited {took:?} for a broker that is away");
        orders.push(order);
    }
    shop.pay(installation, &orders).await;
    let mut told = shop.receiver.received().into_iter().map(|ipn| ipn.json()["payment_id"].clone());
    let told = told.find(|told| orders.iter().any(|order| *told == order.payment_id.as_str()));
    assert_eq!(told, None, "the broker was not away: an IPN was sent without it");
    fired(1);
    orders
}

/// Waits until the broker holds `count` messages of a queue, ready or unacknowledged.
async fn holds(broker: &PrivateRabbitmq, access: &BrokerAccess, queue: WorkQueue, count: usize) {
    let (management, queue) = (broker.management(), access.topology.work_queue(queue));
    within(Duration::from_secs(90), "messages wait in the broker", async || {
        let counts = management.queue_counts(&access.topology).await.map_err(|e| e.to_string())?;
        let waiting = counts.get(&queue).map_or(0, |counts| counts.total);
        if waiting >= count as u64 { Ok(()) } else { Err(format!("{waiting} messages")) }
    })
    .await;
}

enum Return {
    Stopped,
    Killed,
}

async fn comes_back(broker: &mut PrivateRabbitmq, how: Return) {
    let database = TestDatabase::create().await;
    let access = broker.access().await;
    let installation = Installation::new(&database.url, &access, &[]);
    let api = installation.start_api().await;
    let others = ["chain-watcher", "expiry-timer", "rate-refresher", "sweeper"];
    let others = installation.start_workers(&others).await;
    let matching = installation.start_workers(&["deposit-matching"]).await;
    let delivery = installation.start_workers(&["ipn-delivery"]).await;
    for program in [&api, &others, &matching, &delivery] {
        program.ready().await;
    }
    let shop = Shop::open(&installation, 4 * ORDERS).await;
    // The consumers are frozen, so that messages of both kinds are in the broker when it stops.
    let mut held = shop.create(&installation, 2 * ORDERS).await;
    let before = shop.create(&installation, ORDERS).await;
    delivery.process.signal(Signal::Stop);
    shop.pay(&installation, &held[..ORDERS]).await;
    holds(broker, &access, WorkQueue::Ipn, ORDERS).await;
    matching.process.signal(Signal::Stop);
    shop.pay(&installation, &held[ORDERS..]).await;
    holds(broker, &access, WorkQueue::Deposit, ORDERS).await;
    match how {
        Return::Stopped => broker.stop().await,
        Return::Killed => broker.kill().await,
    }
    // A load balancer must go on sending requests to the API, and must not depend on the consumers.
    for consumers in [&matching, &delivery] {
        consumers.process.signal(Signal::Continue);
        consumers.unready().await;
    }
    api.ready().await;
    let mut orders = trade_without_broker(&installation, &shop, &before).await;
    orders.append(&mut held);
    let start = broker.start().await;
    let outcome = shop.converge(&installation, &orders, RECONNECT_LIMIT).await;
    println!("broker back after {start:?}, everything done {outcome:?}");
    drop((others, matching, delivery));
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_broker_delays_events_and_loses_none() {
    let mut broker = private_rabbitmq().await;
    comes_back(&mut broker, Return::Stopped).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_broker_delays_events_and_loses_none() {
    let mut broker = private_rabbitmq().await;
    comes_back(&mut broker, Return::Killed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wiped_broker_is_rebuilt_with_its_users_and_all_it_held() {
    let mut broker = private_rabbitmq().await;
    let database = TestDatabase::create().await;
    let access = broker.access().await;
    let installation = Installation::new(&database.url, &access, &[]);
    let api = installation.start_api().await;
    // Without the roles that deliver, messages about paid orders wait in the broker, and are lost
    // with it.
    let early = installation.start_workers(&["chain-watcher", "rate-refresher"]).await;
    let matching = installation.start_workers(&["deposit-matching"]).await;
    for program in [&api, &early, &matching] {
        program.ready().await;
    }
    let shop = Shop::open(&installation, 3 * ORDERS + UNTOLD).await;
    let mut held = shop.create(&installation, UNTOLD).await;
    shop.pay(&installation, &held).await;
    holds(&broker, &access, WorkQueue::Ipn, UNTOLD).await;
    drop(matching);
    let unmatched = shop.create(&installation, ORDERS).await;
    shop.pay(&installation, &unmatched).await;
    let management = broker.management();
    holds(&broker, &access, WorkQueue::Deposit, ORDERS).await;
    held.extend(unmatched);
    broker.wipe().await;
    let before = shop.create(&installation, ORDERS).await;
    let mut orders = trade_without_broker(&installation, &shop, &before).await;
    orders.extend(held);
    broker.start().await;
    assert!(!management.check(&access.topology).await.unwrap().is_empty(), "nothing was lost");

    let workers = installation.begin_workers(&["all"]).await;
    let outcome = shop.converge(&installation, &orders, REBUILD_LIMIT).await;
    println!("everything done after the loss of all messages: {outcome:?}");
    assert_eq!(management.check(&access.topology).await.unwrap(), []);
    for role in [Role::Application, Role::Operator, Role::Topology] {
        let user = access.topology.user(role).name;
        management.call(Method::GET, &["users", &user], None).await.unwrap();
    }
    workers.ready().await;
    api.ready().await;
    database.remove().await;
}
