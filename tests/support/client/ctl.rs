//! The built `gatewayctl`, run as a person or a script runs it.

use std::{path::PathBuf, process::Stdio, time::Duration};

use secrecy::ExposeSecret;
use serde_json::Value;
use tokio::{io::AsyncWriteExt, process::Command};

use crate::server::stack::{MASTER_KEY, Stack};

/// Far longer than any command takes; it ends a test that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// An environment to run commands in. Nothing else of this process's environment reaches them.
#[derive(Clone, Default)]
pub struct Ctl {
    environment: Vec<(String, String)>,
}

/// Result of one command.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// The one JSON value on stdout.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// Expects success and silence on stderr.
    pub fn expect_ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        assert_eq!(self.stderr, "", "{self:?}");
        self
    }

    /// Expects only a failure that contains `words`.
    pub fn expect_failure(self, words: &str) -> Self {
        assert_eq!((self.code, self.stdout.as_str()), (1, ""), "{self:?}");
        assert!(self.stderr.contains(words), "no {words:?} in {self:?}");
        self
    }

    /// Expects only wrong usage that contains `words`.
    pub fn expect_wrong_usage(self, words: &str) -> Self {
        assert_eq!((self.code, self.stdout.as_str()), (2, ""), "{self:?}");
        assert!(self.stderr.contains(words), "no {words:?} in {self:?}");
        self
    }
}

impl Ctl {
    /// Environment of the stack.
    pub fn of(stack: &Stack) -> Self {
        let timing = stack.broker.topology.timing();
        Self::over(&stack.database.url)
            .with("AMQP_URL", stack.broker.url.expose_secret())
            .with("GATEWAY_BROKER__MANAGEMENT_URL", stack.broker.management_url.expose_secret())
            .with("GATEWAY_BROKER__VHOST", stack.broker.management.vhost())
            .with("GATEWAY_BROKER__PREFIX", stack.broker.topology.prefix())
            .with("GATEWAY_BROKER__IPN_WAIT_MS", &timing.ipn_wait_ms.to_string())
            .with(
                "GATEWAY_BROKER__PAYOUT_WEBHOOK_WAIT_MS",
                &timing.payout_webhook_wait_ms.to_string(),
            )
    }

    /// A database and a master key.
    pub fn over(database_url: &str) -> Self {
        Self::default().with("DATABASE_URL", database_url).with("GATEWAY_MASTER_KEY", MASTER_KEY)
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The whole environment of commands.
    pub fn environment(&self) -> &[(String, String)] {
        &self.environment
    }

    pub async fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with_input(arguments, "").await
    }

    /// Runs with `input` on stdin.
    pub async fn run_with_input(&self, arguments: &[&str], input: &str) -> Ran {
        let mut command = Command::new(program());
        command.args(arguments).env_clear().envs(self.environment.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A command that reads nothing may have ended by now.
        let _unread = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
        let output = output.unwrap_or_else(|_| panic!("{arguments:?} did not end")).unwrap();
        Ran {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs with `--json`, expects success, and returns the value.
    pub async fn json(&self, arguments: &[&str]) -> Value {
        let arguments: Vec<_> =
            std::iter::once("--json").chain(arguments.iter().copied()).collect();
        self.run(&arguments).await.expect_ok().json()
    }
}

/// Path beside this test program, where `cargo build` puts it.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().with_file_name("gatewayctl");
    assert!(program.exists(), "{} is missing; run cargo build first", program.display());
    program
}
