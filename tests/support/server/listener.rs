//! Private servers of a test that print their address: found by a script, started, and stopped with
//! their test.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError, mpsc},
    time::Duration,
};

use anyhow::{Context, Result, ensure};

const START_DEADLINE: Duration = Duration::from_secs(120);
/// Runs the program and waits for this process: when it ends in any way, the keeper's input closes
/// and it stops the program.
const KEEPER: &str = r#""$@" </dev/null & server=$!; read -r _; kill "$server"; wait"#;

/// A running server. Dropping it stops it.
pub struct Listener {
    url: String,
    keeper: Child,
}

impl Listener {
    /// Starts `command`, which must print `Listening on …`. Blocks until it does.
    pub fn start(command: &Command) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "sh"])
            .arg(command.get_program())
            .args(command.get_args())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{name} does not start"))?;
        let output = keeper.stdout.take().context("no output")?;
        let (sender, address) = mpsc::channel();
        // Reads to the end: a full pipe would stop the server.
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Some(address) = line.strip_prefix("Listening on ") {
                    // The receiver is gone if the start took too long.
                    let _ = sender.send(address.trim_start_matches("http://").to_owned());
                }
            }
        });
        let mut listener = Self { url: String::new(), keeper };
        let address = address.recv_timeout(START_DEADLINE);
        let address = address.with_context(|| format!("{name} does not listen"))?;
        listener.url = format!("http://{address}");
        Ok(listener)
    }

    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // The shell ends by itself now; there is nothing to do if it cannot be waited for.
        let _ = self.keeper.wait();
    }
}

/// Path printed by `script` of this repository (with its arguments, separated by blanks). It may
/// have to install things, so it runs once per process.
pub fn found_by(script: &'static str) -> Result<PathBuf> {
    static FOUND: Mutex<Option<HashMap<&'static str, PathBuf>>> = Mutex::new(None);
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let found = found.get_or_insert_default();
    if let Some(path) = found.get(script) {
        return Ok(path.clone());
    }
    let (program, arguments) = script.split_once(' ').unwrap_or((script, ""));
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(program);
    let mut command = Command::new(program);
    command.args(arguments.split_whitespace()).stderr(Stdio::inherit());
    let output = command.output()?;
    ensure!(output.status.success(), "{script} found nothing");
    let path = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    found.insert(script, path.clone());
    Ok(path)
}
