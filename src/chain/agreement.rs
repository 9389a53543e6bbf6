//! Several nodes of one network, believed where two of them report the same.
//!
//! A node can lag, forget, rewind or be somebody else's. So the report of one node alone moves no
//! cursor and credits nothing: head, headers, whole blocks and balances count once two nodes have
//! reported them alike. One node that is silent or wrong among three costs nothing; among two, the
//! network waits, loudly. Transfers of tokens outside the catalogue that one node alone reports are
//! left out instead.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::{StreamExt, stream::FuturesUnordered};
use tracing::warn;

use super::{
    Block, BlockRef, ChainError, ChainSource, Held, Located, TokenFacts, Transfer, TransferAsset,
    Waiting,
};
use crate::{
    asset::{Network, catalogue::Catalogue},
    money::BaseUnits,
};

/// The number of nodes that must report the same, where there are several.
const NEEDED: usize = 2;
/// The time that the heads of further nodes are waited for.
const STRAGGLER_LIMIT: Duration = Duration::from_secs(1);
/// A node is behind if its head is so much older than another's: more than nodes of one network
/// ever are apart, except for the moment after a block that was long in coming.
const BEHIND_AFTER: TimeDelta = TimeDelta::seconds(60);

/// All nodes asked at once.
macro_rules! ask {
    ($self:expr, $node:ident => $call:expr) => {
        $self.nodes.iter().enumerate().map(|(n, $node)| async move { (n, $call) }).collect()
    };
}

/// The nodes of one network.
pub struct Agreement<S> {
    nodes: Vec<S>,
    needed: usize,
}

impl<S: ChainSource> Agreement<S> {
    /// One node is believed alone; with `witnesses`, two must agree.
    pub fn new(first: S, witnesses: Vec<S>) -> Self {
        let needed = if witnesses.is_empty() { 1 } else { NEEDED };
        Self { nodes: std::iter::once(first).chain(witnesses).collect(), needed }
    }

    /// The first answer that enough nodes gave alike, without waiting for the others.
    async fn settle<T, F>(
        &self,
        what: &str,
        answers: FuturesUnordered<F>,
        alike: fn(&T, &T) -> bool,
    ) -> Result<T, ChainError>
    where
        T: Send + Sync,
        F: Future<Output = (usize, Result<T, ChainError>)> + Send,
    {
        self.settle_all(what, answers, alike).await.map(|((_, answer), _)| answer)
    }

    /// The same, with the other answers that are like it, and whose each is.
    async fn settle_all<T, F>(
        &self,
        what: &str,
        mut answers: FuturesUnordered<F>,
        alike: impl Fn(&T, &T) -> bool + Send,
    ) -> Result<((usize, T), Vec<(usize, T)>), ChainError>
    where
        T: Send + Sync,
        F: Future<Output = (usize, Result<T, ChainError>)> + Send,
    {
        let (mut told, mut failed): (Vec<(usize, T)>, Vec<ChainError>) = (Vec::new(), Vec::new());
        while let Some((node, answer)) = answers.next().await {
            match answer {
                Ok(answer) => {
                    let votes = told.iter().filter(|(_, other)| alike(other, &answer)).count() + 1;
                    if votes >= self.needed {
                        let (same, differ): (Vec<_>, Vec<_>) =
                            told.into_iter().partition(|(_, other)| alike(other, &answer));
                        differ.iter().for_each(|(other, _)| self.note(*other, "differs", what));
                        return Ok(((node, answer), same));
                    }
                    told.push((node, answer));
                }
                Err(error) => {
                    self.note_failed(node, &error);
                    failed.push(error);
                }
            }
        }
        if told.len() >= self.needed {
            told.iter().for_each(|(node, _)| self.note(*node, "differs", what));
            return Err(self.inconsistent(format!("its nodes report different data for {what}")));
        }
        let nobody = || self.inconsistent(format!("too few of its nodes report {what}"));
        Err(failed.into_iter().next().unwrap_or_else(nobody))
    }

    /// The heads of all nodes that report theirs in time, and the errors of the others.
    async fn heads(&self) -> (Vec<(usize, BlockRef)>, Vec<ChainError>) {
        let mut answers: FuturesUnordered<_> = ask!(self, node => node.head().await);
        let (mut heads, mut failed) = (Vec::new(), Vec::new());
        let mut unheard: HashSet<usize> = (0..self.nodes.len()).collect();
        loop {
            // Enough nodes have answered; one that hangs must not hold them up, one that is stuck
            // must not speak for all.
            let next = if heads.len() < self.needed {
                answers.next().await
            } else {
                let more = tokio::time::timeout(STRAGGLER_LIMIT, answers.next()).await;
                more.unwrap_or(None)
            };
            let Some((node, answer)) = next else { break };
            unheard.remove(&node);
            match answer {
                Ok(head) => heads.push((node, head)),
                Err(error) => {
                    self.note_failed(node, &error);
                    failed.push(error);
                }
            }
        }
        unheard
            .iter()
            .for_each(|node| self.note(*node, "silent", "its head was not reported in time"));
        for (node, head) in behind(&heads) {
            let what = format!("it stands at block {} of {}", head.height, head.mined_at);
            self.note(*node, "behind", &what);
        }
        (heads, failed)
    }

