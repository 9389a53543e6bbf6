//! A RabbitMQ broker of the tests' own, to be stopped, wiped, killed and frozen; or a cluster of
//! them.

use std::{fs, net::SocketAddr, os::unix::fs::PermissionsExt, path::PathBuf, time::Duration};

use gateway::{
    broker::{management::Management, topology::Topology},
    config,
};
use http::Method;

use crate::server::{
    authority::Authority,
    broker::SHORT,
    disk::Room,
    forgetful_disk::ForgetfulDisk,
    installation::BrokerAccess,
    private_postgres::packaged,
    processes::{self, Janitor, Launch, Process, Signal, free_port, is_alive, within},
};

/// Of the tests' brokers. The shipped limit is meant for larger disks.
pub const DISK_FREE_LIMIT_MB: u32 = 50;
const START_LIMIT: Duration = Duration::from_secs(120);
const VHOST: &str = "gateway";
const PLUGINS: &str = include_str!("../../../rabbitmq/enabled_plugins");
const CONFIGURATION: &str = include_str!("../../../rabbitmq/rabbitmq.conf");

pub struct PrivateRabbitmq {
    folder: PathBuf,
    programs: PathBuf,
    ports: Ports,
    /// All nodes of its cluster, itself included.
    nodes: Vec<String>,
    password: String,
    process: Option<Process>,
    /// Unmounted after the process that uses it has ended.
    disk: Option<ForgetfulDisk>,
    _janitor: Janitor,
}

#[derive(Debug, Clone, Copy)]
struct Ports {
    amqp: u16,
    management: u16,
    prometheus: u16,
    distribution: u16,
    /// Of Erlang's name service, which outlives its node.
    names: u16,
}

/// A running broker for one test, to be stopped, killed and frozen.
pub async fn private_rabbitmq() -> PrivateRabbitmq {
    let mut broker = PrivateRabbitmq::alone(Room::Usual);
    broker.start().await;
    broker
}

/// A broker of its own on a disk of this size, running. It blocks publishers when less than
/// [`DISK_FREE_LIMIT_MB`] are free.
pub async fn cramped_rabbitmq(megabytes: u32) -> PrivateRabbitmq {
    let mut broker = PrivateRabbitmq::alone(Room::Small { megabytes });
    broker.start().await;
    broker
}

/// A running broker on a disk that loses in a power cut what was not synced. Only root may make
/// such a disk.
pub async fn forgetful_rabbitmq() -> PrivateRabbitmq {
    let mut broker = PrivateRabbitmq::alone(Room::Forgetful);
    broker.start().await;
    broker
}

/// A broker that takes encrypted connections alone, running, and the port of its encrypted
/// management interface.
pub async fn encrypted_rabbitmq(authority: &Authority) -> (PrivateRabbitmq, u16) {
    let mut broker = PrivateRabbitmq::alone(Room::Usual);
    let [certificate, key] = authority.equip(&broker.folder);
    let (amqp, management) = (broker.ports.amqp, free_port());
    let file = broker.folder.join("rabbitmq.conf");
    let open = format!("listeners.tcp.1 = 127.0.0.1:{amqp}\n");
    let mut encrypted = format!(
        "listeners.tcp = none\nlisteners.ssl.1 = 0.0.0.0:{amqp}\nssl_options.verify = verify_none\n\
         management.ssl.ip = 127.0.0.1\nmanagement.ssl.port = {management}\n"
    );
    let files =
        [("cacertfile", authority.certificate()), ("certfile", certificate), ("keyfile", key)];
    for (name, path) in files {
        for part in ["ssl_options", "management.ssl"] {
            encrypted.push_str(&format!("{part}.{name} = {}\n", path.display()));
        }
    }
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(&open), "{text}");
    fs::write(&file, text.replace(&open, &encrypted)).unwrap();
    broker.start().await;
    (broker, management)
}

/// A running cluster of three brokers that replicate every queue.
pub async fn private_cluster() -> [PrivateRabbitmq; 3] {
    let names = free_port();
    let ports = [(); 3].map(|()| Ports::free(names));
    let nodes: Vec<_> = ports.iter().map(Ports::node).collect();
    let secret = format!("{:032x}", rand::random::<u128>());
    let mut cluster =
        ports.map(|ports| PrivateRabbitmq::of(ports, nodes.clone(), secret.clone(), Room::Usual));
    // One after another: each finds those before it and joins them.
    for broker in &mut cluster {
        broker.start().await;
    }
    cluster
}

impl Ports {
    fn free(names: u16) -> Self {
        let port = free_port;
        Self { amqp: port(), management: port(), prometheus: port(), distribution: port(), names }
    }

