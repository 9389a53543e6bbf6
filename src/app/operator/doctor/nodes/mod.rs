//! Checks of a network's nodes, with the requests that a watcher would make, before anything
//! depends on them.

mod agreement;
mod grade;
mod load;
mod methods;

use std::{
    collections::HashSet,
    fmt::Write,
    time::{Duration, Instant},
};

use chrono::Utc;
use secrecy::SecretString;

use super::{Finding, Health, LOOK_LIMIT, with_causes};
use crate::{
    app::{Gateway, deposit::follow_chain::node_of},
    asset::{Network, address::match_key, catalogue::Catalogue},
    chain::{
        BlockRef, ChainError, ChainSource, Source, TransferAsset, calls,
        evm::{Abilities, EvmSource},
        needs::block_every_ms,
        pay::Payer,
        walks_for_balances,
    },
    config::{ChainSettings, ChainSourceKind},
    storage::addresses,
};
use load::Borne;

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

/// Blocks below the head that are read if the head has no payment, so that each method is tried.
const BLOCKS_BACK: u64 = 3;
/// Blocks over which the interval between two is measured.
const PACE_BLOCKS: u64 = 100;
/// Heights in a row without a block.
const SKIPPED_MAX: u64 = 3;
const DAY_MS: u64 = 86_400_000;
/// Open invoices counted.
const OPEN_MAX: i64 = 100_000;
/// A database that does not answer is reported by its own check.
const OPEN_LIMIT: Duration = Duration::from_secs(2);
/// Methods that payouts ask of a node of an EVM network, beyond those of the watcher.
const EVM_PAYOUTS: [&str; 5] = [
    "eth_getTransactionCount",
    "eth_estimateGas",
    "eth_feeHistory",
    "eth_maxPriorityFeePerGas",
    "eth_sendRawTransaction",
];

/// One node after it was asked.
struct Looked {
    place: usize,
    /// `None` if nothing can be asked.
    source: Option<Source>,
    head: Option<BlockRef>,
    findings: Vec<Finding>,
}

impl Looked {
    fn is_usable(&self) -> bool {
        self.findings.iter().all(|finding| finding.health != Health::Broken)
    }
}

/// Known about the installation, for the load on each node.
struct Asked {
    /// One of our addresses, for balances.
    address: Option<String>,
    /// Open invoices whose balances are read at each head, where the rows could be read.
    open: Option<u64>,
}

impl Gateway {
    /// Findings about each configured node, including those of networks that are switched off, and
    /// the grade of all of them.
    pub(super) async fn look_at_nodes(&self, network: Network) -> Vec<Finding> {
        let settings = self.config.chain(network);
        let urls: Vec<_> = settings.rpc_url.iter().chain(&settings.witnesses).collect();
        if urls.is_empty() {
            return grade::without_nodes(&settings).into_iter().collect();
        }
        let asked = self.asked_of(network).await;
        let looks = urls.into_iter().enumerate();
        let looks = looks.map(|(place, url)| look_at(place, url, &settings, &asked));
        let mut nodes = futures_util::future::join_all(looks).await;
        let beside = agreement::look_at(&settings, &nodes).await;
        let payouts = [self.look_at_payer(network).await, self.look_at_evm_payer(&nodes).await];
        let mut findings: Vec<_> =
            nodes.iter_mut().flat_map(|node| node.findings.clone()).collect();
        findings.extend(beside);
        findings.extend(payouts.into_iter().flatten());
        findings.push(grade::of(&settings, &nodes, &findings));
        findings
    }

    async fn asked_of(&self, network: Network) -> Asked {
        let family = network.family();
        let reading = async {
            let address = self.first_address(family).await;
            (address.map(|address| match_key(family, &address)), self.open_invoices(network).await)
        };
        let read = tokio::time::timeout(OPEN_LIMIT, reading).await;
        let (address, open) = read.unwrap_or_default();
        Asked { address, open }
    }

    /// Invoices whose balances a watcher reads at each head.
    async fn open_invoices(&self, network: Network) -> Option<u64> {
        let coin = Catalogue::get().native(network).token_id();
        let mut connection = self.db.connection().await.ok()?;
        let targets =
            addresses::balance_targets(&mut connection, network.name(), &coin, OPEN_MAX).await;
        u64::try_from(targets.ok()?.len()).ok()
    }