    fn inconsistent(&self, reason: String) -> ChainError {
        ChainError::Inconsistent { network: self.network(), reason }
    }

    /// One node alone has no witness to its faults, and no need for one.
    fn note_failed(&self, node: usize, error: &ChainError) {
        if self.needed > 1 {
            self.note(node, "failed", &error.to_string());
        }
    }

    /// Tells of a node by its place in the configuration; its address carries an access key.
    fn note(&self, node: usize, fault: &'static str, what: &str) {
        let network = self.network();
        let labels = [
            ("network", network.name().to_owned()),
            ("node", node.to_string()),
            ("fault", fault.to_owned()),
        ];
        metrics::counter!("chain_node_faults_total", &labels).increment(1);
        warn!(%network, node, fault, "node {node} of {network}: {fault}: {what}");
    }

    /// Removes from `block`, as `node` reported it, the transfers on which the nodes that agree on
    /// all else differ.
    fn keep_common(&self, node: usize, block: &mut Block, others: &[(usize, Option<Block>)]) {
        let network = self.network();
        for (other, told) in others {
            let Some(told) = told else { continue };
            let (ours, theirs) = (alone(network, block, told), alone(network, told, block));
            for (node, alone) in [(node, &ours), (*other, &theirs)] {
                if !alone.is_empty() {
                    let (count, height) = (alone.len(), block.header.height);
                    let what = format!("{count} transfers of unknown tokens in block {height}");
                    self.note(node, "alone", &what);
                }
            }
            block.transfers.retain(|transfer| !ours.contains(&transfer.key));
        }
    }

    /// The header at `height` as a node reports it, whose own head is `head`.
    async fn header_of(
        &self,
        node: usize,
        head: &BlockRef,
        height: u64,
    ) -> Result<Option<BlockRef>, ChainError> {
        if head.height == height {
            return Ok(Some(head.clone()));
        }
        self.nodes[node].header(height).await
    }
}

/// Those whose node goes on without getting the newest blocks. It may be right, and the highest
/// head a lie.
fn behind(heads: &[(usize, BlockRef)]) -> Vec<&(usize, BlockRef)> {
    let Some((_, highest)) = heads.iter().max_by_key(|(_, head)| head.height) else {
        return Vec::new();
    };
    let is_behind = |head: &BlockRef| {
        let age = highest.mined_at.signed_duration_since(head.mined_at);
        head.height < highest.height && age > BEHIND_AFTER
    };
    heads.iter().filter(|(_, head)| is_behind(head)).collect()
}

/// Returns whether anything may be credited for it: anybody can make a contract that each node
/// reads in its own way, and must not stop a network by it.
fn is_known(network: Network, transfer: &Transfer) -> bool {
    match &transfer.asset {
        TransferAsset::Native => true,
        TransferAsset::Contract(contract) => {
            Catalogue::get().by_contract(network, contract).is_some()
        }
    }
}

/// Returns whether two answers have the same header and the same creditable transfers. The order of
/// transfers is the node's affair.
fn same_block(network: Network, one: &Option<Block>, other: &Option<Block>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return one.is_none() && other.is_none() };
    let sorted = |block: &Block| {
        let known = block.transfers.iter().filter(|transfer| is_known(network, transfer));
        let mut transfers: Vec<Transfer> = known.cloned().collect();
        transfers.sort_by(|a, b| a.key.cmp(&b.key));
        transfers
    };
    one.header == other.header && (one.transfers == other.transfers || sorted(one) == sorted(other))
}

/// The keys of those transfers of unknown tokens in `one` that `other` does not report alike.
fn alone(network: Network, one: &Block, other: &Block) -> HashSet<String> {
    if one.transfers == other.transfers {
        return HashSet::new();
    }
    let theirs: HashMap<&str, &Transfer> =
        other.transfers.iter().map(|transfer| (transfer.key.as_str(), transfer)).collect();
    let is_alone = |transfer: &&Transfer| {
        !is_known(network, transfer) && theirs.get(transfer.key.as_str()) != Some(transfer)
    };
    one.transfers.iter().filter(is_alone).map(|transfer| transfer.key.clone()).collect()
}

