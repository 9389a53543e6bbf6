//! Servers, programs and merchants for one measure, removed afterwards.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use gateway::{
    app::{Gateway, market::refresh_rates::wanted_pairs, merchant::manage::NewMerchant},
    config::Config,
    egress,
    merchant::settings::Settings,
    serve::{admin::Readiness, allow_open_files, relay::run_relay},
};
use sqlx::{Connection, PgConnection};
use support::server::{
    broker::{TestBroker, with_broker},
    database::TestDatabase,
    installation::{BrokerAccess, Installation, MASTER_KEY},
};
use tokio_util::sync::CancellationToken;

/// Size of every pool, the programs' and the bare loops'.
pub const POOL: u32 = 20;

pub struct World {
    database_url: String,
    pub installation: Installation,
    /// A gateway inside this process, to prepare rows and for loops beside the programs.
    pub gateway: Arc<Gateway>,
}

/// Runs a measure over a new database and new queues. `more` are settings of the programs.
pub async fn with_world<F: Future<Output = ()>>(
    more: &[(&str, &str)],
    measure: impl FnOnce(Arc<World>) -> F,
) {
    let database = TestDatabase::create().await;
    with_world_over(&database.url, more, measure).await;
    database.remove().await;
}

/// The same over a database of the caller's.
pub async fn with_world_over<F: Future<Output = ()>>(
    database_url: &str,
    more: &[(&str, &str)],
    measure: impl FnOnce(Arc<World>) -> F,
) {
    with_broker(|broker| async move {
        let world = Arc::new(World::new(database_url, broker, more).await);
        measure(world.clone()).await;
        world.gateway.db.close().await;
    })
    .await;
}

/// A limit measured on a server without write-through would be meaningless.
pub async fn require_durable_servers() {
    let database = TestDatabase::empty().await;
    let mut connection = database.connect().await;
    for setting in ["fsync", "synchronous_commit", "full_page_writes"] {
        let query = sqlx::query_scalar::<_, String>("select current_setting($1)").bind(setting);
        let value = query.fetch_one(&mut connection).await.unwrap();
        assert_eq!(value, "on", "{setting} is {value}: the server would not keep what it confirms");
    }
    connection.close().await.unwrap();
    database.remove().await;
}

impl World {
    async fn new(database_url: &str, broker: Arc<TestBroker>, more: &[(&str, &str)]) -> Self {
        let access = BrokerAccess::from(&*broker);
        let pool = POOL.to_string();
        let mut settings = vec![
            ("GATEWAY_DATABASE_CONNECTIONS_MAX", pool.as_str()),
            ("RUST_LOG", "warn"),
            ("GATEWAY_LOG", "json"),
        ];
        settings.extend(more);
        let installation = Installation::new(database_url, &access, &settings);
        let toml = format!(
            "database_url = {:?}\namqp_url = {:?}\nmaster_key = {MASTER_KEY:?}\n\
             broker.prefix = {:?}\nbroker.vhost = {:?}\nbroker.ipn_wait_ms = {}\n\
             egress.allow_private = true\ndatabase_connections_max = {POOL}\n",
            database_url,
            access.amqp_url,
            access.topology.prefix(),
            access.vhost,
            access.topology.timing().ipn_wait_ms,
        );
        let gateway = Arc::new(Gateway::new(Config::from_toml(&toml).unwrap()).unwrap());
        let world = Self { database_url: database_url.to_owned(), installation, gateway };
        world.refresh_rates().await;
        world
    }

    pub async fn refresh_rates(&self) {
        let operator = egress::Egress::new(egress::guard::Policy::Operator);
        let rates = self.gateway.config.rates.stack(&operator);
        self.gateway.refresh_rates(&rates, &wanted_pairs()).await.unwrap();
    }

    /// New merchants, so that the rate limit is on but not reached.
    pub async fn merchants(&self, count: usize) -> Vec<NewMerchant> {
        let mut merchants = Vec::with_capacity(count);
        for _ in 0..count {
            let new = self.gateway.create_merchant("Bench", Settings::default()).await.unwrap();
            merchants.push(new);
        }
        merchants
    }

    /// Publishes the messages of this process, until dropped.
    pub fn relay(&self) -> Relay {
        let stop = CancellationToken::new();
        tokio::spawn(run_relay(self.gateway.clone(), Readiness::default(), stop.clone()));
        Relay(stop)
    }

    pub fn database_url(&self) -> &str {
        &self.database_url
    }

    pub async fn connect(&self) -> PgConnection {
        PgConnection::connect(&self.database_url).await.unwrap()
    }

    pub async fn run(&self, statement: &'static str) {
        sqlx::raw_sql(statement).execute(&mut self.connect().await).await.unwrap();
    }

    /// Polls `query` until it returns `wanted`; returns the time this took.
    pub async fn until(&self, query: &'static str, wanted: i64, limit: Duration) -> Duration {
        let started = Instant::now();
        let mut connection = self.connect().await;
        loop {
            let found: i64 = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
            if found == wanted {
                return started.elapsed();
            }
            assert!(started.elapsed() < limit, "{found} instead of {wanted}: {query}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

pub struct Relay(CancellationToken);

impl Drop for Relay {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Fails early if this process cannot open so many files more.
pub fn require_files(count: u64) {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let wanted = count + u64::try_from(open).unwrap();
    assert!(
        allow_open_files() >= wanted,
        "this opens {count} files beside the {open} that are open: raise the hard limit (ulimit -Hn)"
    );
}

/// Runs `count` tasks, `concurrency` at a time; returns tasks per second.
pub async fn per_second<F, W>(count: usize, concurrency: usize, work: W) -> f64
where
    W: Fn(usize) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send,
{
    let work = Arc::new(work);
    let next = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let started = Instant::now();
    let workers = (0..concurrency).map(|_| {
        let (work, next) = (work.clone(), next.clone());
        tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if number >= count {
                    return;
                }
                work(number).await;
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    count as f64 / started.elapsed().as_secs_f64()
}
