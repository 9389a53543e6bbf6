//! A substitute for a Solana node per test, blocks only on request (`solana/README.md`).

use std::{
    collections::HashMap,
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

/// A running substitute. Dropping it stops it.
pub struct SolanaNode {
    node: Listener,
}

/// A block as Solana's own client reads it.
#[derive(Debug, Deserialize)]
pub struct Reading {
    pub parent_slot: u64,
    pub hash: String,
    pub transactions: Vec<ReadTransaction>,
}

#[derive(Debug, Deserialize)]
pub struct ReadTransaction {
    pub signature: String,
    pub failed: bool,
    /// In lamports, by account; digits, with a sign for a loss.
    pub gained: HashMap<String, String>,
}

fn script(name: &str) -> Result<Command> {
    let mut command = Command::new(found_by("scripts/languages.sh node")?);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("support/node/solana").join(name));
    Ok(command)
}

impl SolanaNode {
    pub async fn start() -> Result<Self> {
        let start = || Listener::start(&script("node.mjs")?);
        Ok(Self { node: tokio::task::spawn_blocking(start).await?? })
    }

    pub fn url(&self) -> &str {
        self.node.url()
    }

    async fn act(&self, method: &str, params: Value) -> Result<Value> {
        json_rpc::call(self.url(), method, params).await
    }

    /// Pays every receiver its lamports in one transaction. Returns its signature, as all of these
    /// do.
    pub async fn pay(&self, outputs: &[(String, u128)]) -> Result<String> {
        text(&self.act("pay", json!({ "outputs": outputs_json(outputs) })).await?)
    }

    /// A new token, at the mint `at` if that is given. Returns the mint.
    pub async fn mint(&self, at: Option<&str>) -> Result<String> {
        text(&self.act("mint", json!({ "at": at })).await?)
    }

    /// A new token of so many decimals at `at`.
    pub async fn mint_of(&self, at: &str, decimals: u8) -> Result<()> {
        self.act("mint", json!({ "at": at, "decimals": decimals })).await.map(drop)
    }

    pub async fn pay_token(&self, mint: &str, outputs: &[(String, u128)]) -> Result<String> {
        let params = json!({ "mint": mint, "outputs": outputs_json(outputs) });
        text(&self.act("payToken", params).await?)
    }

    /// A transaction that fails at its last step, of lamports or of a token.
    pub async fn fail(&self, mint: Option<&str>) -> Result<String> {
        text(&self.act("fail", json!({ "mint": mint })).await?)
    }

    /// Transactions that look like a payment to `to` but are none: failed ones, empty ones, an
    /// empty token account, coins that are taken back at once.
    pub async fn make_noise(&self, mint: &str, to: &str) -> Result<()> {
        self.act("noise", json!({ "mint": mint, "to": to })).await.map(drop)
    }

    /// The node loses its newest `blocks`.
    pub async fn forget(&self, blocks: u64) -> Result<()> {
        self.act("forget", json!({ "blocks": blocks })).await.map(drop)
    }

    /// From now on the newest `blocks` are confirmed and not final.
    pub async fn hold(&self, blocks: u64) -> Result<()> {
        self.act("hold", json!({ "blocks": blocks })).await.map(drop)
    }

    /// Puts everything since the last block into the next one; some slots are skipped before some.
    /// Returns its slot.
    pub async fn mine(&self) -> Result<u64> {
        self.act("mine", json!({})).await?.as_u64().context("a slot")
    }

    /// The block of `slot` as Solana's own client reads it from this node.
    pub async fn read_by_web3(&self, slot: u64) -> Result<Reading> {
        let url = self.url().to_owned();
        let output = tokio::task::spawn_blocking(move || {
            let mut command = script("read.mjs")?;
            command.arg(found_by("scripts/solana-client.sh")?).args([url, slot.to_string()]);
            anyhow::Ok(command.stderr(Stdio::inherit()).output()?)
        });
        let output = output.await??;
        ensure!(output.status.success(), "Solana's client cannot read the node");
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

fn outputs_json(outputs: &[(String, u128)]) -> Value {
    outputs.iter().map(|(to, units)| json!({ "to": to, "units": units.to_string() })).collect()
}

fn text(value: &Value) -> Result<String> {
    Ok(value.as_str().context("a text")?.to_owned())
}
