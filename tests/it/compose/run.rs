//! The production profile of `docker-compose.yml` run without an engine: each service's command as
//! a process, with the environment and the secrets that the file gives it. Only what names another
//! container is replaced: addresses of servers, and addresses to listen at.

use std::{
    net::SocketAddr,
    os::unix::fs::PermissionsExt,
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
    time::Duration,
};

use futures_util::FutureExt;
use gateway::broker::topology::Role;
use secrecy::ExposeSecret;
use serde_json::Value;
use support::{
    client::ctl::{Ctl, Ran},
    server::{
        broker::{TestBroker, with_broker},
        database::TestDatabase,
        processes::{Launch, Process, free_port, program, within},
        scratch::Scratch,
    },
};

use super::{HOSTS, Variables, compose_with, interpolated, prepared, read, root, services, texts};

pub(super) const PATIENCE: Duration = Duration::from_secs(90);
/// Not the published phrase of the sandbox, which production refuses.
const WORDS: &str =
    "letter advice cage absurd amount doctor acoustic avoid letter advice cage above";

/// One machine with a release on it.
pub(super) struct Machine {
    scratch: Scratch,
    clone: PathBuf,
    compose: Value,
    /// What differs from the file, by variable.
    pub(super) here: Vec<(String, String)>,
    api: SocketAddr,
    checkout: SocketAddr,
    dashboard: SocketAddr,
    database_url: String,
}

fn local() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], free_port()))
}

impl Machine {
    /// Follows the script's own next steps up to the start.
    async fn prepare(database_url: &str, broker: &TestBroker) -> Self {
        let (scratch, database_url) = (Scratch::new(), database_url.to_owned());
        let (clone, variables) = prepared(&scratch, &[&["production"][..], &HOSTS].concat());
        let [api, checkout, dashboard] = [local(), local(), local()];
        let here = [
            ("GATEWAY_BROKER__PREFIX", broker.topology.prefix().to_owned()),
            ("GATEWAY_BROKER__VHOST", broker.management.vhost().to_owned()),
            ("GATEWAY_API__LISTEN", api.to_string()),
            ("GATEWAY_CHECKOUT__LISTEN", checkout.to_string()),
            ("GATEWAY_DASHBOARD__LISTEN", dashboard.to_string()),
            ("GATEWAY_API__TRUSTED_PROXIES", "127.0.0.1/32".to_owned()),
            // The server may be shared with other tests.
            ("GATEWAY_DATABASE_CONNECTIONS_MAX", "4".to_owned()),
        ];
        let here = here.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let compose = compose_with(&variables);
        let machine =
            Self { scratch, clone, compose, here, api, checkout, dashboard, database_url };
        machine.write("DATABASE_URL", &machine.database_url);
        machine.write("GATEWAY_BROKER__MANAGEMENT_URL", broker.management_url.expose_secret());
        let mut amqp = url::Url::parse(broker.url.expose_secret()).unwrap();
        let user = broker.topology.user(Role::Application).name;
        amqp.set_username(&user).unwrap();
        let password = machine.secret("GATEWAY_BROKER__APPLICATION_PASSWORD");
        amqp.set_password(Some(&password)).unwrap();
        machine.write("AMQP_URL", amqp.as_str());
        machine.certify(&variables);
        machine.make_keys().await;
        machine
    }

    fn file(&self, name: &str) -> PathBuf {
        self.clone.join("secrets").join(name)
    }

    pub(super) fn secret(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }

