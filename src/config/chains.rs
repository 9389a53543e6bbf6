//! Settings of each network: its nodes, confirmations, and how long a deadline waits for the
//! watcher.

use chrono::{DateTime, TimeDelta, Utc};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::{Config, Profile};
use crate::{
    asset::Network,
    chain::http::{is_header, with_header},
    invoice::deadline::Patience,
    payout::quote,
};

/// Source of a network's blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChainSourceKind {
    /// The sandbox's simulated chain.
    Simulated,
    /// The network's own node, at `rpc_url`.
    #[serde(alias = "evm")]
    Node,
    /// The network is not offered.
    Off,
}

/// Settings of one network.
#[derive(Clone)]
pub struct ChainSettings {
    pub network: Network,
    pub source: ChainSourceKind,
    pub rpc_url: Option<SecretString>,
    /// Node for account state, if `rpc_url` does not serve it: on NEAR a node's own JSON-RPC.
    pub state_url: Option<SecretString>,
    /// Further nodes. With at least one, the contents of a block count once two of all nodes report
    /// the same.
    pub witnesses: Vec<SecretString>,
    /// Chain id of an EVM test chain; otherwise the network's own id applies.
    pub chain_id: Option<u64>,
    /// Address of the contract that pays many recipients of a token at once, on EVM networks. It is
    /// used as long as its code is the pinned one.
    pub multisend: Option<String>,
    /// Hash of the first block, for Solana test clusters and for bitcoin-like test chains, whose
    /// addresses are then those of regtest.
    pub genesis: Option<String>,
    /// A deposit in the head block has one confirmation.
    pub confirmations: u64,
    /// Amount in whole dollars from which a deposit is large.
    pub large_amount_usd: u64,
    /// Confirmations of a large deposit; no fewer than `confirmations`.
    pub large_confirmations: u64,
    pub poll: std::time::Duration,
    /// Maximum time that a deadline waits for a watcher that has not looked since.
    pub watch_grace: TimeDelta,
    /// Maximum age of a chain tip. An older one means a stuck node, so that reaching it does not
    /// mean having seen the whole network. `None` for chains whose blocks are made on demand: no
    /// deadline waits there for a block that is dated after it.
    pub head_age_max: Option<TimeDelta>,
    /// Maximum time that a deadline waits for payments that were in time and are in no block.
    pub confirm_hold: TimeDelta,
    /// Time for which a deadline goes on waiting for a payment that its node no longer lists.
    pub vanished_hold: TimeDelta,
    /// Fee rate of a payout if the node has no estimate: wei per gas, or the smallest coin per
    /// virtual byte.
    pub fee_rate: u128,
    /// Maximum fee rate of a payout quote.
    pub fee_rate_max: u128,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChainOverride {
    pub source: Option<ChainSourceKind>,
    pub rpc_url: Option<SecretString>,
    /// `Name: value`, sent with each call to `rpc_url` alone.
    pub rpc_header: Option<SecretString>,
    pub state_url: Option<SecretString>,
    pub state_header: Option<SecretString>,
    pub witnesses: Vec<SecretString>,
    /// In the order of `witnesses`; an empty one is none.
    pub witness_headers: Vec<SecretString>,
    pub chain_id: Option<u64>,
    pub genesis: Option<String>,
    pub multisend: Option<String>,
    pub confirmations: Option<u64>,
    pub large_amount_usd: Option<u64>,
    pub large_confirmations: Option<u64>,
    pub poll_ms: Option<u64>,
    pub watch_grace_seconds: Option<i64>,
    pub head_age_max_seconds: Option<i64>,
    pub confirm_hold_seconds: Option<i64>,
    pub vanished_hold_seconds: Option<i64>,
    pub fee_rate: Option<u64>,
    pub fee_rate_max: Option<u64>,
}

/// (confirmations, seconds between polls, hold in minutes): common practice for amounts of retail
/// size.
const fn practice(network: Network) -> (u64, u64, i64) {
    match network {
        Network::Bitcoin => (2, 15, 180),
        Network::Litecoin => (6, 10, 90),
        Network::Dogecoin => (20, 10, 90),
        Network::Ethereum => (12, 4, 30),
        Network::Polygon => (16, 2, 20),
        Network::Bsc => (15, 2, 15),
        // Their holds leave room for large amounts, which wait for the first layer.
        Network::Arbitrum => (20, 2, 60),
        Network::Optimism | Network::Base => (10, 2, 60),
        Network::Avalanche => (1, 2, 10),
        // Only final blocks are read: solidified by 19 of 27 producers on TRON, of commitment
        // `finalized` on Solana, of finality `final` on NEAR. More confirmations would only keep
        // the buyer waiting.
        Network::Tron => (1, 3, 15),
        Network::Solana | Network::Near => (1, 2, 10),
        Network::Ton => (1, 4, 10),
        Network::Thorchain => (1, 6, 10),
    }
}

/// Confirmations of a large deposit. Where reversing a chain is a matter of cost, as many as make a
/// reversal cost more than a large deposit brings: six blocks on bitcoin by custom, and two epochs
/// on Ethereum, after which its blocks are final. Blocks of a rollup depend on one sequencer until
/// the first layer's blocks that carry them are final, which takes up to half an hour. The last
/// five are as final as they get with the confirmations above.
const fn large_practice(network: Network) -> u64 {
    match network {
        Network::Bitcoin => 6,
        Network::Litecoin => 12,
        Network::Dogecoin => 60,
        Network::Ethereum => 65,
        // Final after a few blocks while votes come in. If they do not: the confirmations that
        // exchanges require, and on BSC two rounds of its 21 validators.
        Network::Polygon => 128,
        Network::Bsc => 42,
        Network::Avalanche => 12,
        Network::Arbitrum => 7_200,
        Network::Optimism | Network::Base => 900,
        Network::Tron | Network::Solana | Network::Near | Network::Ton | Network::Thorchain => 1,
    }
}

/// Maximum age of a chain tip, in minutes: a gap between blocks that the network has once in many
/// years, and no less than clock differences and a pause of its producers need. Blocks of bitcoin
/// and its like come at random, eighteen of bitcoin's in three hours, and may be dated an hour too
/// early (after the median of the eleven before). Dated in the future, by two hours at most, they
/// hide a stuck node for that much longer.
const fn head_age_practice(network: Network) -> i64 {
    match network {
        Network::Bitcoin => 180,
        Network::Litecoin | Network::Dogecoin => 60,
        Network::Ethereum
        | Network::Polygon
        | Network::Bsc
        | Network::Arbitrum
        | Network::Optimism
        | Network::Base
        | Network::Avalanche
        | Network::Tron
        | Network::Solana
        | Network::Near
        | Network::Ton
        | Network::Thorchain => 5,
    }
}

fn keyed(url: SecretString, header: Option<&SecretString>) -> SecretString {
    match header.filter(|header| !header.expose_secret().is_empty()) {
        Some(header) => with_header(&url, header),
        None => url,
    }
}

/// Minutes for which a payment stays in sight after its node stopped listing it: some blocks, in
/// which it is mined all the same if only this node forgot it (restarted, it begins with an empty
/// mempool), if a reorganisation moved it, or if its sender raised its fee.
const fn vanished_practice(network: Network) -> i64 {
    match network {
        Network::Bitcoin => 30,
        Network::Litecoin | Network::Dogecoin => 10,
        Network::Ethereum
        | Network::Polygon
        | Network::Bsc
        | Network::Arbitrum
        | Network::Optimism
        | Network::Base
        | Network::Avalanche
        | Network::Tron
        | Network::Solana
        | Network::Near
        | Network::Ton
        | Network::Thorchain => 5,
    }
}

const LARGE_AMOUNT_USD: u64 = 5_000;
/// An alert reports a node or a watcher that is away after two minutes. A day leaves operators time
/// to bring it back: an expiry would treat buyers who paid meanwhile as if nothing had come.
const WATCH_GRACE_HOURS: i64 = 24;
const SIMULATED_POLL_MS: u64 = 200;

impl ChainSettings {
    /// Returns true if a chain tip mined at `mined_at` can be the network's newest block at `now`,
    /// by the database's clock. A tip dated in the future can: its miner's clock may be ahead.
    pub fn is_fresh(&self, mined_at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
        self.head_age_max.is_none_or(|max| now.signed_duration_since(mined_at) <= max)
    }

