//! A real PgBouncer in front of a test's database.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
    time::Duration,
};

use sqlx::{ConnectOptions, Connection, postgres::PgConnectOptions};
use url::Url;

use super::{
    processes::{Launch, Process, Signal, free_port, within},
    scratch::Scratch,
};

const START_LIMIT: Duration = Duration::from_secs(90);

/// Its settings that the tests vary.
#[derive(Clone, Copy)]
pub struct Pooling {
    /// Server sessions that its clients share.
    pub sessions: u32,
    pub max_prepared_statements: u32,
    /// Accepts the settings of a client's session, and drops them.
    pub drops_settings: bool,
}

impl Default for Pooling {
    fn default() -> Self {
        Self { sessions: 4, max_prepared_statements: 200, drops_settings: false }
    }
}

/// Runs until it is dropped or stopped.
pub struct PgBouncer {
    url: String,
    process: Process,
    _folder: Scratch,
}

impl PgBouncer {
    /// In transaction mode.
    pub async fn before(database_url: &str, pooling: Pooling) -> Self {
        let server: Url = database_url.parse().unwrap();
        let folder = Scratch::new();
        let (port, file) = (free_port(), folder.fresh("pgbouncer"));
        fs::write(&file, settings(&server, port, pooling)).unwrap();
        let process = Process::start(&Launch {
            name: "pgbouncer".to_owned(),
            program: program(),
            arguments: vec![file.display().to_string()],
            environment: Vec::new(),
            owner: None,
        });
        let mut url = server;
        url.set_host(Some("127.0.0.1")).unwrap();
        url.set_port(Some(port)).unwrap();
        let options: PgConnectOptions = url.as_str().parse().unwrap();
        let options = options.extra_float_digits(None);
        within(START_LIMIT, "the pooler answers", async || {
            assert!(process.is_alive(), "{}", process.said());
            let connection = options.connect().await.map_err(|error| error.to_string())?;
            connection.close().await.map_err(|error| error.to_string())
        })
        .await;
        Self { url: url.into(), process, _folder: folder }
    }

    /// The same database through the pooler.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub async fn kill(&self) {
        self.process.signal(Signal::Kill);
        self.process.ended(Duration::from_secs(10)).await;
    }
}

fn settings(server: &Url, port: u16, pooling: Pooling) -> String {
    let host = server.host_str().unwrap().replace("%2F", "/");
    let password = server.password().map(|word| format!(" password={word}")).unwrap_or_default();
    // Root may not run it, and the user that it becomes needs no rights at all.
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let user = if is_root { "user = nobody\n" } else { "" };
    let dropped = if pooling.drops_settings {
        "ignore_startup_parameters = extra_float_digits, options\n"
    } else {
        ""
    };
    format!(
        "[databases]\n* = host={host} port={} user={}{password}\n\
         [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
         auth_type = any\npool_mode = transaction\ndefault_pool_size = {}\n\
         max_prepared_statements = {}\n{user}{dropped}",
        server.port().unwrap_or(5432),
        server.username(),
        pooling.sessions,
        pooling.max_prepared_statements,
    )
}

/// Found or fetched by the script, once per process.
fn program() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let find = || {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/pgbouncer.sh");
        let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "scripts/pgbouncer.sh found no pgbouncer");
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
    };
    PROGRAM.get_or_init(find).clone()
}
