//! `gatewayctl chain …`

use clap::{Args, Subcommand};
use gateway::{app::Gateway, asset::Network};
use serde_json::json;

use crate::{failure::wrong_usage, network, operator::Operator, render::Answer, words};

#[derive(Subcommand)]
pub enum Chain {
    /// Restart a watcher after a reorganisation deeper than it remembers
    #[command(after_help = words::CHAIN_RESTART)]
    Restart(Restart),
}

#[derive(Args)]
pub struct Restart {
    /// Which network
    #[arg(long, value_name = "NET", hide_possible_values = true, value_parser = network::parser())]
    network: Network,
    /// The block to go on from: one that the old branch and the new one share
    #[arg(long, value_name = "N")]
    height: u64,
    /// Why, and how it is known that both share it; needed with --yes
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Do it; without, only print the effect
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    by: Operator,
}

impl Chain {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let Self::Restart(Restart { network, height, reason, yes, by }) = self;
        let reason = reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
        let sure = match (yes, reason) {
            (true, Some(reason)) => Some((by.name()?, reason)),
            (true, None) => {
                return Err(wrong_usage("give the reason for the restart: --reason TEXT"));
            }
            (false, _) => None,
        };
        let named = sure.as_ref().map(|(by, reason)| (by.as_str(), *reason));
        let found = gateway.restart_chain(network, height, named).await?;
        let json = json!({
            "network": network.name(),
            "from": found.from,
            "to": height,
            "deposits": found.deposits,
            "restarted": sure.is_some(),
        });
        let (from, deposits) = (found.from, found.deposits);
        let text = if sure.is_some() {
            format!(
                "The watcher of {network} goes on from block {height}. {deposits} deposits of the blocks up to {from} are \
                 looked for again."
            )
        } else {
            format!(
                "The watcher of {network} would go back from block {from} to {height} and look for {deposits} deposits \
                 again; nothing was changed. Do it with --yes --reason TEXT."
            )
        };
        Ok(Answer::new(json, text))
    }
}