/// Nodes may stand at different blocks and hold the same; each answer is bounded by its own.
fn same_holdings(one: &Option<Held>, other: &Option<Held>) -> bool {
    let by_address = |held: &Option<Held>| held.as_ref().map(|held| held.by_address.clone());
    by_address(one) == by_address(other)
}

impl<S: ChainSource> ChainSource for Agreement<S> {
    fn network(&self) -> Network {
        self.nodes[0].network()
    }

    fn blocks_at_once(&self) -> u32 {
        self.nodes.iter().map(ChainSource::blocks_at_once).min().unwrap_or(1)
    }

    /// The highest block that enough nodes have reached and report alike.
    async fn head(&self) -> Result<BlockRef, ChainError> {
        let (mut heads, failed) = self.heads().await;
        let Some(last) = self.needed.checked_sub(1).filter(|last| *last < heads.len()) else {
            let nobody = || self.inconsistent("too few of its nodes report their head".to_owned());
            return Err(failed.into_iter().next().unwrap_or_else(nobody));
        };
        heads.sort_by_key(|(_, head)| std::cmp::Reverse(head.height));
        let height = heads[last].1.height;
        let there = heads.iter().filter(|(_, head)| head.height >= height);
        let headers = there
            .map(|(node, head)| async move { (*node, self.header_of(*node, head, height).await) });
        let what = format!("block {height}");
        let head = self.settle(&what, headers.collect(), |one, other| one == other).await?;
        head.ok_or_else(|| self.inconsistent(format!("{what} vanished between two calls")))
    }

    async fn header(&self, height: u64) -> Result<Option<BlockRef>, ChainError> {
        let answers = ask!(self, node => node.header(height).await);
        self.settle(&format!("the header of block {height}"), answers, |one, other| one == other)
            .await
    }

    async fn block(&self, height: u64) -> Result<Option<Block>, ChainError> {
        let network = self.network();
        let answers = ask!(self, node => node.block(height).await);
        let what = format!("the content of block {height}");
        let alike = |one: &Option<Block>, other: &Option<Block>| same_block(network, one, other);
        let ((node, block), same) = self.settle_all(&what, answers, alike).await?;
        let Some(mut block) = block else { return Ok(None) };
        self.keep_common(node, &mut block, &same);
        Ok(Some(block))
    }

    /// The mempool as one node sees it: it credits nothing, and no two nodes see the same. Its tip
    /// may be above our head.
    async fn mempool(&self) -> Result<Waiting, ChainError> {
        let mut failed = None;
        for node in &self.nodes {
            match node.mempool().await {
                Ok(waiting) => return Ok(waiting),
                Err(error) => failed = Some(error),
            }
        }
        let nobody = || self.inconsistent("none of its nodes reports its mempool".to_owned());
        Err(failed.unwrap_or_else(nobody))
    }

    async fn dated_through(&self, head: &BlockRef) -> Result<DateTime<Utc>, ChainError> {
        let answers = ask!(self, node => node.dated_through(head).await);
        let what = format!("how blocks above {} can be dated", head.height);
        self.settle(&what, answers, |one, other| one == other).await
    }

    async fn native_balances(
        &self,
        at: &BlockRef,
        addresses: &[String],
    ) -> Result<Option<Vec<BaseUnits>>, ChainError> {
        let answers = ask!(self, node => node.native_balances(at, addresses).await);
        let what = format!("balances at block {}", at.height);
        self.settle(&what, answers, |one, other| one == other).await
    }

    /// The first node that knows it: the content of its block is then asked of all.
    async fn locate(&self, tx_hash: &str) -> Result<Located, ChainError> {
        let mut told = None;
        for node in &self.nodes {
            match (node.locate(tx_hash).await, &told) {
                (Ok(found @ Located::Mined { .. }), _) => return Ok(found),
                (Ok(Located::Waiting), _) => told = Some(Ok(Located::Waiting)),
                (answer, None | Some(Err(_))) => told = Some(answer),
                (_, Some(Ok(_))) => {}
            }
        }
        told.unwrap_or(Ok(Located::Unknown))
    }

    async fn holdings(
        &self,
        at: &BlockRef,
        addresses: &[String],
        assets: &[TransferAsset],
    ) -> Result<Option<Held>, ChainError> {
        let answers = ask!(self, node => node.holdings(at, addresses, assets).await);
        let what = format!("holdings at block {}", at.height);
        self.settle(&what, answers, same_holdings).await
    }

    async fn token(&self, contract: &str) -> Result<Option<TokenFacts>, ChainError> {
        let answers = ask!(self, node => node.token(contract).await);
        self.settle("a token's contract", answers, |one, other| one == other).await
    }
}

#[cfg(test)]
#[path = "agreement_tests.rs"]
mod tests;
