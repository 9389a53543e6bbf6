//! Prometheus and promtool, found or installed by `scripts/prometheus.sh`, and a server of a test's
//! own.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::Value;
use support::{
    client::Client,
    server::processes::{Launch, Process, free_port, within},
};

const READY_LIMIT: Duration = Duration::from_secs(30);

pub(super) fn program(name: &str) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/prometheus.sh");
    let found = Command::new(script).arg(name).stderr(Stdio::inherit()).output().unwrap();
    assert!(found.status.success(), "scripts/prometheus.sh found no {name}");
    String::from_utf8(found.stdout).unwrap().trim().into()
}

#[track_caller]
pub(super) fn promtool(folder: &Path, arguments: &[&str]) {
    let done =
        Command::new(program("promtool")).current_dir(folder).args(arguments).output().unwrap();
    let said = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(done.status.success(), "promtool {arguments:?}: {}", said.concat());
}

/// A running Prometheus with the repository's rules and scrape jobs, at other targets.
pub(super) struct Prometheus {
    client: Client,
    folder: PathBuf,
    _process: Process,
}

impl Prometheus {
    pub(super) async fn start(api: SocketAddr, worker: SocketAddr) -> Self {
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("prometheus-{}", api.port()));
        std::fs::create_dir_all(&folder).unwrap();
        let given = super::read("prometheus/prometheus.yml");
        let config = given
            .replace("api:9080", &api.to_string())
            .replace("worker:9081", &worker.to_string())
            .replace("15s", "1s");
        assert!(config.matches("127.0.0.1").count() == 2, "{config}");
        std::fs::write(folder.join("prometheus.yml"), config).unwrap();
        std::fs::write(folder.join("alerts.yml"), super::read("prometheus/alerts.yml")).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let process = Process::start(&Launch {
            name: "prometheus".to_owned(),
            program: program("prometheus"),
            arguments: vec![
                format!("--config.file={}", folder.join("prometheus.yml").display()),
                format!("--storage.tsdb.path={}", folder.join("data").display()),
                format!("--web.listen-address={address}"),
            ],
            environment: Vec::new(),
            owner: None,
        });
        within(READY_LIMIT, "prometheus listens", async || {
            tokio::net::TcpStream::connect(address).await.map(drop).map_err(|e| e.to_string())
        })
        .await;
        Self { client: Client::new(address), folder, _process: process }
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.client.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()["data"].clone()
    }

    /// The result of an expression now.
    pub(super) async fn query(&self, expression: &str) -> Vec<Value> {
        let text: String = url::form_urlencoded::byte_serialize(expression.as_bytes()).collect();
        let data = self.get(&format!("/api/v1/query?query={text}")).await;
        data["result"].as_array().unwrap().clone()
    }

    /// The loaded alerting rules, evaluated or not.
    pub(super) async fn rules(&self) -> Vec<Value> {
        let data = self.get("/api/v1/rules").await;
        let groups = data["groups"].as_array().unwrap().iter();
        groups.flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // The process may still write; leftovers are in the build folder.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
