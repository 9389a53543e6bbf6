//! Checks of a network's nodes, with the requests that a watcher would make, before anything
//! depends on them.

use std::{
    fmt::Write,
    time::{Duration, Instant},
};

use chrono::Utc;
use secrecy::SecretString;

use super::{Finding, Health, LOOK_LIMIT, with_causes};
use crate::{
    app::{Gateway, deposit::follow_chain::node_of},
    asset::Network,
    chain::{BlockRef, ChainError, ChainSource, Source, evm::Abilities, pay::Payer},
    config::ChainSettings,
};

/// A chain tip dated later than this, in seconds, means that a clock is wrong: the miner's or ours.
const AHEAD_MAX_S: i64 = 120;
/// Reading a block may take as long as the network needs for this many blocks, because at least
/// this many are read at once while catching up, both in the read-ahead and in Solana's source.
const BLOCKS_AT_ONCE: u32 = 4;
/// Upper limit for reading a block from a good node, in milliseconds, on networks with slow blocks
/// too.
const SLOW_BLOCK_MS: u64 = 5_000;
/// An address that always exists, for chains whose balances are read.
const PROBE: &str = "0x0000000000000000000000000000000000000001";

impl Gateway {
    /// One finding per configured node, including those of networks that are switched off.
    pub(super) async fn look_at_nodes(&self, network: Network) -> Vec<Finding> {
        let settings = self.config.chain(network);
        let urls = settings.rpc_url.iter().chain(&settings.witnesses);
        let looks = urls.enumerate().map(|(place, url)| look_at(place, url, &settings));
        let mut findings = futures_util::future::join_all(looks).await;
        findings.extend(self.look_at_payer(network).await);
        findings
    }

    /// Abilities of the node of a bitcoin-like network for payouts, if they are offered there.
    async fn look_at_payer(&self, network: Network) -> Option<Finding> {
        if !self.config.payouts_enabled() || !self.config.pays_out_on(network) {
            return None;
        }
        let payers = self.payers_of(network).ok()?;
        let Payer::Utxo(payer) = &payers.payer else { return None };
        let name = format!("payouts on {network}");
        let told = match tokio::time::timeout(LOOK_LIMIT, payer.abilities()).await {
            Ok(Ok(told)) => told,
            Ok(Err(error)) => return Some(Finding::new(name, Health::Broken, with_causes(&error))),
            Err(_) => return Some(Finding::new(name, Health::Broken, "no answer in time")),
        };
        let offered = format!("{} a virtual byte would be offered", told.fee_rate);
        let tests = if told.tests_outputs {
            "outputs are tested before they are signed"
        } else {
            "outputs cannot be tested before they are signed"
        };
        let finding = if told.estimates_fees {
            Finding::new(name, Health::Ok, format!("{offered}, as the node estimates; {tests}"))
        } else {
            let detail = format!("{offered}, for the node has no estimate; {tests}");
            Finding::new(name, Health::Doubtful, detail)
        };
        let advice = "a node estimates once it has watched its mempool for some hours; until then \
                      fee_rate of the network is offered";
        let finding = finding.fact("network", network.name()).advice(advice);
        let rate = u64::try_from(told.fee_rate).unwrap_or(u64::MAX);
        Some(finding.fact("fee_rate", rate).fact("tests_outputs", told.tests_outputs))
    }
}

/// Checks one node. It is named by its position in the configuration, because its URL contains an
/// access key.
async fn look_at(place: usize, url: &SecretString, settings: &ChainSettings) -> Finding {
    let network = settings.network;
    let name = format!("node {place} of {network}");
    let source = match node_of(settings, url) {
        Ok(source) => source,
        Err(error) => return Finding::new(name, Health::Broken, with_causes(&error)),
    };
    let asked = tokio::time::timeout(LOOK_LIMIT, ask(&source)).await;
    let finding = match asked {
        Ok(Ok(told)) => told.finding(name, settings),
        Ok(Err(error)) => Finding::new(name, Health::Broken, with_causes(&error)),
        Err(_) => {
            Finding::new(name, Health::Broken, format!("no answer in {} s", LOOK_LIMIT.as_secs()))
        }
    };
    finding
        .fact("network", network.name())
        .advice("rpc_url and witnesses of the network say where its nodes are looked for")
}

/// Responses of a node.
struct Told {
    head: BlockRef,
    transfers: usize,
    block_took: Duration,
    waiting: usize,
    /// True if the node serves balances at a block; `None` where blocks show everything.
    balances: Option<bool>,
    /// Abilities of an EVM node.
    abilities: Option<Abilities>,
}

async fn ask(source: &Source) -> Result<Told, ChainError> {
    // The chain tip comes first: with it a source checks that the node serves the right chain.
    let head = source.head().await?;
    let started = Instant::now();
    let block = source.block(head.height).await?;
    let block_took = started.elapsed();
    let waiting = source.mempool().await?.transfers.len();
    let (mut balances, mut abilities) = (None, None);
    if let Source::Evm(node) = source {
        balances = Some(node.native_balances(&head, &[PROBE.to_owned()]).await?.is_some());
        abilities = Some(node.abilities().await?);
    }
    let transfers = block.map_or(0, |block| block.transfers.len());
    Ok(Told { head, transfers, block_took, waiting, balances, abilities })
}

