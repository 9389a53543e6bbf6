//! The documentation of merchants' developers: its errors are true.

mod errors;

use tokio::process::Command;

/// A shell that runs `script` and stops at the first error.
fn shell(script: &str) -> Command {
    let mut command = Command::new("bash");
    command.args(["-eu", "-c", script]).stdin(std::process::Stdio::null()).kill_on_drop(true);
    command
}
