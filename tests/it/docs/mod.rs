//! The documentation site: its pages and links, and that its examples and errors are true.

mod downloads;
mod errors;
mod examples;
mod first_payment;
mod site;

use std::path::{Path, PathBuf};

use tokio::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A shell that runs `script` and stops at the first error.
fn shell(script: &str) -> Command {
    let mut command = Command::new("bash");
    command.args(["-eu", "-c", script]).stdin(std::process::Stdio::null()).kill_on_drop(true);
    command
}