    /// Into the file that is there, which keeps its owner and its mode.
    pub(super) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).unwrap();
    }

    fn certify(&self, variables: &Variables) {
        let names = ["API_HOST", "PAY_HOST", "DASHBOARD_HOST"].map(|name| &variables[name]);
        let names = names.map(|name| format!("DNS:{name}")).join(",");
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
            .args(["-nodes", "-days", "2", "-subj", "/CN=gateway", "-addext"])
            .arg(format!("subjectAltName={names}"))
            .arg("-keyout")
            .arg(self.file("tls.key"))
            .arg("-out")
            .arg(self.file("tls.crt"))
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    /// The settings of an operator's own keys.
    async fn make_keys(&self) {
        let keys = self.scratch.fresh("keys");
        let offline = Ctl::default().with("GATEWAY_COLD_SEED_KEY", &"5e".repeat(32));
        let arguments = ["keys", "restore", "--pool", "5", "--dir", keys.to_str().unwrap()];
        let ran = offline.run_with_input(&arguments, WORDS).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        self.write("gateway.toml", &std::fs::read_to_string(keys.join("gateway.toml")).unwrap());
    }

    /// The environment of a service, its secrets in a folder of their own.
    fn environment(&self, service: &str) -> Vec<(String, String)> {
        let definition = &self.compose["services"][service];
        let mounted = self.scratch.fresh(&format!("run-secrets-{service}"));
        std::fs::create_dir(&mounted).unwrap();
        for secret in texts(&definition["secrets"]) {
            std::fs::copy(self.file(secret), mounted.join(secret)).unwrap();
        }
        let mounted = mounted.to_str().unwrap();
        let given = definition["environment"].as_object().unwrap().iter();
        let mut environment: Vec<_> = given
            .map(|(name, value)| {
                let value = value.as_str().unwrap().replace("/run/secrets", mounted);
                (name.clone(), value)
            })
            .collect();
        environment.extend(self.here.iter().cloned());
        environment
    }

    pub(super) fn launch(&self, service: &str) -> Program {
        let metrics = local();
        let command = texts(&self.compose["services"][service]["command"]);
        let mut environment = self.environment(service);
        for part in ["API", "WORKER", "DASHBOARD"] {
            let name = format!("GATEWAY_{part}__METRICS_LISTEN");
            environment.push((name, metrics.to_string()));
        }
        let process = Process::start(&Launch {
            name: format!("compose-{service}"),
            program: program(command[0]),
            arguments: command[1..].iter().map(|word| (*word).to_owned()).collect(),
            environment,
            owner: None,
        });
        Program { process, metrics }
    }

    /// `docker compose exec SERVICE gatewayctl …`, and `docker compose run` where that is the
    /// command.
    pub(super) async fn ctl(&self, service: &str, arguments: &[&str]) -> Ran {
        let environment = self.environment(service);
        let ctl =
            environment.iter().fold(Ctl::default(), |ctl, (name, value)| ctl.with(name, value));
        ctl.run(arguments).await
    }

    /// Every value that no list of processes and no log may show.
    fn secrets(&self) -> Vec<String> {
        let of = |name: &&str| self.secret(name);
        let password = |url: String| {
            let url = url::Url::parse(&url).ok()?;
            url.password().map(ToOwned::to_owned)
        };
        let urls = ["DATABASE_URL", "AMQP_URL", "GATEWAY_BROKER__MANAGEMENT_URL"];
        let mut secrets: Vec<_> = urls.iter().map(of).filter_map(password).collect();
        secrets.extend(["GATEWAY_MASTER_KEY", "GATEWAY_BROKER__OPERATOR_PASSWORD"].iter().map(of));
        secrets
    }

    /// nginx from the template, with the variables that the file gives it.
    pub(super) fn launch_proxy(&self) -> (Process, Ports) {
        let ports = Ports { tls: free_port(), http: free_port() };
        let folder = self.scratch.fresh("proxy");
        std::fs::create_dir(&folder).unwrap();
        let mut variables: Variables = self.environment("proxy").into_iter().collect();
        for (name, value) in [
            ("API_UPSTREAM", self.api.to_string()),
            ("PAY_UPSTREAM", self.checkout.to_string()),
            ("DASHBOARD_UPSTREAM", self.dashboard.to_string()),
            ("TLS_LISTEN", format!("127.0.0.1:{}", ports.tls)),
            ("HTTP_LISTEN", format!("127.0.0.1:{}", ports.http)),
            ("TEMPORARY", folder.to_str().unwrap().to_owned()),
            ("ACME_ROOT", folder.to_str().unwrap().to_owned()),
        ] {
            assert!(variables.insert(name.to_owned(), value).is_some(), "the file gives no {name}");
        }
        let file = folder.join("gateway.conf");
        std::fs::write(&file, configuration(&variables)).unwrap();
        let process = Process::start(&Launch {
            name: "nginx".to_owned(),
            program: nginx(),
            arguments: ["-c", file.to_str().unwrap(), "-g", "daemon off;"]
                .map(ToOwned::to_owned)
                .to_vec(),
            environment: Vec::new(),
            owner: None,
        });
        (process, ports)
    }
}

