//! A private TON per test: real virtual machine and contracts, blocks only on request
//! (`ton/README.md`).

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    node::json_rpc,
    server::listener::{Listener, found_by},
};

/// A running node. Dropping it stops it.
pub struct TonNode {
    node: Listener,
}

/// A transaction as TON's own client decodes it.
#[derive(Debug, Deserialize)]
pub struct Reading {
    pub hash: String,
    /// In nanotons; none for a message from outside.
    pub value: Option<String>,
    pub aborted: bool,
    pub has_come_back: bool,
    pub goes_back: bool,
}

fn program(name: &str) -> Result<Command> {
    let packages = found_by("scripts/ton-sandbox.sh")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("support/node/ton").join(name);
    let mut command = Command::new(found_by("scripts/languages.sh node")?);
    command.arg(script).arg(packages);
    Ok(command)
}

impl TonNode {
    pub async fn start() -> Result<Self> {
        let start = || Listener::start(&program("node.mjs")?);
        Ok(Self { node: tokio::task::spawn_blocking(start).await?? })
    }

    pub fn url(&self) -> &str {
        self.node.url()
    }

    async fn act(&self, method: &str, params: Value) -> Result<Value> {
        json_rpc::call(self.url(), method, params).await
    }

    /// A payment of `nanotons`, which bounces if `bounce` is set and the account does not exist.
    /// Returns the hash of the receiver's transaction and `aborted`.
    pub async fn pay(&self, to: &str, nanotons: u128, bounce: bool) -> Result<(String, bool)> {
        let params = json!({ "to": to, "units": nanotons.to_string(), "bounce": bounce });
        let done = self.act("pay", params).await?;
        Ok((text(&done["hash"])?, done["aborted"] == true))
    }

    /// A new token called `name`, whose master contract is at `at` if that is given. Returns the
    /// master's address.
    pub async fn token(&self, name: &str, at: Option<&str>) -> Result<String> {
        text(&self.act("token", json!({ "name": name, "at": at })).await?)
    }

    /// Returns the hash of the transaction in which the receiver's jetton wallet gets the tokens.
    pub async fn pay_token(&self, master: &str, to: &str, units: u128) -> Result<String> {
        let params = json!({ "master": master, "to": to, "units": units.to_string() });
        text(&self.act("payToken", params).await?["hash"])
    }

    /// Notifies a real jetton wallet of tokens that were never sent. Returns the hash of its
    /// failure.
    pub async fn forge_token(&self, master: &str) -> Result<String> {
        text(&self.act("forgeToken", json!({ "master": master })).await?["hash"])
    }

    /// Transactions that look like a payment to `to` but are none: one that bounces, a notification
    /// of tokens without a sender, and a contract that claims to hold `to`'s tokens of `master`.
    pub async fn make_noise(&self, master: &str, to: &str) -> Result<()> {
        self.act("noise", json!({ "master": master, "to": to })).await.map(drop)
    }

    /// The node loses its newest `blocks`.
    pub async fn forget(&self, blocks: u64) -> Result<()> {
        self.act("forget", json!({ "blocks": blocks })).await.map(drop)
    }

    /// Puts everything since the last block under the next one. Returns its height.
    pub async fn mine(&self) -> Result<u64> {
        self.act("mine", json!({})).await?.as_u64().context("a height")
    }

    /// The newest transactions of `address` as TON's own client reads them from this node.
    pub async fn read_by_ton_client(&self, address: &str) -> Result<Vec<Reading>> {
        let (url, address) = (self.url().to_owned(), address.to_owned());
        let output = tokio::task::spawn_blocking(move || {
            let mut command = program("read.mjs")?;
            anyhow::Ok(command.args([url, address]).stderr(Stdio::inherit()).output()?)
        });
        let output = output.await??;
        ensure!(output.status.success(), "TON's client cannot read the node");
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

fn text(value: &Value) -> Result<String> {
    Ok(value.as_str().context("a text")?.to_owned())
}
