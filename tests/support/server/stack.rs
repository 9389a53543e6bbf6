//! A whole gateway for one test: its own database, its own queues, an API over HTTP, and the
//! workers it asks for.

use std::{net::SocketAddr, panic::AssertUnwindSafe, sync::Arc};

use axum::Router;
use futures_util::FutureExt;
use gateway::{
    app::{Gateway, merchant::manage::NewMerchant},
    asset::Network,
    config::Config,
    merchant::settings::Settings,
    serve::{self, Limits, admin::Readiness, follow::run_follow, relay::run_relay},
};
use gateway_workers::{Agent, Role};
use secrecy::ExposeSecret;
use sqlx::Executor;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    client::Client,
    server::{
        broker::{TestBroker, with_broker},
        database::TestDatabase,
    },
};

pub const MASTER_KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// Enough for the few invoices of most tests; a currency without addresses would not be offered.
const POOL: u32 = 5;

/// One test's gateway.
pub struct Stack {
    pub gateway: Arc<Gateway>,
    pub database: Arc<TestDatabase>,
    pub broker: Arc<TestBroker>,
    /// The API's address.
    pub api: SocketAddr,
    /// The checkout's address.
    pub checkout: SocketAddr,
    config: String,
    stop: CancellationToken,
    /// The workers' gateway and the payer's, where each has a database role of its own.
    apart: Option<(Arc<Gateway>, Arc<Gateway>)>,
}

/// A merchant with everything that is shown only once.
pub struct Merchant {
    pub new: NewMerchant,
    pub client: Client,
}

/// Runs `test` over a new stack with an API, a relay and current rates; workers are started by
/// [`Stack::start`].
pub async fn with_stack<F: Future<Output = ()>>(test: impl FnOnce(Arc<Stack>) -> F) {
    with_configured_stack("", test).await;
}

/// The same, with `toml` on top of the configuration.
pub async fn with_configured_stack<F: Future<Output = ()>>(
    toml: &str,
    test: impl FnOnce(Arc<Stack>) -> F,
) {
    let database = Arc::new(TestDatabase::create().await);
    with_broker(|broker| async {
        let stack = Arc::new(Stack::begin(database.clone(), broker, toml).await);
        let outcome = AssertUnwindSafe(test(stack.clone())).catch_unwind().await;
        stack.stop.cancel();
        stack.gateway.db.close().await;
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    })
    .await;
    database.remove().await;
}

/// Configuration with only one network: a watcher of each takes a connection, and the server has
/// few.
pub fn only(network: Network) -> String {
    let others = Network::ALL.into_iter().filter(|other| *other != network);
    others.map(|other| format!("chains.{other}.source = \"off\"\n")).collect()
}

impl Stack {
    async fn begin(database: Arc<TestDatabase>, broker: Arc<TestBroker>, toml: &str) -> Self {
        let api = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let checkout = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (api_at, checkout_at) = (api.local_addr().unwrap(), checkout.local_addr().unwrap());
        let config = configuration(&database, &broker, api_at, checkout_at, toml);
        let gateway = Arc::new(Gateway::new(Config::from_toml(&config).unwrap()).unwrap());
        let stop = CancellationToken::new();
        for (listener, router) in [
            (api, gateway_api::api_router(gateway.clone())),
            (checkout, gateway_api::checkout_router(gateway.clone())),
        ] {
            tokio::spawn(serve::serve(listener, router, Limits::default(), stop.clone()));
        }
        tokio::spawn(run_relay(gateway.clone(), Readiness::default(), stop.clone()));
        tokio::spawn(run_follow(gateway.clone(), stop.clone()));
        let (api, checkout) = (api_at, checkout_at);
        let apart = None;
        let stack = Self { gateway, database, broker, api, checkout, config, stop, apart };
        stack.refresh_rates().await;
        for network in [Network::Solana, Network::Near] {
            stack.gateway.fill_addresses(network, POOL).await.unwrap();
        }
        stack
    }