/// As the image's envsubst does it: braces alone, so that nginx keeps its own variables.
fn configuration(variables: &Variables) -> String {
    let template = read("deploy/nginx/gateway.conf.template");
    let escaped = template.replace('$', "$$").replace("$${", "${");
    for name in escaped.split("${").skip(1).map(|rest| rest.split('}').next().unwrap()) {
        assert!(variables.contains_key(name), "docker-compose.yml gives the proxy no {name}");
    }
    interpolated(&escaped, variables)
}

/// Found or fetched by the script, once per process.
fn nginx() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let find = || {
        let script = root().join("scripts/nginx.sh");
        let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "scripts/nginx.sh found no nginx");
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
    };
    PROGRAM.get_or_init(find).clone()
}

pub(super) struct Program {
    process: Process,
    metrics: SocketAddr,
}

impl Program {
    /// The health check of the file, which asks the address that a container has.
    pub(super) async fn ready(&self, machine: &Machine, service: &str) {
        let check = texts(&machine.compose["services"][service]["healthcheck"]["test"]);
        assert_eq!(check, ["CMD", "gatewayctl", "ready"]);
        let url = format!("http://{}/readyz", self.metrics);
        within(PATIENCE, &format!("{service} is ready"), async || {
            assert!(self.process.is_alive(), "{}", self.process.said());
            let ran = Ctl::default().run(&["ready", &url]).await;
            if ran.code == 0 { Ok(()) } else { Err(format!("{ran:?}")) }
        })
        .await;
    }

    /// Searches its command line, its environment and its log.
    fn shows_none_of(&self, secrets: &[String]) {
        let proc = Path::new("/proc").join(self.process.pid().to_string());
        let read = |name: &str| {
            String::from_utf8_lossy(&std::fs::read(proc.join(name)).unwrap()).into_owned()
        };
        let shown = read("cmdline") + &read("environ") + &self.process.output();
        assert!(shown.contains("GATEWAY_SECRETS_DIR"), "the environment cannot be read");
        assert!(!secrets.iter().any(|secret| shown.contains(secret)), "it shows a secret");
    }
}

#[derive(Clone, Copy)]
pub(super) struct Ports {
    pub(super) tls: u16,
    http: u16,
}

