//! Real processes under a test's control: started, watched, frozen, killed. None outlives the
//! tests, however they end.

use std::{
    env,
    fs::{self, File},
    io::{BufRead, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU16, Ordering},
    time::{Duration, Instant},
};

use std::os::unix::process::CommandExt;

const PAUSE: Duration = Duration::from_millis(50);
const LOG_LINES_SHOWN: usize = 40;
/// Runs the program in a process group of its own and waits for this process: when it ends in any
/// way, the keeper's input closes and it kills the group.
const KEEPER: &str =
    r#"set -m; "$@" </dev/null >&2 & echo $!; read -r _; kill -KILL -- "-$!"; wait"#;
/// Waits for the same moment, runs a last command, and removes a folder once no process writes
/// there any more.
const JANITOR: &str =
    r#"read -r _; "${@:2}"; for _ in $(seq 50); do rm -rf -- "$1" && exit; sleep 0.1; done"#;

/// Command line of a process. Of our own environment it gets only the variables named in
/// `environment`.
pub struct Launch {
    pub name: String,
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub environment: Vec<(String, String)>,
    /// User and group id; PostgreSQL refuses to run as root.
    pub owner: Option<(u32, u32)>,
}

/// A running process. Dropping it kills it; its log is shown if that happens in a failing test.
pub struct Process {
    name: String,
    pid: u32,
    log: PathBuf,
    keeper: Child,
}

#[derive(Debug, Clone, Copy)]
pub enum Signal {
    Terminate,
    Interrupt,
    Kill,
    Stop,
    Continue,
}

impl Signal {
    const fn flag(self) -> &'static str {
        match self {
            Self::Terminate => "-TERM",
            Self::Interrupt => "-INT",
            Self::Kill => "-KILL",
            Self::Stop => "-STOP",
            Self::Continue => "-CONT",
        }
    }

    /// Sends it to a process that we, or a server of ours, started. Returns `false` if that is gone
    /// already.
    pub fn send(self, pid: u32) -> bool {
        let status = Command::new("kill")
            .args([self.flag(), &pid.to_string()])
            .stderr(Stdio::null())
            .status();
        status.unwrap().success()
    }
}

impl Process {
    pub fn start(launch: &Launch) -> Self {
        let log = log_file(&launch.name);
        let mut keeper = Command::new("bash");
        keeper
            .args(["-c", KEEPER, "keeper"])
            .arg(&launch.program)
            .args(&launch.arguments)
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .envs(launch.environment.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap());
        if let Some((user, group)) = launch.owner {
            keeper.uid(user).gid(group);
        }
        let mut keeper = keeper.spawn().unwrap();
        let mut first_line = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut first_line).unwrap();
        let pid = first_line.trim().parse().unwrap();
        Self { name: launch.name.clone(), pid, log, keeper }
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub fn signal(&self, signal: Signal) {
        assert!(signal.send(self.pid), "{} was gone before {signal:?}\n{}", self.name, self.said());
    }

    pub fn is_alive(&self) -> bool {
        is_alive(self.pid)
    }

    /// Waits until it has ended by itself, or by a signal, and returns how long that took.
    pub async fn ended(&self, limit: Duration) -> Duration {
        let started = Instant::now();
        while self.is_alive() {
            let late = started.elapsed() > limit;
            assert!(!late, "{} still runs after {limit:?}\n{}", self.name, self.said());
            tokio::time::sleep(PAUSE).await;
        }
        started.elapsed()
    }

    /// All it wrote so far.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// The end of its log, to explain a failure.
    pub fn said(&self) -> String {
        let output = self.output();
        let lines: Vec<_> = output.lines().collect();
        let shown = &lines[lines.len().saturating_sub(LOG_LINES_SHOWN)..];
        format!("the log of {} ({}) ends so:\n{}", self.name, self.log.display(), shown.join("\n"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // It ends now; there is nothing to do if it cannot be waited for.
        let _ = self.keeper.wait();
        if std::thread::panicking() {
            eprintln!("{}", self.said());
        } else {
            let _ = fs::remove_file(&self.log);
        }
    }
}

/// Returns true if the process exists. One that only waits to be reaped does not.
pub fn is_alive(pid: u32) -> bool {
    !matches!(state(pid), None | Some('Z'))
}

/// Returns true if the kernel has stopped it.
pub fn is_frozen(pid: u32) -> bool {
    state(pid) == Some('T')
}

/// Returns true if it exists and is not frozen.
pub fn runs(pid: u32) -> bool {
    !matches!(state(pid), None | Some('Z' | 'T'))
}

fn state(pid: u32) -> Option<char> {
    let state = Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().unwrap();
    String::from_utf8_lossy(&state.stdout).trim().chars().next()
}

/// Removes `folder` when we end, after running `last`.
pub struct Janitor(Child);

impl Janitor {
    pub fn of(folder: &Path, last: &[String]) -> Self {
        let mut janitor = Command::new("bash");
        janitor.args(["-c", JANITOR, "janitor"]).arg(folder);
        if last.is_empty() {
            janitor.arg("true")
        } else {
            janitor.args(last)
        };
        let quiet = janitor.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // In a group of its own, or the Ctrl-C that ends us would end it first.
        Self(quiet.process_group(0).spawn().unwrap())
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Where this build's programs are: beside the tests that run.
pub fn program(name: &str) -> PathBuf {
    let path = built().join(name);
    assert!(path.is_file(), "{} is missing; run cargo build --workspace", path.display());
    path
}

fn built() -> PathBuf {
    let tests = env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().to_owned()
}

fn log_file(name: &str) -> PathBuf {
    let folder = built().join("../tmp/processes");
    fs::create_dir_all(&folder).unwrap();
    let folder = folder.canonicalize().unwrap();
    folder.join(format!("{name}-{:08x}.log", rand::random::<u32>()))
}

/// A port below the kernel's ephemeral range, so that no outgoing connection takes it before its
/// server does.
pub fn free_port() -> u16 {
    const FIRST: u16 = 20_000;
    const COUNT: u16 = 12_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let _ =
        NEXT.compare_exchange(0, rand::random::<u16>() | 1, Ordering::Relaxed, Ordering::Relaxed);
    loop {
        let port = FIRST + NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Polls until there is a value, and returns it with the time it took.
pub async fn within<T>(
    limit: Duration,
    what: &str,
    mut ask: impl AsyncFnMut() -> Result<T, String>,
) -> (T, Duration) {
    let started = Instant::now();
    loop {
        let reason = match ask().await {
            Ok(answer) => return (answer, started.elapsed()),
            Err(reason) => reason,
        };
        assert!(started.elapsed() <= limit, "not within {limit:?}: {what}; at last: {reason}");
        tokio::time::sleep(PAUSE).await;
    }
}
