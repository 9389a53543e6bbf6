//! What is known of each network: how it is read, when a deposit counts, how long a deadline waits for it.

use chrono::{DateTime, TimeDelta, Utc};
use secrecy::SecretString;
use serde::Deserialize;

use super::{Config, Profile};
use crate::{asset::Network, payout::quote};

/// Where a network's blocks come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChainSourceKind {
    /// The sandbox's own chain.
    Simulated,
    /// The network's own node, behind `rpc_url`.
    #[serde(alias = "evm")]
    Node,
    /// Not offered.
    Off,
}

/// One network as this stack follows it.
#[derive(Clone)]
pub struct ChainSettings {
    pub network: Network,
    pub source: ChainSourceKind,
    pub rpc_url: Option<SecretString>,
    /// Who tells what accounts hold, where `rpc_url` does not: on NEAR a node's own JSON-RPC.
    pub state_url: Option<SecretString>,
    /// Further nodes. With any, what a block holds counts once two of all nodes tell it alike.
    pub witnesses: Vec<SecretString>,
    /// For EVM test chains; the network's own id otherwise.
    pub chain_id: Option<u64>,
    /// For test clusters of Solana and for bitcoin-like test chains, whose addresses are then those of regtest: the hash of
    /// their first block.
    pub genesis: Option<String>,
    /// A deposit in the head block has one confirmation.
    pub confirmations: u64,
    /// From this many whole dollars on a deposit is large.
    pub large_amount_usd: u64,
    /// What a large deposit needs; no fewer than `confirmations`.
    pub large_confirmations: u64,
    pub poll: std::time::Duration,
    /// How long a deadline waits for a watcher that has not looked since.
    pub watch_grace: TimeDelta,
    /// A head dated longer ago than this is a stuck node's word: to have reached it is not to have seen the whole network.
    /// `None` where blocks come only when somebody asks for one.
    pub head_age_max: Option<TimeDelta>,
    /// How long a deadline waits for payments that were in time and only need confirmations.
    pub confirm_hold: TimeDelta,
    /// What a payout offers for one unit of work where the node has no estimate: wei per gas, or the smallest coin per
    /// virtual byte.
    pub fee_rate: u128,
    /// The most that a payout is ever quoted for it.
    pub fee_rate_max: u128,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ChainOverride {
    pub source: Option<ChainSourceKind>,
    pub rpc_url: Option<SecretString>,
    pub state_url: Option<SecretString>,
    pub witnesses: Vec<SecretString>,
    pub chain_id: Option<u64>,
    pub genesis: Option<String>,
    pub confirmations: Option<u64>,
    pub large_amount_usd: Option<u64>,
    pub large_confirmations: Option<u64>,
    pub poll_ms: Option<u64>,
    pub watch_grace_seconds: Option<i64>,
    pub head_age_max_seconds: Option<i64>,
    pub confirm_hold_seconds: Option<i64>,
    pub fee_rate: Option<u64>,
    pub fee_rate_max: Option<u64>,
}

/// (confirmations, seconds between looks, hold in minutes): field practice for amounts of retail size.
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
        // Only blocks that are final already are read: solidified by 19 of 27 producers on TRON, of commitment `finalized`
        // on Solana, of finality `final` on NEAR. Waiting for more would only keep the buyer waiting.
        Network::Tron => (1, 3, 15),
        Network::Solana | Network::Near => (1, 2, 10),
        Network::Ton => (1, 4, 10),
        Network::Thorchain => (1, 6, 10),
    }
}

/// Where reversing a chain is a matter of money, what it takes to wait until that costs more than a large deposit brings:
/// six blocks on bitcoin by custom, and two epochs on Ethereum, after which its blocks are final. Blocks of a rollup are one
/// sequencer's word until the first layer's are final that carry them, which takes up to half an hour. The last
/// five are as final as they get with the confirmations above.
const fn large_practice(network: Network) -> u64 {
    match network {
        Network::Bitcoin => 6,
        Network::Litecoin => 12,
        Network::Dogecoin => 60,
        Network::Ethereum => 65,
        // Final after a few blocks while votes come in. In case they do not: what exchanges wait for, and on BSC two rounds
        // of its 21 validators.
        Network::Polygon => 128,
        Network::Bsc => 42,
        Network::Avalanche => 12,
        Network::Arbitrum => 7_200,
        Network::Optimism | Network::Base => 900,
        Network::Tron | Network::Solana | Network::Near | Network::Ton | Network::Thorchain => 1,
    }
}