    /// Abilities of the first node of an EVM network for payouts, if they are offered there.
    async fn look_at_evm_payer(&self, nodes: &[Looked]) -> Option<Finding> {
        let Source::Evm(node) = nodes.first()?.source.as_ref()? else { return None };
        let network = node.network();
        if !self.config.payouts_enabled() || !self.config.pays_out_on(network) {
            return None;
        }
        nodes.first()?.head.as_ref()?;
        Some(
            look_at_payouts(node)
                .await
                .fact("network", network.name())
                .advice("choose a node that sends transactions; some plans of providers only read"),
        )
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

async fn look_at_payouts(node: &EvmSource) -> Finding {
    let name = format!("payouts on {}", node.network());
    match tokio::time::timeout(LOOK_LIMIT, node.lacking(&EVM_PAYOUTS)).await {
        Ok(Ok(lacking)) if lacking.is_empty() => {
            let count = EVM_PAYOUTS.len();
            Finding::new(name, Health::Ok, format!("node 0 has all {count} methods for them"))
        }
        Ok(Ok(lacking)) => {
            let detail = format!("node 0 does not have {}", lacking.join(", "));
            Finding::new(name, Health::Broken, detail).fact("lacking", lacking)
        }
        Ok(Err(error)) => Finding::new(name, Health::Broken, with_causes(&error)),
        Err(_) => Finding::new(name, Health::Broken, "no answer in time"),
    }
}

/// Checks one node. It is named by its position in the configuration, because its URL contains an
/// access key.
async fn look_at(
    place: usize,
    url: &SecretString,
    settings: &ChainSettings,
    known: &Asked,
) -> Looked {
    let network = settings.network;
    let name = format!("node {place} of {network}");
    let advice = "rpc_url and witnesses of the network say where its nodes are looked for";
    let broken = |source, detail: String| {
        let finding = Finding::new(name.clone(), Health::Broken, detail);
        let finding = finding.fact("network", network.name()).fact("node", place).advice(advice);
        Looked { place, source, head: None, findings: vec![finding] }
    };
    let source = match node_of(settings, url) {
        Ok(source) => source,
        Err(error) => return broken(None, with_causes(&error)),
    };
    let asking = async {
        let told = tokio::time::timeout(LOOK_LIMIT, ask(&source)).await;
        let more = match &told {
            Ok(Ok(told)) => More::ask(&source, told, known).await,
            Ok(Err(_)) | Err(_) => More::default(),
        };
        (told, more)
    };
    let ((told, more), seen) = calls::logged(asking).await;
    let told = match told {
        Ok(Ok(told)) => told,
        Ok(Err(error)) => return broken(Some(source), with_causes(&error)),
        Err(_) => {
            return broken(Some(source), format!("no answer in {} s", LOOK_LIMIT.as_secs()));
        }
    };
    let finding = told.finding(name.clone(), settings, &more);
    let finding = finding.fact("network", network.name()).fact("node", place);
    let load = load::Load::of(settings, (place, known.open), (&told, &more));
    let findings = vec![
        finding.advice(advice),
        methods::finding((place, network), &seen),
        load.finding((place, network), &more.borne),
    ];
    Looked { place, source: Some(source), head: Some(told.head), findings }
}

/// Responses of a node.
struct Told {
    head: BlockRef,
    transfers: usize,
    transactions: usize,
    block_took: Duration,
    /// Calls that reading the block took.
    block_calls: usize,
    waiting: usize,
    /// True if the node serves balances at a block; `None` where blocks show everything.
    balances: Option<bool>,
    /// Abilities of an EVM node.
    abilities: Option<Abilities>,
}

async fn ask(source: &Source) -> Result<Told, ChainError> {
    // The chain tip comes first: with it a source checks that the node serves the right chain.
    let head = source.head().await?;
    let (started, before) = (Instant::now(), calls::so_far());
    let block = source.block(head.height).await?;
    let (block_took, block_calls) = (started.elapsed(), calls::so_far() - before);
    let waiting = source.mempool().await?.transfers.len();
    let (mut balances, mut abilities) = (None, None);
    if let Source::Evm(node) = source {
        balances = Some(node.native_balances(&head, &[PROBE.to_owned()]).await?.is_some());
        abilities = Some(node.abilities().await?);
    }
    let transfers = block.as_ref().map_or(0, |block| block.transfers.len());
    let transactions = block.as_ref().map_or(0, |block| {
        block.transfers.iter().map(|transfer| &transfer.tx_hash).collect::<HashSet<_>>().len()
    });
    Ok(Told {
        head,
        transfers,
        transactions,
        block_took,
        block_calls,
        waiting,
        balances,
        abilities,
    })
}

/// Answers to the questions that a watcher asks only at times, and to a few more at once. None of
/// them is needed to say that a node works, so a failure is not passed on.
#[derive(Default)]
struct More {
    /// Interval between blocks in milliseconds, as this node's blocks are dated.
    block_every_ms: Option<u64>,
    /// True if the node serves a block of a day ago; `None` if its chain is younger.
    keeps_a_day: Option<bool>,
    borne: Borne,
}

impl More {
    async fn ask(source: &Source, told: &Told, known: &Asked) -> Self {
        let mut more = Self::default();
        let asking = more.ask_the_rest(source, told, known);
        let in_time = tokio::time::timeout(LOOK_LIMIT, asking).await.is_ok();
        if in_time {
            more.borne = load::bear(source, &told.head).await;
        }
        more
    }

    async fn ask_the_rest(&mut self, source: &Source, told: &Told, known: &Asked) {
        let (network, head) = (source.network(), &told.head);
        for back in 1..=BLOCKS_BACK.min(head.height) {
            if told.transfers > 0 {
                break;
            }
            let block = source.block(head.height - back).await;
            if block.is_ok_and(|block| block.is_some_and(|block| !block.transfers.is_empty())) {
                break;
            }
        }
        let pace = self.ask_pace(source, head).await.unwrap_or_else(|| block_every_ms(network));
        self.keeps_a_day = keeps(source, head, DAY_MS / pace.max(1)).await;
        // Their answers show in the log of calls.
        let _ = source.mempool().await;
        let _ = source.dated_through(head).await;
        // A walk takes minutes. Without an address, the node says whether it would walk.
        let of: Vec<String> = if matches!(source, Source::Evm(_)) {
            vec![PROBE.to_owned()]
        } else if walks_for_balances(network) {
            Vec::new()
        } else {
            known.address.iter().cloned().collect()
        };
        if !of.is_empty() || walks_for_balances(network) {
            let tokens = Catalogue::get().all().iter();
            let token = tokens.filter(|token| token.network == network).find_map(|t| t.contract);
            let token = token.map(|token| match_key(network.family(), token));
            let assets: Vec<_> = std::iter::once(TransferAsset::Native)
                .chain(token.map(TransferAsset::Contract))
                .collect();
            let _ = source.holdings(head, &of, &assets).await;
        }
    }

    /// Measures the interval between blocks by their dates. Chains whose blocks are made on demand
    /// have none, so it is bounded by the usual one.
    async fn ask_pace(&mut self, source: &Source, head: &BlockRef) -> Option<u64> {
        let from = head.height.checked_sub(PACE_BLOCKS)?;
        let before = header_from(source, from).await?;
        let passed = head.mined_at.signed_duration_since(before.mined_at).num_milliseconds();
        let blocks = head.height.saturating_sub(before.height).max(1);
        let usual = block_every_ms(source.network());
        let every = u64::try_from(passed).ok().filter(|passed| *passed > 0)? / blocks;
        self.block_every_ms = Some(every.clamp(usual / 4, usual * 4));
        self.block_every_ms
    }
}

/// The block at `height`, or the next one if that height was skipped.
async fn header_from(source: &Source, height: u64) -> Option<BlockRef> {
    for at in height..=height + SKIPPED_MAX {
        if let Some(header) = source.header(at).await.ok()? {
            return Some(header);
        }
    }
    None
}

/// True if a watcher that was down for `blocks` could go on.
async fn keeps(source: &Source, head: &BlockRef, blocks: u64) -> Option<bool> {
    let height = head.height.checked_sub(blocks).filter(|height| *height > 0)?;
    // A pruned node keeps all headers.
    Some(if walks_for_balances(source.network()) {
        source.block(height).await.is_ok_and(|block| block.is_some())
    } else {
        header_from(source, height).await.is_some()
    })
}

impl Told {
    #[expect(clippy::disallowed_methods, reason = "our own clock is what a head is compared with")]
    fn finding(&self, name: String, settings: &ChainSettings, more: &More) -> Finding {
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
        if more.keeps_a_day == Some(false) {
            doubts.push("it serves no block of a day ago, so a watcher that was down that long cannot catch up");
        }
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
            .fact("block_read_ms", millis(self.block_took))
            .fact("block_every_ms", more.block_every_ms)
            .fact("keeps_a_day", more.keeps_a_day)
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

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
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