    fn node(&self) -> String {
        format!("gateway-test-{}@localhost", self.amqp)
    }
}

impl PrivateRabbitmq {
    fn alone(room: Room) -> Self {
        let ports = Ports::free(free_port());
        let secret = format!("{:032x}", rand::random::<u128>());
        Self::of(ports, vec![ports.node()], secret, room)
    }

    /// `secret` is the administrator's password, and the cookie by which the nodes of a cluster
    /// authenticate each other.
    fn of(ports: Ports, nodes: Vec<String>, secret: String, room: Room) -> Self {
        let programs = packaged("rabbitmq");
        let id = rand::random::<u64>();
        let folder = std::env::temp_dir().join(format!("gateway-test-{id:016x}"));
        for part in ["home", "data", "log"] {
            fs::create_dir_all(folder.join(part)).unwrap();
        }
        let data = folder.join("data");
        let mut end = format!("ERL_EPMD_ADDRESS=127.0.0.1 epmd -port {} -kill; ", ports.names);
        end.push_str(&room.close(&data).join(" "));
        let janitor = Janitor::of(&folder, &["bash".into(), "-c".into(), end]);
        let disk = room.open(&data);
        let broker = Self {
            folder,
            programs,
            ports,
            nodes,
            password: secret,
            process: None,
            disk,
            _janitor: janitor,
        };
        broker.configure();
        broker
    }

    fn configure(&self) {
        let Ports { amqp, management, prometheus, .. } = self.ports;
        let mut own = format!(
            "listeners.tcp.1 = 127.0.0.1:{amqp}\nmanagement.tcp.ip = 127.0.0.1\n\
             management.tcp.port = {management}\nprometheus.tcp.ip = 127.0.0.1\n\
             prometheus.tcp.port = {prometheus}\ndisk_free_limit.absolute = {DISK_FREE_LIMIT_MB}MB\ndefault_user = admin\n\
             default_pass = {}\ndefault_vhost = {VHOST}\n",
            self.password
        );
        if self.nodes.len() > 1 {
            own.push_str("cluster_formation.peer_discovery_backend = classic_config\n");
            for (number, node) in self.nodes.iter().enumerate() {
                let setting = format!("cluster_formation.classic_config.nodes.{number} = {node}\n");
                own.push_str(&setting);
            }
            let cookie = self.folder.join("home/.erlang.cookie");
            fs::write(&cookie, &self.password).unwrap();
            fs::set_permissions(&cookie, fs::Permissions::from_mode(0o400)).unwrap();
        }
        fs::write(self.folder.join("rabbitmq.conf"), format!("{CONFIGURATION}\n{own}")).unwrap();
        fs::write(self.folder.join("enabled_plugins"), PLUGINS).unwrap();
        fs::write(self.folder.join("env.conf"), "").unwrap();
    }

    fn launch(&self) -> Launch {
        let inside = |part: &str| self.folder.join(part).display().to_string();
        let environment = [
            ("HOME", inside("home")),
            ("RABBITMQ_NODENAME", self.ports.node()),
            ("RABBITMQ_MNESIA_BASE", inside("data")),
            ("RABBITMQ_LOG_BASE", inside("log")),
            ("RABBITMQ_CONFIG_FILE", inside("rabbitmq")),
            ("RABBITMQ_ADVANCED_CONFIG_FILE", inside("advanced")),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", inside("enabled_plugins")),
            ("RABBITMQ_CONF_ENV_FILE", inside("env.conf")),
            ("RABBITMQ_PID_FILE", inside("pid")),
            ("RABBITMQ_DIST_PORT", self.ports.distribution.to_string()),
            ("ERL_EPMD_PORT", self.ports.names.to_string()),
            ("ERL_EPMD_ADDRESS", "127.0.0.1".to_owned()),
            (
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                "-kernel inet_dist_use_interface {127,0,0,1}".to_owned(),
            ),
            ("ERL_CRASH_DUMP_SECONDS", "0".to_owned()),
        ];
        Launch {
            name: "private-rabbitmq".to_owned(),
            program: self.programs.join("rabbitmq-server"),
            arguments: Vec::new(),
            environment: environment.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            owner: None,
        }
    }

