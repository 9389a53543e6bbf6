//! Random scenarios drawn from seeds, run in parallel lanes: a thread each, with a gateway and a
//! database of its own.
//!
//! Only our own work crashes in them, dropped at any point, never a server: there is no broker, and
//! no commit need reach a disk.

use std::{
    collections::BTreeMap,
    pin::pin,
    task::Poll,
    thread,
    time::{Duration, Instant},
};

use gateway::{app::Gateway, config::Config, egress};
use rand::{RngExt, rngs::StdRng};
use sqlx::{Connection, PgConnection};

use crate::server::{database::TestDatabase, stack::MASTER_KEY};

const LANES: u64 = 2;

/// Seeds of the scenarios.
#[derive(Debug, Clone, Copy)]
pub struct Seeds {
    pub first: u64,
    pub count: u64,
}

impl Seeds {
    /// `GATEWAY_TEST_SEED` is the first seed, and the variable `name` their number; else a few
    /// random ones.
    pub fn given(name: &str, few: u64) -> Self {
        let read = |name: &str| std::env::var(name).ok().map(|text| text.parse().unwrap());
        let first = read("GATEWAY_TEST_SEED").unwrap_or_else(|| u64::from(rand::random::<u32>()));
        let count = read(name).unwrap_or(few);
        println!("GATEWAY_TEST_SEED={first} {name}={count}");
        Self { first, count }
    }

    /// Gives every lane its share of the seeds, and returns the result of each lane.
    pub fn in_lanes<T, F>(self, tell: impl Fn(Vec<u64>) -> F + Copy + Send + 'static) -> Vec<T>
    where
        T: Send + 'static,
        F: Future<Output = T>,
    {
        let Self { first, count } = self;
        let lane = move |at: u64| {
            let seeds = (first..first + count).skip(usize::try_from(at).unwrap());
            let seeds = seeds.step_by(usize::try_from(LANES).unwrap()).collect();
            // A runtime of one thread: the order of polls depends on the seed as far as the servers
            // allow.
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(tell(seeds))
        };
        let lanes: Vec<_> =
            (0..LANES.min(count)).map(|at| thread::spawn(move || lane(at))).collect();
        lanes.into_iter().map(|lane| lane.join().unwrap()).collect()
    }
}

/// Counts of events in the scenarios.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    counts: BTreeMap<&'static str, u64>,
    slowest: Duration,
}

impl Tally {
    pub fn note(&mut self, what: &'static str, count: u64) {
        *self.counts.entry(what).or_default() += count;
    }

    pub fn of(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or(0)
    }

    /// Counts one more finished scenario.
    pub fn told_since(&mut self, began: Instant) {
        self.slowest = self.slowest.max(began.elapsed());
    }

    pub fn add(&mut self, other: &Self) {
        for (what, count) in &other.counts {
            self.note(what, *count);
        }
        self.slowest = self.slowest.max(other.slowest);
    }

    pub fn sum(of: &[Self]) -> Self {
        let mut total = Self::default();
        of.iter().for_each(|one| total.add(one));
        total
    }
}

/// Environment of the scenarios of one lane.
pub struct Lane {
    pub gateway: Gateway,
    /// The test's own connection: those of the gateway may still be in the transaction of a dropped
    /// task.
    pub connection: PgConnection,
    database: TestDatabase,
}

impl Lane {
    /// `toml` stands on top of the settings.
    pub async fn open(toml: &str) -> Self {
        let database = TestDatabase::create().await;
        database.write_lazily().await;
        let base = format!(
            "database_url = {:?}\namqp_url = \"amqp://nobody.invalid\"\nmaster_key = {MASTER_KEY:?}\n\
             database_connections_max = 8\n",
            database.url
        );
        let gateway = Gateway::new(Config::from_toml(&(base + toml)).unwrap()).unwrap();
        let connection = database.connect().await;
        let lane = Self { gateway, connection, database };
        lane.refresh_rates().await;
        lane
    }

    /// Stores the sandbox's fixed rates as observed now.
    pub async fn refresh_rates(&self) {
        use gateway::app::market::refresh_rates::wanted_pairs;
        let operator = egress::Egress::new(egress::guard::Policy::Operator);
        let rates = self.gateway.config.rates.stack(&operator);
        self.gateway.refresh_rates(&rates, &wanted_pairs()).await.unwrap();
    }

    pub async fn close(self) {
        self.gateway.db.close().await;
        self.connection.close().await.unwrap();
        self.database.remove().await;
    }
}

/// Number of polls after which a look at an order is cut off: mostly early, as most looks are
/// short, now and then late in a long one.
pub fn moment(random: &mut StdRng) -> u32 {
    let last = [15, 50, 150][random.random_range(0..3)];
    random.random_range(1..last)
}

/// Polls `work` this many times, then drops it at that point: an open transaction is rolled back; a
/// commit or a request in flight may arrive or not.
pub async fn killed_after<F: Future>(polls: u32, work: F) -> Option<F::Output> {
    let mut work = pin!(work);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        work.as_mut().poll(context).map(Some)
    })
    .await
}