impl Told {
    #[expect(clippy::disallowed_methods, reason = "our own clock is what a head is compared with")]
    fn finding(&self, name: String, settings: &ChainSettings) -> Finding {
        let age = (Utc::now() - self.head.mined_at).num_seconds();
        let mut doubts = Vec::new();
        let hold = settings.confirm_hold;
        let age_max = settings.head_age_max.map_or(hold, |max| max.min(hold));
        if age > age_max.num_seconds() {
            doubts.push("its newest block is too old");
        }
        if age < -AHEAD_MAX_S {
            doubts.push("its head is dated in the future");
        }
        let took = self.block_took;
        let slow = is_slow(settings.network, took).then(|| {
            let (took, every) = (took.as_millis(), block_every_ms(settings.network));
            format!("slow: {took} ms a block, the network makes one every {every} ms")
        });
        doubts.extend(slow.as_deref());
        let mut detail = format!(
            "serves the right chain; block {} is {} old and was read in {} ms with {} transfers; {} payments wait",
            self.head.height,
            span(age),
            self.block_took.as_millis(),
            self.transfers,
            self.waiting
        );
        if self.balances == Some(true) {
            detail.push_str("; it reports balances at a block");
        }
        if let Some(abilities) = self.abilities {
            detail.push_str(&self.described(abilities));
        }
        detail.push_str(&counted(settings));
        for doubt in &doubts {
            detail = format!("{doubt}: {detail}");
        }
        let health = if doubts.is_empty() { Health::Ok } else { Health::Doubtful };
        let finalized = self.abilities.and_then(|abilities| abilities.finalized);
        Finding::new(name, health, detail)
            .fact("finalized_height", finalized)
            .fact("traces", self.abilities.map(|abilities| abilities.traces))
            .fact("confirmations", settings.confirmations)
            .fact("large_confirmations", settings.large_confirmations)
            .fact("height", self.head.height)
            .fact("hash", self.head.hash.as_str())
            .fact("head_age_seconds", age)
            .fact("transfers", self.transfers)
    }

    fn described(&self, abilities: Abilities) -> String {
        let finality = match abilities.finalized {
            Some(height) => {
                let depth = self.head.height.saturating_sub(height);
                format!("calls final what is {depth} blocks deep")
            }
            None => "does not report which blocks are final".to_owned(),
        };
        let traces = if abilities.traces { "has traces" } else { "has no traces" };
        format!("; it {finality} and {traces}, which are not needed")
    }
}

/// Usual block interval of `network` in milliseconds.
const fn block_every_ms(network: Network) -> u64 {
    match network {
        Network::Bitcoin => 600_000,
        Network::Litecoin => 150_000,
        Network::Dogecoin => 60_000,
        Network::Ethereum => 12_000,
        Network::Thorchain => 6_000,
        Network::Tron => 3_000,
        Network::Polygon | Network::Optimism | Network::Base => 2_000,
        Network::Avalanche => 1_000,
        Network::Near => 600,
        Network::Bsc => 450,
        Network::Solana | Network::Ton => 400,
        Network::Arbitrum => 250,
    }
}

/// True if a watcher would fall behind for good if every block took so long to read.
fn is_slow(network: Network, block_took: Duration) -> bool {
    let made = Duration::from_millis(block_every_ms(network)) * BLOCKS_AT_ONCE;
    block_took > made.min(Duration::from_millis(SLOW_BLOCK_MS))
}

/// Text with the configured number of confirmations of a deposit.
fn counted(settings: &ChainSettings) -> String {
    let (usual, large) = (settings.confirmations, settings.large_confirmations);
    let mut text = format!("; deposits count after {usual} confirmations");
    if usual != large {
        let _ = write!(text, ", from {} USD on after {large}", settings.large_amount_usd);
    }
    if settings.witnesses.is_empty() {
        text.push_str("; no witness is configured, so this node alone is trusted");
        if settings.network == Network::Avalanche {
            text.push_str(", logs that it leaves out too, for headers here do not show them");
        }
    }
    text
}

/// Seconds in the largest unit of which there are at least two.
fn span(seconds: i64) -> String {
    let units = [(86_400, "days"), (3_600, "hours"), (60, "minutes")];
    let fits = units.into_iter().find(|(unit, _)| seconds >= 2 * unit);
    fits.map_or_else(|| format!("{seconds} s"), |(unit, name)| format!("{} {name}", seconds / unit))
}

#[cfg(test)]
mod tests {
    use super::{Duration, Network, is_slow, span};

    #[test]
    fn a_node_is_slow_by_how_often_its_network_makes_blocks() {
        for (network, took_ms, slow) in [
            (Network::Arbitrum, 1_000, false),
            (Network::Arbitrum, 1_001, true),
            (Network::Ton, 1_500, false),
            (Network::Ton, 1_700, true),
            (Network::Ethereum, 5_000, false),
            (Network::Ethereum, 5_001, true),
            (Network::Bitcoin, 5_001, true),
        ] {
            assert_eq!(
                is_slow(network, Duration::from_millis(took_ms)),
                slow,
                "{network} {took_ms}"
            );
        }
    }

    #[test]
    fn ages_are_printed_in_the_largest_fitting_unit() {
        for (seconds, text) in [
            (-3, "-3 s"),
            (119, "119 s"),
            (120, "2 minutes"),
            (7_199, "119 minutes"),
            (7_200, "2 hours"),
            (172_800, "2 days"),
            (15_333_047, "177 days"),
        ] {
            assert_eq!(span(seconds), text);
        }
    }
}