    /// Time for which deadlines of this network wait for payments in time.
    pub fn patience(&self) -> Patience {
        Patience { unconfirmed: self.confirm_hold, mined: self.confirm_hold.max(self.watch_grace) }
    }
}

impl Config {
    /// Settings of `network`: common practice, overridden by section `chains.<network>`.
    pub fn chain(&self, network: Network) -> ChainSettings {
        let given = self.chains.get(network.name()).cloned().unwrap_or_default();
        let source = given.source.unwrap_or(match self.profile {
            Profile::Sandbox => ChainSourceKind::Simulated,
            Profile::Production => ChainSourceKind::Off,
        });
        let (confirmations, poll_seconds, hold_minutes) = practice(network);
        let poll_ms = match source {
            ChainSourceKind::Simulated => SIMULATED_POLL_MS,
            ChainSourceKind::Node | ChainSourceKind::Off => poll_seconds * 1000,
        };
        let confirmations = given.confirmations.unwrap_or(confirmations).max(1);
        let large = given.large_confirmations.unwrap_or(match source {
            // A simulated chain has no reorgs.
            ChainSourceKind::Simulated => 1,
            ChainSourceKind::Node | ChainSourceKind::Off => large_practice(network),
        });
        let (fee_rate, fee_rate_max) = quote::fee_rate_bounds(network.family());
        let grace = given.watch_grace_seconds.unwrap_or(WATCH_GRACE_HOURS * 3_600);
        let head_age_max = match source {
            // A simulated chain makes a block for each payment.
            ChainSourceKind::Simulated => None,
            ChainSourceKind::Node | ChainSourceKind::Off => {
                let practice = head_age_practice(network) * 60;
                Some(given.head_age_max_seconds.unwrap_or(practice)).filter(|seconds| *seconds > 0)
            }
        };
        let vanished = given.vanished_hold_seconds.unwrap_or(vanished_practice(network) * 60);
        let hold = given.confirm_hold_seconds.unwrap_or(hold_minutes * 60);
        ChainSettings {
            network,
            source,
            rpc_url: given.rpc_url.map(|url| keyed(url, given.rpc_header.as_ref())),
            state_url: given.state_url.map(|url| keyed(url, given.state_header.as_ref())),
            witnesses: given
                .witnesses
                .into_iter()
                .enumerate()
                .map(|(place, url)| keyed(url, given.witness_headers.get(place)))
                .collect(),
            chain_id: given.chain_id,
            genesis: given.genesis,
            multisend: given.multisend,
            confirmations,
            large_amount_usd: given.large_amount_usd.unwrap_or(LARGE_AMOUNT_USD),
            large_confirmations: large.max(confirmations),
            poll: std::time::Duration::from_millis(given.poll_ms.unwrap_or(poll_ms).max(10)),
            watch_grace: TimeDelta::seconds(grace.max(0)),
            head_age_max: head_age_max.map(TimeDelta::seconds),
            confirm_hold: TimeDelta::seconds(hold.max(0)),
            vanished_hold: TimeDelta::seconds(vanished.max(0)),
            fee_rate: given.fee_rate.map_or(fee_rate, u128::from),
            fee_rate_max: given.fee_rate_max.map_or(fee_rate_max, u128::from),
        }
    }