    /// The same stack with another API and with workers that connect under the database role of
    /// their kind; `gateway` is then the operators'.
    pub async fn under_roles(&self) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let api = listener.local_addr().unwrap();
        let (gateway, stop) = (self.under("gateway_api"), self.stop.child_token());
        let router = gateway_api::api_router(gateway.clone());
        tokio::spawn(serve::serve(listener, router, Limits::default(), stop.clone()));
        tokio::spawn(run_relay(gateway, Readiness::default(), stop.clone()));
        Self {
            gateway: self.under("gateway_dashboard"),
            database: self.database.clone(),
            broker: self.broker.clone(),
            api,
            checkout: self.checkout,
            config: self.config.clone(),
            stop,
            apart: Some((self.under("gateway_worker"), self.under("gateway_payer"))),
        }
    }

    fn under(&self, role: &str) -> Arc<Gateway> {
        let config = self.config.replace(&self.database.url, &self.database.url_under(role));
        Arc::new(Gateway::new(Config::from_toml(&config).unwrap()).unwrap())
    }

    /// Stores the sandbox's fixed rates as observed now.
    pub async fn refresh_rates(&self) {
        use gateway::{app::market::refresh_rates::wanted_pairs, egress};
        let operator = egress::Egress::new(egress::guard::Policy::Operator);
        let rates = self.gateway.config.rates.stack(&operator);
        self.gateway.refresh_rates(&rates, &wanted_pairs()).await.unwrap();
    }

    /// Starts workers; they run until the test ends, or until the returned token is cancelled.
    pub fn start(&self, roles: &[Role]) -> (CancellationToken, Vec<JoinHandle<()>>) {
        self.start_on(&self.gateway, roles)
    }

    /// The same with the settings of `gateway`, such as a [`Stack::sibling`].
    pub fn start_on(
        &self,
        gateway: &Arc<Gateway>,
        roles: &[Role],
    ) -> (CancellationToken, Vec<JoinHandle<()>>) {
        let stop = self.stop.child_token();
        let run = |role: &Role| {
            let gateway = match &self.apart {
                Some((_, payer)) if matches!(role, Role::PayoutBatch | Role::X402Settlement) => {
                    payer.clone()
                }
                Some((worker, _)) => worker.clone(),
                None => gateway.clone(),
            };
            let readiness = Readiness::default();
            let agent = Agent { gateway, readiness, stop: stop.clone() };
            tokio::spawn(gateway_workers::run(*role, agent))
        };
        let handles = roles.iter().map(run).collect();
        (stop, handles)
    }

    /// Starts all roles but the rate refresher: tests set rates themselves.
    pub fn start_all(&self) {
        let roles: Vec<_> =
            Role::ALL.into_iter().filter(|role| *role != Role::RateRefresher).collect();
        self.start(&roles);
    }

    pub async fn merchant(&self) -> Merchant {
        self.merchant_with(Settings::default()).await
    }

    pub async fn merchant_with(&self, settings: Settings) -> Merchant {
        let new = self.gateway.create_merchant("Test shop", settings).await.unwrap();
        let client = Client::new(self.api).with_key(new.api_key.reveal());
        Merchant { new, client }
    }

    /// Another API over the same database, with separate connections and caches and `toml` on top.
    pub async fn replica(&self, toml: &str) -> SocketAddr {
        self.replica_within(Limits::default(), toml).await
    }

    /// Another process's gateway over the same database, with `toml` on top.
    pub fn sibling(&self, toml: &str) -> Arc<Gateway> {
        let config = Config::from_toml(&format!("{}\n{toml}", self.config)).unwrap();
        Arc::new(Gateway::new(config).unwrap())
    }

    /// Another process's gateway over the same database that has another master key.
    pub fn under_master_key(&self, key: &str) -> Arc<Gateway> {
        let config = Config::from_toml(&self.config.replace(MASTER_KEY, key)).unwrap();
        Arc::new(Gateway::new(config).unwrap())
    }

    /// The same, with a configuration that no file could give a stack on this machine.
    pub async fn replica_of(&self, change: impl FnOnce(&mut Config)) -> SocketAddr {
        let router = gateway_api::api_router(self.changed("", change));
        self.serve(router, Limits::default()).await
    }

    /// Such a checkout, with `toml` on top.
    pub async fn checkout_of(&self, toml: &str, change: impl FnOnce(&mut Config)) -> SocketAddr {
        let router = gateway_api::checkout_router(self.changed(toml, change));
        self.serve(router, Limits::default()).await
    }

    pub async fn replica_within(&self, limits: Limits, toml: &str) -> SocketAddr {
        self.serve(gateway_api::api_router(self.sibling(toml)), limits).await
    }

    fn changed(&self, toml: &str, change: impl FnOnce(&mut Config)) -> Arc<Gateway> {
        let mut config = Config::from_toml(&format!("{}\n{toml}", self.config)).unwrap();
        change(&mut config);
        Arc::new(Gateway::unchecked(config).unwrap())
    }

    async fn serve(&self, router: Router, limits: Limits) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve::serve(listener, router, limits, self.stop.clone()));
        address
    }

    /// A dashboard over the same database, whose origin is a name and not an address, and the
    /// gateway that its accounts are created by.
    pub async fn dashboard(&self, toml: &str) -> (Arc<Gateway>, SocketAddr) {
        self.dashboard_with(toml, |_| ()).await
    }

    /// The same with a configuration that its checks would refuse here.
    pub async fn dashboard_with(
        &self,
        toml: &str,
        change: impl FnOnce(&mut Config),
    ) -> (Arc<Gateway>, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let origin = format!("dashboard_url = \"http://localhost:{}\"\n", address.port());
        let default = if toml.contains("dashboard_url") { "" } else { origin.as_str() };
        let mut config = Config::from_toml(&format!("{default}{toml}\n{}", self.config)).unwrap();
        change(&mut config);
        let mut gateway = Gateway::new(config).unwrap();
        gateway.db = gateway.db.attributed();
        let gateway = Arc::new(gateway);
        let router = gateway_dashboard::router(gateway.clone());
        tokio::spawn(serve::serve(listener, router, Limits::default(), self.stop.clone()));
        (gateway, address)
    }

    /// Changes the database directly.
    pub async fn sql(&self, statement: &'static str) {
        self.database.connect().await.execute(statement).await.unwrap();
    }

    /// Lifts the limit of 60 requests per minute for a test: the record of requests is discarded at
    /// once.
    pub async fn lift_rate_limits(&self) {
        self.sql(
            "create function forget() returns trigger language plpgsql as $$
             begin new.slots := array_fill(null::timestamptz, array[60]); return new; end $$;
             create trigger forget before insert or update on request_window
             for each row execute function forget()",
        )
        .await;
    }

    /// A client without a key.
    pub fn anybody(&self) -> Client {
        Client::new(self.api)
    }

    /// A buyer at the checkout's origin.
    pub fn buyer(&self) -> Client {
        Client::new(self.checkout)
    }
}