/// curl's exit code, and what it printed: the head of the answer and its body.
pub(super) fn curl(machine: &Machine, ports: Ports, arguments: &[&str]) -> (i32, String) {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--include", "--max-time", "20", "--cacert"]);
    curl.arg(machine.file("tls.crt"));
    for host in HOSTS.iter().chain(&["other.gateway.test"]) {
        for port in [ports.tls, ports.http] {
            curl.args(["--resolve", &format!("{host}:{port}:127.0.0.1")]);
        }
    }
    let output = curl.args(arguments).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(super) async fn on_a_machine<F: Future<Output = ()>>(test: impl FnOnce(Machine) -> F) {
    let database = TestDatabase::empty().await;
    let url = database.url.clone();
    let run = with_broker(|broker| async move {
        test(Machine::prepare(&url, &broker).await).await;
    });
    let outcome = AssertUnwindSafe(run).catch_unwind().await;
    database.remove().await;
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_production_profile_serves_three_hosts_behind_tls_and_shows_no_secret() {
    on_a_machine(|machine| async move {
        let check = machine.ctl("migrate", &["config", "check"]).await;
        assert_eq!(check.code, 0, "{check:?}");
        let command = texts(&machine.compose["services"]["migrate"]["command"]);
        for _ in 0..2 {
            let set_up = machine.ctl("migrate", &command[1..]).await.expect_ok().stdout;
            let next = "Everything is set up. Next:\n  gatewayctl addresses import FILE";
            assert!(set_up.contains(next), "{set_up}");
        }

        let names = ["api", "dashboard", "expiry-timer", "payout-batch"];
        let programs = names.map(|name| (name, machine.launch(name)));
        for (name, program) in &programs {
            program.ready(&machine, name).await;
        }
        let (proxy, ports) = machine.launch_proxy();
        let url = |host: usize, path: &str| format!("https://{}:{}{path}", HOSTS[host], ports.tls);
        within(PATIENCE, "the proxy answers", async || {
            assert!(proxy.is_alive(), "{}", proxy.said());
            let (code, said) = curl(&machine, ports, &[&url(0, "/docs")]);
            if code == 0 && said.starts_with("HTTP/2 200") { Ok(()) } else { Err(said) }
        })
        .await;

        let created = machine.ctl("api", &["--json", "merchant", "create", "--name", "Shop"]).await;
        let created = created.expect_ok().json();
        let key = format!("x-api-key: {}", created["api_key"].as_str().unwrap());
        let asked = [&url(0, "/v1/currencies"), "--header", &key];
        let (code, said) = curl(&machine, ports, &asked);
        assert!(code == 0 && said.starts_with("HTTP/2 200"), "{said}");
        assert!(said.contains("strict-transport-security: max-age=31536000"), "{said}");
        refuses_and_redirects(&machine, ports);

        let (_, said) = curl(&machine, ports, &[&url(1, "/pay/pzi_0")]);
        assert!(said.starts_with("HTTP/2 404") && said.contains("text/html"), "{said}");
        let (_, said) = curl(&machine, ports, &["--location", &url(2, "/")]);
        assert!(said.contains("HTTP/2 200") && said.contains("<form"), "{said}");

        let doctor = machine.ctl("api", &["doctor"]).await;
        assert!(doctor.stdout.contains("database"), "{doctor:?}");
        let secrets = machine.secrets();
        assert!(secrets.len() == 5, "only {} secrets were found", secrets.len());
        for (_, program) in &programs {
            program.shows_none_of(&secrets);
        }

        // A proxy whose programs are away repeats no address that was asked for: many are secrets.
        drop(programs);
        let (_, said) = curl(&machine, ports, &[&url(1, "/pay/pzi_0")]);
        assert!(said.starts_with("HTTP/2 502"), "{said}");
        assert!(!proxy.output().contains("pzi_0"), "{}", proxy.said());
    })
    .await;
}

/// Hosts that are none of ours, and what comes without encryption.
fn refuses_and_redirects(machine: &Machine, ports: Ports) {
    let (code, said) =
        curl(machine, ports, &[&format!("https://other.gateway.test:{}/", ports.tls)]);
    assert_eq!((code, said.as_str()), (35, ""), "the handshake is refused");
    let plain =
        |host: &str| curl(machine, ports, &[&format!("http://{host}:{}/a?b=c", ports.http)]);
    let (_, said) = plain(HOSTS[1]);
    let there = format!("Location: https://{}/a?b=c", HOSTS[1]);
    assert!(said.starts_with("HTTP/1.1 301") && said.contains(&there), "{said}");
    for host in [HOSTS[0], "other.gateway.test"] {
        let (code, said) = plain(host);
        assert_eq!((code, said.as_str()), (52, ""), "{host} answers without encryption");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_settings_and_secrets_of_every_service_start_production() {
    on_a_machine(|machine| async move {
        for (name, service) in services(&machine.compose) {
            if service["image"] != "gateway:local" {
                continue;
            }
            let check = machine.ctl(name, &["config", "check"]).await;
            assert_eq!(check.code, 0, "{name}: {check:?}");
        }
    })
    .await;
}

/// The refusal names the file and the command; nothing is migrated before.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_others_can_read_stops_the_setup() {
    on_a_machine(|machine| async move {
        for name in ["GATEWAY_MASTER_KEY", "gateway.toml"] {
            let secret = machine.file(name);
            if name == "gateway.toml" {
                let text = machine.secret(name)
                    + "\n[chains.polygon]\nsource = \"node\"\nrpc_url = \"https://node/key\"\n";
                machine.write(name, &text);
            }
            let mode = |mode| std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&secret, mode(0o644)).unwrap();
            let failed = machine.ctl("migrate", &["setup"]).await;
            let failed =
                failed.expect_failure("is open to other users (mode 0644); run: chmod 600");
            assert!(failed.stderr.contains(&format!("/{name} ")), "{failed:?}");
            std::fs::set_permissions(&secret, mode(0o600)).unwrap();
        }
        machine.ctl("migrate", &["setup"]).await.expect_ok();
    })
    .await;
}
