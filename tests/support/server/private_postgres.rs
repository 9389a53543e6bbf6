//! A PostgreSQL server of the tests' own, to be stopped, killed and frozen.

use std::{
    fs,
    os::unix::{
        fs::PermissionsExt,
        process::{CommandExt, ExitStatusExt},
    },
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use gateway::storage::Db;
use sqlx::{Connection, Executor, PgConnection};

use crate::client::ctl::Ran;
use crate::server::authority::Authority;
use crate::server::disk::Room;
use crate::server::forgetful_disk::ForgetfulDisk;
use crate::server::processes::{Janitor, Launch, Process, Signal, free_port, within};

const START_LIMIT: Duration = Duration::from_secs(60);
const USER: &str = "gateway";

pub struct PrivatePostgres {
    folder: PathBuf,
    programs: PathBuf,
    port: u16,
    owner: Option<(u32, u32)>,
    process: Option<Process>,
    /// Settings beyond those of every private server.
    settings: Vec<String>,
    /// Unmounted after the process that uses it has ended.
    disk: Option<ForgetfulDisk>,
    _janitor: Janitor,
}

/// The folder of an installed server's programs, found or installed by the script.
pub(crate) fn packaged(name: &str) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/packaged.sh");
    let output = Command::new(script).arg(name).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

/// A running server for one test.
pub async fn fresh_postgres() -> PrivatePostgres {
    let mut server = PrivatePostgres::create();
    server.start().await;
    server
}

/// A running server for one test, on a disk of `megabytes`. Only root may make such a disk.
pub async fn cramped_postgres(megabytes: u32) -> PrivatePostgres {
    let mut server = PrivatePostgres::in_a_folder(Room::Small { megabytes });
    server.initialize();
    server.start().await;
    server
}

/// A running server for one test, on a disk that loses in a power cut what was not synced. Only
/// root may make such a disk.
pub async fn forgetful_postgres() -> PrivatePostgres {
    let mut server = PrivatePostgres::in_a_folder(Room::Forgetful);
    server.initialize();
    server.disk().sync_all();
    server.start().await;
    server
}

/// A server of one test's own that takes encrypted connections alone, running.
pub async fn encrypted_postgres(authority: &Authority) -> PrivatePostgres {
    let mut server = PrivatePostgres::create();
    let [certificate, key] = authority.equip(&server.folder);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let hba = Path::new(&server.data()).join("pg_hba.conf");
    fs::write(&hba, "hostssl all all 127.0.0.0/8 trust\n").unwrap();
    if let Some((user, group)) = server.owner {
        for file in [&certificate, &key, &hba] {
            std::os::unix::fs::chown(file, Some(user), Some(group)).unwrap();
        }
    }
    server.settings = vec![
        "ssl=on".to_owned(),
        format!("ssl_cert_file={}", certificate.display()),
        format!("ssl_key_file={}", key.display()),
        // Also by a name that its certificate is not for.
        "listen_addresses=127.0.0.1,127.0.0.2".to_owned(),
    ];
    server.start().await;
    server
}

fn id(flag: &str, user: &[&str]) -> u32 {
    let output = Command::new("id").arg(flag).args(user).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().parse().unwrap()
}

impl PrivatePostgres {
    fn create() -> Self {
        let mut server = Self::in_a_folder(Room::Usual);
        server.initialize();
        server
    }

    fn in_a_folder(room: Room) -> Self {
        let programs = packaged("postgresql");
        // Root may not run PostgreSQL, and user postgres may not see this checkout: the folder lies
        // outside.
        let root = id("-u", &[]) == 0;
        let owner = root.then(|| (id("-u", &["postgres"]), id("-g", &["postgres"])));
        let parent = if root { PathBuf::from("/var/tmp") } else { std::env::temp_dir() };
        let folder = parent.join(format!("gateway-test-{:016x}", rand::random::<u64>()));
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let janitor = Janitor::of(&folder, &room.close(&folder));
        let disk = room.open(&folder);
        if let Some((user, group)) = owner {
            std::os::unix::fs::chown(&folder, Some(user), Some(group)).unwrap();
        }
        let (port, process, settings) = (free_port(), None, Vec::new());
        Self { folder, programs, port, owner, process, settings, disk, _janitor: janitor }
    }

    fn initialize(&mut self) {
        let data = self.data();
        let arguments = ["-D", &data, "-U", USER, "--auth", "trust", "--no-sync"];
        let locale = ["--encoding", "UTF8", "--locale", "C.UTF-8"];
        // Small pieces of the log, so that a small disk holds some.
        let pieces = ["--wal-segsize", "1"];
        let arguments: Vec<_> = arguments.into_iter().chain(locale).chain(pieces).collect();
        let making = self.run("initdb", &arguments);
        assert!(Path::new(&data).join("PG_VERSION").exists(), "{}", making.said());
    }

    /// Runs one of the server's own programs to its end.
    fn run(&self, program: &str, arguments: &[&str]) -> Process {
        let process = Process::start(&self.launch(program, arguments));
        while process.is_alive() {
            std::thread::sleep(Duration::from_millis(50));
        }
        process
    }

    /// The folder of its data.
    pub fn data(&self) -> String {
        self.folder.join("data").display().to_string()
    }

    fn launch(&self, program: &str, arguments: &[&str]) -> Launch {
        Launch {
            name: format!("private-{program}"),
            program: self.programs.join(program),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            environment: vec![("LC_ALL".to_owned(), "C.UTF-8".to_owned())],
            owner: self.owner,
        }
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    /// Starts it if it does not run, and returns how long it took until it answered.
    pub async fn start(&mut self) -> Duration {
        let (data, port) = (self.data(), self.port.to_string());
        let arguments = ["-D", &data, "-p", &port, "-c", "listen_addresses=127.0.0.1"];
        let more = ["-c", "unix_socket_directories=", "-c", "max_connections=200"];
        let own = self.settings.iter().flat_map(|setting| ["-c", setting]);
        let arguments: Vec<_> = arguments.into_iter().chain(more).chain(own).collect();
        let launch = self.launch("postgres", &arguments);
        let url = self.url("postgres");
        let (_, took) = within(START_LIMIT, "the private database answers", async || {
            // After a kill the shared memory is in use until the last backend has noticed; until
            // then a start is refused.
            if !self.process.as_ref().is_some_and(Process::is_alive) {
                self.process = Some(Process::start(&launch));
            }
            let connection =
                PgConnection::connect(&url).await.map_err(|error| error.to_string())?;
            connection.close().await.map_err(|error| error.to_string())
        })
        .await;
        took
    }

    /// Where its disk is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Output since its last start.
    pub fn said(&self) -> String {
        self.process().output()
    }

    fn process(&self) -> &Process {
        self.process.as_ref().unwrap()
    }

    /// Ends every session and stops in order, as a restart for maintenance does.
    pub async fn stop(&mut self) {
        self.process().signal(Signal::Interrupt);
        self.process().ended(Duration::from_secs(30)).await;
    }

    /// Kills it; the next start recovers from the WAL.
    pub async fn kill(&mut self) {
        self.process().signal(Signal::Kill);
        self.process().ended(Duration::from_secs(10)).await;
    }

    /// The disk that forgets.
    pub fn disk(&self) -> &ForgetfulDisk {
        self.disk.as_ref().unwrap()
    }

    /// Kills it, and its disk loses what was not synced: returns the number of its bytes.
    pub async fn lose_power(&mut self) -> u64 {
        let lost = self.disk.as_mut().unwrap().lose_power();
        self.process().ended(Duration::from_secs(10)).await;
        lost
    }

    /// Makes a database without a schema and returns its address.
    pub async fn create_empty_database(&self) -> String {
        let name = format!("fault_{:08x}", rand::random::<u32>());
        let mut server = PgConnection::connect(&self.url("postgres")).await.unwrap();
        let create = format!("create database {name}");
        server.execute(sqlx::AssertSqlSafe(create)).await.unwrap();
        server.close().await.unwrap();
        self.url(&name)
    }

    /// Makes a database with our schema and returns its address.
    pub async fn create_database(&self) -> String {
        let url = self.create_empty_database().await;
        let db = Db::connect_lazy(&url.clone().into(), 2).unwrap();
        db.migrate().await.unwrap();
        db.close().await;
        url
    }

    /// A running standby that replicates this server.
    pub async fn standby(&self) -> Self {
        let mut standby = Self::in_a_folder(Room::Usual);
        let (data, source) = (standby.data(), self.url("postgres"));
        let copying =
            ["-D", &data, "-d", &source, "-R", "-X", "stream", "--checkpoint=fast", "--no-sync"];
        let copied = standby.run("pg_basebackup", &copying);
        assert!(Path::new(&data).join("standby.signal").exists(), "{}", copied.said());
        standby.start().await;
        standby
    }

    /// A folder for a server that `backup.sh restore` makes; it is not started.
    pub fn without_data() -> Self {
        Self::in_a_folder(Room::Usual)
    }

    /// Runs a copy of `deploy/backup.sh` as this server's user, who cannot see the checkout.
    pub fn backup(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Ran {
        self.run_as_its_user(&self.backup_script().display().to_string(), arguments, environment)
    }

    /// Runs a program as this server's user: one of PostgreSQL's own, or another.
    pub fn run_as_its_user(
        &self,
        program: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Ran {
        let own = self.programs.join(program);
        let mut command = Command::new(if own.exists() { own } else { PathBuf::from(program) });
        command.args(arguments).current_dir(&self.folder).env_clear();
        command.envs(Self::backup_environment(&self.folder)).envs(environment.iter().copied());
        if let Some((user, group)) = self.owner {
            command.uid(user).gid(group);
        }
        let output = command.output().unwrap();
        Ran {
            // Of a program that was killed, as a shell tells it.
            code: output
                .status
                .code()
                .or(output.status.signal().map(|signal| 128 + signal))
                .unwrap(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Receives the log of `url` into `folder` until the process is dropped.
    pub fn receive_wal(&self, url: &str, folder: &str) -> Process {
        let arguments = ["wal", "--to", folder].map(str::to_owned).to_vec();
        let mut environment = Self::backup_environment(&self.folder);
        environment.push(("DATABASE_URL".to_owned(), url.to_owned()));
        let program = self.backup_script();
        Process::start(&Launch {
            name: "backup-wal".to_owned(),
            program,
            arguments,
            environment,
            owner: self.owner,
        })
    }

    fn backup_script(&self) -> PathBuf {
        let script = self.folder.join("backup.sh");
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/backup.sh");
        fs::copy(original, &script).unwrap();
        script
    }

    fn backup_environment(home: &Path) -> Vec<(String, String)> {
        let path = std::env::var("PATH").unwrap_or_default();
        vec![("PATH".to_owned(), path), ("HOME".to_owned(), home.display().to_string())]
    }

    /// An empty folder of this server's user.
    pub fn make_folder(&self, name: &str) -> String {
        let folder = self.folder.join(name);
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        if let Some((user, group)) = self.owner {
            std::os::unix::fs::chown(&folder, Some(user), Some(group)).unwrap();
        }
        folder.display().to_string()
    }

    /// A copy of `database` as it is now, as a file.
    pub fn dump(&self, database: &str) -> PathBuf {
        let file = self.folder.join(format!("{database}.dump"));
        let path = file.display().to_string();
        let dumped = self.run("pg_dump", &["-d", &self.url(database), "-f", &path]);
        assert!(file.exists(), "{}", dumped.said());
        file
    }

    /// Makes a database of a dump and returns its address.
    pub async fn restore(&self, dump: &Path) -> String {
        let url = self.create_empty_database().await;
        let path = dump.display().to_string();
        let restored =
            self.run("psql", &["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", &url, "-f", &path]);
        assert!(!restored.output().contains("ERROR"), "{}", restored.said());
        url
    }
}