    /// Headers of nodes that cannot be sent, by the names of their settings. Never their values.
    pub(super) fn unusable_headers(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (name, chain) in &self.chains {
            let headers =
                [("rpc_header", &chain.rpc_header), ("state_header", &chain.state_header)];
            let single =
                headers.into_iter().filter_map(|(key, header)| Some((key, header.as_ref()?)));
            let lists = chain.witness_headers.iter().map(|header| ("witness_headers", header));
            for (key, header) in single.chain(lists) {
                if !header.expose_secret().is_empty() && !is_header(header) {
                    faults.push(format!("chains.{name}.{key} must be a header: Name: value"));
                }
            }
            if chain.witness_headers.len() > chain.witnesses.len() {
                faults
                    .push(format!("chains.{name}: there are more witness_headers than witnesses"));
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(network: Network, source: &str, more: &str) -> ChainSettings {
        let toml = format!(
            "database_url = \"postgres://user@localhost/db\"\namqp_url = \"amqp://localhost/vhost\"\n\
             master_key = \"{}\"\n[chains.{network}]\nsource = {source:?}\n\
             rpc_url = \"http://localhost\"\n{more}",
            "00".repeat(32)
        );
        Config::from_toml(&toml).unwrap().chain(network)
    }

    #[test]
    fn each_node_gets_its_own_header_and_no_other() {
        let more = "rpc_header = \"TRON-PRO-API-KEY: one\"\nwitnesses = [\"http://a\", \"http://b\"]\n\
                    witness_headers = [\"\", \"Authorization: Bearer two\"]";
        let tron = settings(Network::Tron, "node", more);
        let urls = tron.rpc_url.iter().chain(&tron.witnesses).map(ExposeSecret::expose_secret);
        let urls: Vec<_> = urls.collect();
        assert_eq!(
            urls,
            [
                "http://localhost#header=TRON%2DPRO%2DAPI%2DKEY%3A%20one",
                "http://a",
                "http://b#header=Authorization%3A%20Bearer%20two"
            ]
        );
    }

    #[test]
    fn a_head_is_fresh_while_its_network_may_have_no_newer_one() {
        let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        for (network, source, more, age_minutes, is_fresh) in [
            (Network::Bitcoin, "node", "", 180, true),
            (Network::Bitcoin, "node", "", 181, false),
            // Dated in the future, as the rules of bitcoin allow.
            (Network::Bitcoin, "node", "", -120, true),
            (Network::Litecoin, "node", "", 60, true),
            (Network::Dogecoin, "node", "", 61, false),
            (Network::Ethereum, "node", "", 5, true),
            (Network::Ethereum, "node", "", 6, false),
            (Network::Tron, "node", "head_age_max_seconds = 600", 10, true),
            (Network::Tron, "node", "head_age_max_seconds = 600", 11, false),
            // Test chains mine on request.
            (Network::Polygon, "node", "head_age_max_seconds = 0", 1_000_000, true),
            (Network::Polygon, "simulated", "", 1_000_000, true),
        ] {
            let mined_at = now - TimeDelta::minutes(age_minutes);
            let told = settings(network, source, more).is_fresh(mined_at, now);
            assert_eq!(told, is_fresh, "{network} after {age_minutes} minutes, {more}");
        }
    }
}
