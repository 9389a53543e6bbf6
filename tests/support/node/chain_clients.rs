//! Third-party clients, used to read the stubs: a stub and an adapter by one author could share one
//! mistake.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Runs `clients/<name>.mjs` with `arguments` and reads the one line of JSON it prints.
pub async fn read(name: &'static str, arguments: &[&str]) -> Result<Value> {
    let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
    tokio::task::spawn_blocking(move || run(name, &arguments)).await?
}

fn run(name: &str, arguments: &[String]) -> Result<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = Command::new(root.join("../scripts/chain-clients.sh"))
        .stderr(Stdio::inherit())
        .output()
        .context("scripts/chain-clients.sh does not start")?;
    ensure!(found.status.success(), "scripts/chain-clients.sh found no clients");
    let found = String::from_utf8(found.stdout)?;
    let (node, modules) = found.trim().split_once('\n').context("two lines")?;
    let read = Command::new(node)
        .arg(root.join(format!("support/node/clients/{name}.mjs")))
        .arg(modules)
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(read.status.success(), "{name}.mjs could not read the stub");
    Ok(serde_json::from_slice(&read.stdout)?)
}
