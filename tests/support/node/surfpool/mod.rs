//! Surfpool per test: Solana's own virtual machine and programs, with a block every tenth of a
//! second (`surfpool/README.md`).

use std::{path::Path, process::Command};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::{
    node::json_rpc,
    server::listener::{Listener, found_by},
};

/// A running node. Dropping it stops it.
pub struct Surfpool {
    node: Listener,
    genesis: String,
}

/// Token programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    Token,
    /// Withholds this many hundredths of a percent of each payment.
    Token2022 {
        fee_bps: u32,
    },
}

fn command() -> Result<Command> {
    let packages = found_by("scripts/surfpool.sh")?;
    let mut command = Command::new(found_by("scripts/languages.sh node")?);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("support/node/surfpool/node.mjs");
    command.arg(script).arg(packages);
    Ok(command)
}

impl Surfpool {
    pub async fn start() -> Result<Self> {
        let start = || Listener::start(&command()?);
        let node = tokio::task::spawn_blocking(start).await??;
        let mut node = Self { node, genesis: String::new() };
        node.genesis = node.act("genesis", json!({})).await?;
        Ok(node)
    }

    /// Its JSON-RPC.
    pub fn url(&self) -> &str {
        self.node.url()
    }

    /// The hash of its first block, another one each time.
    pub fn genesis(&self) -> &str {
        &self.genesis
    }

    async fn act(&self, method: &str, params: Value) -> Result<String> {
        let answer = json_rpc::call(self.url(), method, params).await?;
        Ok(answer.as_str().context("a text")?.to_owned())
    }

    /// Returns the signature of the transaction once it is in a block, as all of these do.
    pub async fn pay(&self, to: &str, lamports: u128) -> Result<String> {
        self.act("pay", json!({ "to": to, "units": lamports.to_string() })).await
    }

    /// A transaction that fails at its second step, after one that would have paid `to`.
    pub async fn fail(&self, to: &str) -> Result<String> {
        self.act("fail", json!({ "to": to })).await
    }

    /// Makes the token whose mint is at `at`.
    pub async fn mint(&self, at: &str, program: Program) -> Result<()> {
        let (name, fee_bps) = match program {
            Program::Token => ("token", 0),
            Program::Token2022 { fee_bps } => ("token-2022", fee_bps),
        };
        self.act("mint", json!({ "at": at, "program": name, "feeBps": fee_bps })).await.map(drop)
    }

    /// Pays into the token account of `to`, which is opened if it is not there.
    pub async fn pay_token(&self, mint: &str, to: &str, units: u128) -> Result<String> {
        self.act("payToken", json!({ "mint": mint, "to": to, "units": units.to_string() })).await
    }

    /// The same by the old instruction, which does not name the mint.
    pub async fn pay_token_plainly(&self, mint: &str, to: &str, units: u128) -> Result<String> {
        let units = units.to_string();
        let params = json!({ "mint": mint, "to": to, "units": units, "plain": true });
        self.act("payToken", params).await
    }

    /// A token payment that fails after the account of `to` was opened.
    pub async fn fail_token(&self, mint: &str, to: &str) -> Result<String> {
        self.act("failToken", json!({ "mint": mint, "to": to })).await
    }
}