fn configuration(
    database: &TestDatabase,
    broker: &TestBroker,
    api: SocketAddr,
    checkout: SocketAddr,
    toml: &str,
) -> String {
    let timing = broker.topology.timing();
    let base = format!(
        "database_url = {:?}\namqp_url = {:?}\nmaster_key = {MASTER_KEY:?}\n\
         base_url = \"http://{api}\"\ncheckout_url = \"http://{checkout}\"\n\
         broker.prefix = {:?}\nbroker.management_url = {:?}\nbroker.vhost = {:?}\n\
         broker.ipn_wait_ms = {}\nbroker.payout_webhook_wait_ms = {}\n",
        database.url,
        broker.url.expose_secret(),
        broker.topology.prefix(),
        broker.management_url.expose_secret(),
        broker.management.vhost(),
        timing.ipn_wait_ms,
        timing.payout_webhook_wait_ms,
    );
    let given = |name: &str| toml.contains(name);
    let default = |line: &str| {
        if given(line.split(' ').next().unwrap()) { String::new() } else { format!("{line}\n") }
    };
    // Test receivers listen on loopback; a test of the egress guard enables it itself. Many stacks
    // share one server, whose connections are few.
    let defaults =
        default("egress.allow_private = true") + &default("database_connections_max = 8");
    format!("{base}{defaults}{toml}")
}