/// How old a head may be, in minutes: as long as the network goes without a block once in many years, and no less than what
/// clocks and a pause of its producers take. Blocks of bitcoin and its like come by chance, eighteen of bitcoin's in three
/// hours, and may be dated an hour too early (after the median of the eleven before); dated in the future, by two hours at
/// most, they make a stuck node pass for so much longer.
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

const LARGE_AMOUNT_USD: u64 = 5_000;
/// Longer than the outages of a watcher that operators are asked to tolerate.
const WATCH_GRACE_MINUTES: i64 = 60;
const SIMULATED_POLL_MS: u64 = 200;

impl ChainSettings {
    /// Whether a head that says it was mined then can be the network's newest block `now`, by the database's clock. Heads
    /// dated in the future are: their miners' clocks may be ahead.
    pub fn is_fresh(&self, mined_at: DateTime<Utc>, now: DateTime<Utc>) -> bool {
        self.head_age_max.is_none_or(|max| now.signed_duration_since(mined_at) <= max)
    }
}

impl Config {
    /// How `network` is followed: field practice, changed by section `chains.<network>`.
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
            // Nobody reverses a chain that only pretends.
            ChainSourceKind::Simulated => 1,
            ChainSourceKind::Node | ChainSourceKind::Off => large_practice(network),
        });
        let (fee_rate, fee_rate_max) = quote::fee_rate_bounds(network.family());
        let grace = given.watch_grace_seconds.unwrap_or(WATCH_GRACE_MINUTES * 60);
        let head_age_max = match source {
            // Its blocks come when a payment does.
            ChainSourceKind::Simulated => None,
            ChainSourceKind::Node | ChainSourceKind::Off => {
                let practice = head_age_practice(network) * 60;
                Some(given.head_age_max_seconds.unwrap_or(practice)).filter(|seconds| *seconds > 0)
            }
        };
        let hold = given.confirm_hold_seconds.unwrap_or(hold_minutes * 60);
        ChainSettings {
            network,
            source,
            rpc_url: given.rpc_url,
            state_url: given.state_url,
            witnesses: given.witnesses,
            chain_id: given.chain_id,
            genesis: given.genesis,
            confirmations,
            large_amount_usd: given.large_amount_usd.unwrap_or(LARGE_AMOUNT_USD),
            large_confirmations: large.max(confirmations),
            poll: std::time::Duration::from_millis(given.poll_ms.unwrap_or(poll_ms).max(10)),
            watch_grace: TimeDelta::seconds(grace.max(0)),
            head_age_max: head_age_max.map(TimeDelta::seconds),
            confirm_hold: TimeDelta::seconds(hold.max(0)),
            fee_rate: given.fee_rate.map_or(fee_rate, u128::from),
            fee_rate_max: given.fee_rate_max.map_or(fee_rate_max, u128::from),
        }
    }

    /// Names in section `chains` that are no network: almost certainly misspelt.
    pub(super) fn unknown_chains(&self) -> Vec<&str> {
        let known = |name: &&String| name.parse::<Network>().is_err();
        self.chains.keys().filter(known).map(String::as_str).collect()
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
            // Test chains mine when they are told to.
            (Network::Polygon, "node", "head_age_max_seconds = 0", 1_000_000, true),
            (Network::Polygon, "simulated", "", 1_000_000, true),
        ] {
            let mined_at = now - TimeDelta::minutes(age_minutes);
            let told = settings(network, source, more).is_fresh(mined_at, now);
            assert_eq!(told, is_fresh, "{network} after {age_minutes} minutes, {more}");
        }
    }
}
