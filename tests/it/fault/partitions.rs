//! Network partitions between the parts, in both directions or in one (F37). No connection is
//! closed: packets are lost until the partition ends.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use support::{
    fault::{
        fired::fired,
        link::{Link, Passes},
    },
    server::{
        broker::with_broker, database::TestDatabase, installation::Installation, processes::within,
    },
    shop::trade::{Shop, forget_unanswered, stored_order_ids},
};

const LIMIT: Duration = Duration::from_secs(120);
/// The API's own limit is 12 s; the machine may be busy.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// Limit of a request that must not notice; the machine may be busy.
const UNNOTICED_LIMIT: Duration = Duration::from_secs(3);
const ORDERS: usize = 8;
const APART: Duration = Duration::from_secs(8);

/// Requests during the partition get an error within the limit, or succeed.
async fn api_apart_from_its_database(passes: Passes) {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let link = Link::to(&database.url).await;
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let workers = installation.start_workers(&["all"]).await;
        workers.ready().await;
        let api = installation.launch("gateway-api", &[], &[("DATABASE_URL", &link.url())]);
        api.ready().await;
        let shop = Shop::open(&installation, 400).await;
        let mut orders = shop.create(&installation, ORDERS).await;

        link.let_pass(passes);
        let (started, mut failed, mut slowest) = (Instant::now(), 0, Duration::ZERO);
        while started.elapsed() < APART {
            let began = Instant::now();
            for answer in join_all((0..4).map(|_| shop.try_create(&installation))).await {
                match answer {
                    Ok((order, _)) => orders.push(order),
                    Err(reason) => {
                        assert!(reason.contains("INTERNAL_ERROR"), "{reason}");
                        failed += 1;
                    }
                }
            }
            slowest = slowest.max(began.elapsed());
        }
        assert!(failed > 0 && link.stopped() > 0, "they were never apart");
        fired(link.stopped());
        assert!(slowest < ANSWER_LIMIT, "a request took {slowest:?}");
        link.let_pass(Passes::Everything);
        let (order, _) = within(LIMIT, "the API takes orders again", async || {
            shop.try_create(&installation).await
        })
        .await
        .0;
        orders.push(order);
        api.ready().await;
        let stored = stored_order_ids(&installation).await;
        let acknowledged: BTreeSet<_> = orders.iter().map(|order| order.order_id.clone()).collect();
        assert!(stored.is_superset(&acknowledged), "acknowledged and not stored");
        forget_unanswered(&database.url, &acknowledged).await;
        shop.pay(&installation, &orders).await;
        let outcome = shop.converge(&installation, &orders, LIMIT).await;
        println!("{failed} requests failed, slowest {slowest:?}, {} packets lost or late; afterwards {outcome:?}", link.stopped());
        database.remove().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_cut_off_from_its_database_reports_it_in_time() {
    api_apart_from_its_database(Passes::Nothing).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_that_receives_nothing_from_its_database_reports_it_in_time() {
    // Its requests arrive and are executed, but their responses are lost.
    api_apart_from_its_database(Passes::Questions).await;
}

/// Connection of the workers that is interrupted.
enum Way {
    Database,
    Broker,
}

async fn workers_apart(way: Way, passes: Passes, apart: Duration) {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let access: support::server::installation::BrokerAccess = (&*broker).into();
        let (setting, url) = match way {
            Way::Database => ("DATABASE_URL", &database.url),
            Way::Broker => ("AMQP_URL", &access.amqp_url),
        };
        let link = Link::to(url).await;
        let installation = Installation::new(&database.url, &access, &[]);
        let api = installation.start_api().await;
        let workers = installation.launch("gateway-worker", &["all"], &[(setting, &link.url())]);
        workers.ready().await;
        api.ready().await;
        let shop = Shop::open(&installation, 3 * ORDERS).await;
        let mut orders = shop.create(&installation, ORDERS).await;
        shop.pay(&installation, &orders[..ORDERS / 2]).await;
        shop.receiver.wait_for(1).await;

        link.let_pass(passes);
        shop.pay(&installation, &orders[ORDERS / 2..]).await;
        let more = shop.create(&installation, ORDERS).await;
        shop.pay(&installation, &more).await;
        tokio::time::sleep(apart).await;
        assert!(link.stopped() > 0, "they were never apart");
        fired(link.stopped());
        let told = shop.receiver.received().len();
        // Messages that the broker had sent before the partition may be processed.
        let all = told == 2 * ORDERS && passes != Passes::Answers;
        assert!(!all, "everything was done without the way");
        assert!(workers.process.is_alive(), "{}", workers.process.said());
        link.let_pass(Passes::Everything);
        orders.extend(more);
        let outcome = shop.converge(&installation, &orders, LIMIT).await;
        workers.ready().await;
        println!(
            "apart for {apart:?}, {told} of {} told, {} packets lost or late; afterwards {outcome:?}",
            2 * ORDERS,
            link.stopped()
        );
        database.remove().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_cut_off_from_their_database_finish_all_work_once_afterwards() {
    workers_apart(Way::Database, Passes::Nothing, APART).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_that_receive_nothing_from_their_database_finish_all_work_once_afterwards() {
    workers_apart(Way::Database, Passes::Questions, APART).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_cut_off_from_the_broker_finish_all_work_once_afterwards() {
    // Twice the heartbeat, so that both sides give the connection up.
    workers_apart(Way::Broker, Passes::Nothing, 3 * APART).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_whose_packets_to_the_broker_are_lost_finish_all_work_once_afterwards() {
    // Messages arrive, but their acknowledgements do not.
    workers_apart(Way::Broker, Passes::Answers, APART).await;
}

/// Orders are taken as usual, and another process with a connection to the broker does the rest.
async fn api_apart_from_the_broker(passes: Passes) {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let access: support::server::installation::BrokerAccess = (&*broker).into();
        let link = Link::to(&access.amqp_url).await;
        let installation = Installation::new(&database.url, &access, &[]);
        let workers = installation.start_workers(&["all"]).await;
        workers.ready().await;
        let api = installation.launch("gateway-api", &[], &[("AMQP_URL", &link.url())]);
        api.ready().await;
        let shop = Shop::open(&installation, 400).await;
        let mut orders = shop.create(&installation, ORDERS).await;

        link.let_pass(passes);
        let (started, mut slowest) = (Instant::now(), Duration::ZERO);
        while started.elapsed() < 3 * APART {
            let (order, took) = shop.try_create(&installation).await.unwrap();
            shop.pay(&installation, std::slice::from_ref(&order)).await;
            orders.push(order);
            slowest = slowest.max(took);
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        assert!(link.stopped() > 0, "they were never apart");
        fired(link.stopped());
        assert!(slowest < UNNOTICED_LIMIT, "a request waited {slowest:?} for the broker");
        api.ready().await;
        link.let_pass(Passes::Everything);
        shop.pay(&installation, &orders[..ORDERS]).await;
        let outcome = shop.converge(&installation, &orders, LIMIT).await;
        println!(
            "{} orders, slowest {slowest:?}, {} packets lost or late; afterwards {outcome:?}",
            orders.len(),
            link.stopped()
        );
        database.remove().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_cut_off_from_the_broker_still_creates_invoices() {
    // Longer than twice the heartbeat, so that both sides give the connection up.
    api_apart_from_the_broker(Passes::Nothing).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_that_receives_nothing_from_the_broker_still_creates_invoices() {
    api_apart_from_the_broker(Passes::Questions).await;
}
