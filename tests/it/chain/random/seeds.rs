//! Many seeds, each a story of its own. `GATEWAY_TEST_SEED` is the first, `GATEWAY_TEST_CHAINS` how many; `make test-faults`
//! takes a thousand.

use std::time::{Duration, Instant};

use gateway::{
    app::{Gateway, refresh_rates::wanted_pairs},
    config::Config,
    egress,
    merchant::settings::Settings,
};
use sqlx::Executor;
use support::{database::TestDatabase, stack::MASTER_KEY};

use super::{
    oracle,
    story::{Story, Tally},
};

const CHAINS: u64 = 20;
const LANES: u64 = 2;

fn given(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// A gateway over a database of its own. What dies here is our own work, never the server, so it need not write through.
async fn gateway(database: &TestDatabase) -> Gateway {
    let name = database.url.rsplit('/').next().unwrap().split('?').next().unwrap();
    let relaxed = format!("alter database {name} set synchronous_commit = off");
    database.connect().await.execute(sqlx::AssertSqlSafe(relaxed)).await.unwrap();
    let toml = format!(
        "database_url = {:?}\namqp_url = \"amqp://nobody.invalid\"\nmaster_key = {MASTER_KEY:?}\n\
         database_connections_max = 8\n",
        database.url
    );
    let gateway = Gateway::new(Config::from_toml(&toml).unwrap()).unwrap();
    let operator = egress::Egress::new(egress::guard::Policy::Operator);
    let rates = gateway.config.rates.stack(&operator);
    gateway.refresh_rates(&rates, &wanted_pairs()).await.unwrap();
    gateway
}

/// Every `LANES`th seed from `first` up to `end`; returns what they were made of and how long the slowest took.
async fn lane(first: u64, end: u64) -> (Tally, Duration) {
    let database = TestDatabase::create().await;
    let gateway = gateway(&database).await;
    let merchant = gateway.create_merchant("Random", Settings::default()).await.unwrap();
    let (mut total, mut slowest) = (Tally::default(), Duration::ZERO);
    let mut seed = first;
    while seed < end {
        let started = Instant::now();
        let mut story = Story::begin(seed, &gateway, merchant.id).await;
        story.play().await;
        oracle::judge(&mut story).await;
        total.add(story.tally);
        slowest = slowest.max(started.elapsed());
        seed += LANES;
    }
    gateway.db.close().await;
    database.remove().await;
    (total, slowest)
}

#[test]
fn whatever_a_chain_and_its_node_do_the_books_end_equal_to_the_chain() {
    let first = given("GATEWAY_TEST_SEED").unwrap_or_else(|| rand::random::<u64>() >> 16);
    let count = given("GATEWAY_TEST_CHAINS").unwrap_or(CHAINS);
    println!("GATEWAY_TEST_SEED={first} GATEWAY_TEST_CHAINS={count}");
    let started = Instant::now();
    // A runtime of one thread each: what is polled when hangs on the seed as far as the database lets it.
    let run = move |at| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(lane(first + at, first + count))
    };
    let lanes: Vec<_> =
        (0..LANES.min(count)).map(|at| std::thread::spawn(move || run(at))).collect();
    let (mut total, mut slowest) = (Tally::default(), Duration::ZERO);
    for lane in lanes {
        let (tally, slow) = lane.join().unwrap();
        total.add(tally);
        slowest = slowest.max(slow);
    }
    println!("{count} chains in {:?}, the slowest in {slowest:?}: {total:?}", started.elapsed());
    if count >= CHAINS {
        let made =
            [total.credited, total.reorganisations, total.rewinds, total.faults, total.kills];
        assert!(made.iter().all(|count| *count > 0), "something never happened: {total:?}");
    }
}