    /// Its data folder.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn management_url(&self) -> String {
        format!("http://admin:{}@127.0.0.1:{}", self.password, self.ports.management)
    }

    /// Where it takes connections, and where its management interface listens.
    pub fn addresses(&self) -> [SocketAddr; 2] {
        [self.ports.amqp, self.ports.management]
            .map(|port| SocketAddr::from(([127, 0, 0, 1], port)))
    }

    /// As the administrator sees it.
    pub fn management(&self) -> Management {
        Management::new(&self.management_url().into(), VHOST).unwrap()
    }

    /// The Erlang process; a shell script stands before it.
    fn pid(&self) -> Option<u32> {
        let pid = fs::read_to_string(self.folder.join("pid")).ok()?.trim().parse().ok()?;
        is_alive(pid).then_some(pid)
    }

    /// Starts it if it does not run, and returns how long it took until it answered.
    pub async fn start(&mut self) -> Duration {
        if self.pid().is_none() {
            let _ = fs::remove_file(self.folder.join("pid"));
            self.process = Some(Process::start(&self.launch()));
        }
        let management = self.management();
        let process = self.process.as_ref().unwrap();
        let (_, took) = within(START_LIMIT, "the private broker answers", async || {
            assert!(process.is_alive(), "{}", process.said());
            let overview = management.call(Method::GET, &["overview"], None).await;
            let listeners = overview.map_err(|error| error.to_string())?;
            // The interface answers before the broker takes connections.
            let text = listeners.unwrap_or_default()["listeners"].to_string();
            let listening = format!(":{},", self.ports.amqp);
            if text.contains(&listening) || text.contains(&listening.replace(',', "}")) {
                Ok(())
            } else {
                Err(text)
            }
        })
        .await;
        took
    }

    async fn end(&mut self, signal: Signal) {
        assert!(signal.send(self.pid().unwrap()));
        let process = self.process.take().unwrap();
        within(Duration::from_secs(60), "the private broker ends", async || match self.pid() {
            Some(pid) => Err(format!("process {pid} lives\n{}", process.said())),
            None => Ok(()),
        })
        .await;
    }

    /// Stops it in order: connections are closed, everything is stored.
    pub async fn stop(&mut self) {
        self.end(Signal::Terminate).await;
    }

    pub async fn kill(&mut self) {
        self.end(Signal::Kill).await;
    }

    /// Its disk, which loses in a power cut what was not synced.
    pub fn disk(&self) -> &ForgetfulDisk {
        self.disk.as_ref().unwrap()
    }

    /// Kills it, and its disk loses what was not synced: returns the number of its bytes.
    pub fn lose_power(&mut self) -> u64 {
        let lost = self.disk.as_mut().unwrap().lose_power();
        self.process = None;
        lost
    }

    /// Kills it and removes all it ever stored: queues, messages, users.
    pub async fn wipe(&mut self) {
        self.kill().await;
        fs::remove_dir_all(self.folder.join("data")).unwrap();
        fs::create_dir(self.folder.join("data")).unwrap();
    }

    /// It keeps its connections and says nothing, until the answer is dropped.
    pub fn freeze(&self) -> Frozen {
        Frozen::freeze(self.pid().unwrap())
    }

    /// Changes settings of the running broker, as Erlang terms. Open connections keep the old ones.
    pub fn set(&self, settings: &[(&str, &str)]) {
        let set =
            |(name, value): &(&str, &str)| format!("application:set_env(rabbit, {name}, {value})");
        let terms: Vec<_> = settings.iter().map(set).collect();
        self.control(&["eval", &format!("{}.", terms.join(", "))]);
    }

    /// A command of `rabbitmqctl`.
    pub fn control(&self, arguments: &[&str]) {
        let launch = self.launch();
        let output = std::process::Command::new(self.programs.join("rabbitmqctl"))
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(launch.environment)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// A prefix of its own with the topology applied, seen as the application's user.
    pub async fn access(&self) -> BrokerAccess {
        let id = rand::random::<u32>();
        let prefix = format!("f-{id:08x}");
        let passwords = [1, 2, 3].map(|n| format!("p{n}-{:016x}", rand::random::<u64>()));
        let [application, operator, topology] = passwords;
        let access = BrokerAccess {
            amqp_url: format!(
                "amqp://{prefix}-application:{application}@127.0.0.1:{}/{VHOST}",
                self.ports.amqp
            ),
            management_url: self.management_url(),
            vhost: VHOST.to_owned(),
            topology: Topology::new(&prefix, SHORT).unwrap(),
            passwords: Some([application, operator, topology]),
        };
        let broker: config::Broker = access.section();
        gateway::app::messaging::apply_topology::apply_topology(&broker).await.unwrap();
        access
    }
}

/// A stopped process, which goes on when this is dropped.
pub struct Frozen(u32);

impl Frozen {
    pub fn freeze(pid: u32) -> Self {
        assert!(Signal::Stop.send(pid), "process {pid} is gone");
        Self(pid)
    }

    /// Returns true if the kernel confirms it.
    pub fn is_frozen(&self) -> bool {
        processes::is_frozen(self.0)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        Signal::Continue.send(self.0);
    }
}
