//! The gateway as its real programs, over servers that a test may stop or kill.

use std::{
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use gateway::{
    app::Gateway,
    broker::topology::Topology,
    config::{self, Config},
};
use secrecy::ExposeSecret;

use crate::{
    client::{
        Client,
        exchange::{Exchange, Lost},
    },
    server::{
        broker::TestBroker,
        metrics::Page,
        processes::{self, Launch, Process, free_port, program, within},
    },
};

const READY_LIMIT: Duration = Duration::from_secs(60);
pub const MASTER_KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
/// Networks that the watchers of these tests follow. All 15 would only keep the machine busy.
const FOLLOWED: [&str; 2] = ["polygon", "litecoin"];

/// Address of a broker and the credentials for it.
#[derive(Clone)]
pub struct BrokerAccess {
    pub amqp_url: String,
    pub management_url: String,
    pub vhost: String,
    pub topology: Topology,
    /// Of the application, the operator and the sweeper, if they are users of their own.
    pub passwords: Option<[String; 3]>,
}

impl From<&TestBroker> for BrokerAccess {
    fn from(broker: &TestBroker) -> Self {
        Self {
            amqp_url: broker.url.expose_secret().to_owned(),
            management_url: broker.management_url.expose_secret().to_owned(),
            vhost: broker.management.vhost().to_owned(),
            topology: broker.topology.clone(),
            passwords: None,
        }
    }
}

impl BrokerAccess {
    /// The same as the configuration has it.
    pub fn section(&self) -> config::Broker {
        let timing = self.topology.timing();
        let password = |at: usize| Some(self.passwords.as_ref()?[at].clone().into());
        config::Broker {
            prefix: self.topology.prefix().to_owned(),
            management_url: Some(self.management_url.clone().into()),
            vhost: self.vhost.clone(),
            ipn_wait_ms: timing.ipn_wait_ms,
            payout_webhook_wait_ms: timing.payout_webhook_wait_ms,
            application_password: password(0),
            operator_password: password(1),
            topology_password: password(2),
        }
    }
}

/// One installation: its settings, its addresses, and a gateway of the test's own over the same
/// database.
pub struct Installation {
    /// For merchants and the simulated chain; it runs nothing by itself.
    pub gateway: Arc<Gateway>,
    pub database_url: String,
    pub broker: BrokerAccess,
    pub api: SocketAddr,
    pub checkout: SocketAddr,
    settings: Vec<(String, String)>,
    /// All programs ever started: process ids, and the address of each one's metrics.
    launched: Mutex<Vec<(u32, SocketAddr)>>,
}

/// A running `gateway-api`, `gateway-worker` or `gateway-dashboard`.
pub struct Program {
    pub process: Process,
    metrics: SocketAddr,
}

impl Installation {
    /// `more` are settings as the environment names them; they win.
    pub fn new(database_url: &str, broker: &BrokerAccess, more: &[(&str, &str)]) -> Self {
        let [api, checkout] = [local(), local()];
        let timing = broker.topology.timing();
        let mut settings = settings(&[
            ("DATABASE_URL", database_url),
            ("AMQP_URL", &broker.amqp_url),
            ("GATEWAY_MASTER_KEY", MASTER_KEY),
            ("GATEWAY_BASE_URL", &format!("http://{api}")),
            ("GATEWAY_CHECKOUT_URL", &format!("http://{checkout}")),
            ("GATEWAY_API__LISTEN", &api.to_string()),
            ("GATEWAY_CHECKOUT__LISTEN", &checkout.to_string()),
            ("GATEWAY_BROKER__PREFIX", broker.topology.prefix()),
            ("GATEWAY_BROKER__MANAGEMENT_URL", &broker.management_url),
            ("GATEWAY_BROKER__VHOST", &broker.vhost),
            ("GATEWAY_BROKER__IPN_WAIT_MS", &timing.ipn_wait_ms.to_string()),
            ("GATEWAY_BROKER__PAYOUT_WEBHOOK_WAIT_MS", &timing.payout_webhook_wait_ms.to_string()),
            ("GATEWAY_EGRESS__ALLOW_PRIVATE", "true"),
            // The server may be shared with other tests.
            ("GATEWAY_DATABASE_CONNECTIONS_MAX", "8"),
            ("RUST_LOG", "info"),
            ("GATEWAY_LOG", "text"),
        ]);
        for (name, password) in
            ["APPLICATION", "OPERATOR", "TOPOLOGY"].iter().zip(broker.passwords.iter().flatten())
        {
            settings.push((format!("GATEWAY_BROKER__{name}_PASSWORD"), password.clone()));
        }
        for network in gateway::asset::Network::ALL.map(gateway::asset::Network::name) {
            if !FOLLOWED.contains(&network) {
                let name = format!("GATEWAY_CHAINS__{}__SOURCE", network.to_uppercase());
                settings.push((name, "off".to_owned()));
            }
        }
        settings.extend(self::settings(more));
        let toml = format!(
            "database_url = {database_url:?}\namqp_url = {:?}\nmaster_key = {MASTER_KEY:?}\n",
            broker.amqp_url
        );
        let gateway = Arc::new(Gateway::new(Config::from_toml(&toml).unwrap()).unwrap());
        let (database_url, broker) = (database_url.to_owned(), broker.clone());
        let launched = Mutex::default();
        Self { gateway, database_url, broker, api, checkout, settings, launched }
    }

    /// Environment of its programs.
    pub fn settings(&self) -> &[(String, String)] {
        &self.settings
    }

    /// Starts a program without waiting for it, for one that must refuse to start.
    pub fn launch(&self, name: &str, arguments: &[&str], more: &[(&str, &str)]) -> Program {
        self.launch_by(&program(name), name, arguments, more)
    }

    /// The API and the workers of another release, whose programs are in `folder`.
    pub async fn start_release(&self, folder: &Path) -> (Program, Program) {
        let api = self.launch_release(folder, "gateway-api", &[], &[]);
        let workers = self.launch_release(folder, "gateway-worker", &["all"], &[]);
        api.listening().await;
        workers.listening().await;
        (api, workers)
    }

    /// Starts a program of another release without waiting for it.
    pub fn launch_release(
        &self,
        folder: &Path,
        name: &str,
        arguments: &[&str],
        more: &[(&str, &str)],
    ) -> Program {
        self.launch_by(&folder.join(name), name, arguments, more)
    }

    /// Workers that may open `files` at most, and may not raise that.
    pub async fn start_workers_with_files(&self, files: u32, roles: &[&str]) -> Program {
        let (files, worker) = (format!("--nofile={files}:{files}"), program("gateway-worker"));
        let arguments = [&[files.as_str(), worker.to_str().unwrap()][..], roles].concat();
        let workers = self.launch_by(Path::new("prlimit"), "gateway-worker", &arguments, &[]);
        workers.listening().await;
        workers
    }

    fn launch_by(
        &self,
        starter: &Path,
        name: &str,
        arguments: &[&str],
        more: &[(&str, &str)],
    ) -> Program {
        let metrics = local();
        let mut environment = self.settings.clone();
        let setting = match name {
            "gateway-api" => "API",
            "gateway-dashboard" => "DASHBOARD",
            _ => "WORKER",
        };
        environment.push((format!("GATEWAY_{setting}__METRICS_LISTEN"), metrics.to_string()));
        environment.extend(settings(more));
        let process = Process::start(&Launch {
            name: name.to_owned(),
            program: starter.to_owned(),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            environment,
            owner: None,
        });
        self.launched.lock().unwrap().push((process.pid(), metrics));
        Program { process, metrics }
    }

    /// Metrics of its running programs.
    pub async fn metrics(&self) -> Result<Vec<Page>, String> {
        let launched = self.launched.lock().unwrap().clone();
        let mut pages = Vec::new();
        for (_, address) in launched.into_iter().filter(|(pid, _)| processes::runs(*pid)) {
            pages.push(Page::read(address).await?);
        }
        Ok(pages)
    }

    pub async fn start_api(&self) -> Program {
        let api = self.launch("gateway-api", &[], &[]);
        api.listening().await;
        api
    }

    /// Workers that can do their work.
    pub async fn start_workers(&self, roles: &[&str]) -> Program {
        let workers = self.begin_workers(roles).await;
        workers.ready().await;
        workers
    }

    /// Workers that may have to wait for their servers.
    pub async fn begin_workers(&self, roles: &[&str]) -> Program {
        let workers = self.launch("gateway-worker", roles, &[]);
        workers.listening().await;
        workers
    }

    /// Both programs, ready to work.
    pub async fn start(&self) -> (Program, Program) {
        let (api, workers) = (self.start_api().await, self.start_workers(&["all"]).await);
        api.ready().await;
        (api, workers)
    }

    pub fn client(&self, key: &str) -> Client {
        Client::new(self.api).with_key(key)
    }
}

impl Program {
    /// Where it serves its health and its metrics.
    pub fn metrics(&self) -> SocketAddr {
        self.metrics
    }

    async fn answers(&self, path: &str) -> Result<(), String> {
        let answer = Exchange::get(self.metrics, path).await;
        match answer {
            Ok(answer) if answer.status == 200 => Ok(()),
            Ok(answer) => Err(answer.body),
            Err(Lost::NotConnected(reason) | Lost::Cut(reason)) => Err(reason),
        }
    }

    async fn until(&self, path: &str, limit: Duration) -> Duration {
        let started = Instant::now();
        within(limit, &format!("{path} answers 200"), async || {
            assert!(self.process.is_alive(), "it has ended\n{}", self.process.said());
            let answer = self.answers(path).await;
            if started.elapsed() > limit && answer.is_err() {
                eprintln!("{}", self.process.said());
            }
            answer
        })
        .await
        .1
    }

    /// Waits until the process serves its own health.
    pub async fn listening(&self) {
        self.until("/healthz", READY_LIMIT).await;
    }

    /// Waits until the process says that it cannot do its work.
    pub async fn unready(&self) {
        within(READY_LIMIT, "it says that it is not ready", async || {
            match Exchange::get(self.metrics, "/readyz").await {
                Ok(answer) if answer.status == 503 => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }

    /// Waits until all its parts can work; returns how long that took.
    pub async fn ready(&self) -> Duration {
        self.ready_within(READY_LIMIT).await
    }

    pub async fn ready_within(&self, limit: Duration) -> Duration {
        self.until("/readyz", limit).await
    }
}

fn local() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port()))
}

fn settings(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
