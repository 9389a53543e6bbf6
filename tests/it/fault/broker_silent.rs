//! An unresponsive broker: requests must not notice.

use std::time::{Duration, Instant};

use support::{
    fault::fired::fired,
    server::{
        database::TestDatabase, installation::Installation, private_rabbitmq::private_rabbitmq,
        processes::within,
    },
    shop::trade::Shop,
};

const ORDERS: usize = 20;
/// Duration of the freeze; `make test-faults` sets a minute.
const FROZEN_SECONDS: u64 = 20;
/// From the thaw until everything is done.
const RECOVERY_LIMIT: Duration = Duration::from_secs(90);
/// From the thaw until every queue is read again. The reconnect delay is at most 15 s.
const RECONNECT_LIMIT: Duration = Duration::from_secs(60);
/// A request beyond this limit has waited for the broker, even on a busy machine.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);

fn frozen_for() -> Duration {
    let given = std::env::var("GATEWAY_TEST_FROZEN_SECONDS");
    Duration::from_secs(given.map_or(FROZEN_SECONDS, |text| text.parse().unwrap()))
}

fn median_and_worst(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort();
    (times[times.len() / 2], times[times.len() - 1])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_broker_delays_no_request() {
    let broker = private_rabbitmq().await;
    let database = TestDatabase::create().await;
    let access = broker.access().await;
    let installation = Installation::new(&database.url, &access, &[]);
    let (api, workers) = installation.start().await;
    let shop = Shop::open(&installation, 600).await;
    let mut orders = shop.create(&installation, ORDERS).await;

    let (frozen, freeze) = (broker.freeze(), frozen_for());
    let started = Instant::now();
    let mut times = Vec::new();
    while started.elapsed() < freeze {
        let (order, took) = shop.try_create(&installation).await.unwrap();
        shop.pay(&installation, std::slice::from_ref(&order)).await;
        orders.push(order);
        times.push(took);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let told = shop.receiver.received().len();
    assert_eq!(told, 0, "the broker was not frozen");
    // Its silence has cost the consumers their connections, and the API nothing that a load
    // balancer should see.
    workers.unready().await;
    api.ready().await;
    fired(usize::from(frozen.is_frozen()));

    drop(frozen);
    let thawed = Instant::now();
    let again = workers.ready_within(RECONNECT_LIMIT).await;
    let (median, worst) = median_and_worst(times.clone());
    assert!(worst < ANSWER_LIMIT, "a request took {worst:?} while the broker was frozen");
    shop.pay(&installation, &orders[..ORDERS]).await;
    let later = shop.create(&installation, ORDERS).await;
    shop.pay(&installation, &later).await;
    orders.extend(later);
    let outcome = shop.converge(&installation, &orders, RECOVERY_LIMIT).await;
    assert!(
        thawed.elapsed() < RECONNECT_LIMIT + RECOVERY_LIMIT,
        "done {:?} after the thaw",
        thawed.elapsed()
    );
    println!(
        "{} orders in {freeze:?} of a frozen broker: median {median:?}, worst {worst:?}; read again {again:?} after the \
         thaw, then everything done: {outcome:?}",
        times.len()
    );
    database.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_accepts_connections_and_never_answers_delays_no_request() {
    let broker = private_rabbitmq().await;
    let database = TestDatabase::create().await;
    let access = broker.access().await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let (sender, mut accepted) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        // Accepted sockets are kept open; every second of silence counts.
        while let Ok((socket, _)) = silent.accept().await {
            let _ = sender.send(socket);
        }
    });
    let mut deaf = access.clone();
    deaf.amqp_url = format!("amqp://anybody:anything@{address}/gateway");
    let installation = Installation::new(&database.url, &deaf, &[]);
    let api = installation.start_api().await;
    let workers = installation.begin_workers(&["all"]).await;
    let shop = Shop::open(&installation, ORDERS).await;
    within(Duration::from_secs(90), "rates are there without a broker", async || {
        let body = support::client::exchange::Exchange::get(
            installation.api,
            "/v1/estimate?amount=10&currency_from=usd&currency_to=usdtmatic",
        )
        .await;
        let answer = body.map_err(|lost| format!("{lost:?}"))?;
        if answer.status == 503 { Err(answer.body) } else { Ok(()) }
    })
    .await;
    let mut times = Vec::new();
    let mut orders = Vec::new();
    for _ in 0..ORDERS {
        let (order, took) = shop.try_create(&installation).await.unwrap();
        orders.push(order);
        times.push(took);
    }
    shop.pay(&installation, &orders).await;
    tokio::time::sleep(Duration::from_secs(12)).await;
    let mut sockets = 0;
    while accepted.try_recv().is_ok() {
        sockets += 1;
    }
    assert!(sockets > 1, "nobody tried the silent broker");
    fired(sockets);
    let (median, worst) = median_and_worst(times);
    assert!(worst < ANSWER_LIMIT, "a request took {worst:?} beside a silent broker");
    println!(
        "beside a silent broker: median {median:?}, worst {worst:?}, {sockets} connections tried"
    );
    drop((api, workers));

    // The same database with the real broker.
    let healed = Installation::new(&database.url, &access, &[]);
    let (_api, _workers) = healed.start().await;
    let outcome = shop.converge(&healed, &orders, RECOVERY_LIMIT).await;
    println!("with the real one everything done: {outcome:?}");
    database.remove().await;
}
