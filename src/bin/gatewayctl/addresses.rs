//! `gatewayctl addresses …`

use clap::{Args, Subcommand};
use gateway::{app::Gateway, asset::Network};
use serde_json::json;

use crate::{network, render::Answer, words};

#[derive(Subcommand)]
pub enum Addresses {
    /// Add fresh addresses to the pool of a network (solana, near)
    #[command(after_help = words::ADDRESSES_FILL)]
    Fill(Fill),
}

#[derive(Args)]
pub struct Fill {
    /// Whose pool
    #[arg(long, value_name = "NET", hide_possible_values = true, value_parser = network::parser())]
    network: Network,
    /// How many to add
    #[arg(long, value_name = "N")]
    count: u32,
}

impl Addresses {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let Self::Fill(Fill { network, count }) = self;
        let filled = gateway.fill_addresses(network, count).await?;
        let text = format!("{} added; {} are free on {network}.", filled.added, filled.free);
        let json = json!({ "network": network.name(), "added": filled.added, "free": filled.free });
        Ok(Answer::new(json, text))
    }
}
