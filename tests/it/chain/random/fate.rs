//! Random events of a chain and of its node.

use std::collections::{HashMap, HashSet};

use gateway::{
    chain::{Transfer, TransferAmount, TransferAsset},
    money::BaseUnits,
};
use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
use support::node::scripted_chain::{Script, Turn};

/// Maximum number of blocks that a node lags.
const LAG_MAX: usize = 6;

/// Properties of a chain.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    pub confirmations: u64,
    /// Maximum number of heights that a reorg removes.
    pub depth_max: u64,
    /// True if some heights have no block.
    pub skips: bool,
    /// True if even final blocks may be removed.
    pub is_deep: bool,
}

impl Rules {
    pub fn random(random: &mut StdRng) -> Self {
        let confirmations = random.random_range(1..=6);
        let is_deep = random.random_ratio(1, 4);
        let depth_max = if is_deep { 2 * confirmations + 2 } else { confirmations - 1 };
        Self { confirmations, depth_max, skips: random.random(), is_deep }
    }

    fn gap(self, random: &mut StdRng) -> u64 {
        if self.skips && random.random_ratio(1, 5) { random.random_range(1..=3) } else { 0 }
    }
}

/// Mines one block with some of the pending transfers; now and then the node lists a transfer
/// twice.
pub fn mine(script: &mut Script, random: &mut StdRng, rules: Rules) {
    let waiting = std::mem::take(&mut script.waiting);
    let (mut block, waiting): (Vec<_>, Vec<_>) =
        waiting.into_iter().partition(|_| random.random_ratio(7, 10));
    script.waiting = waiting;
    if let Some(first) = block.first().cloned().filter(|_| random.random_ratio(1, 8)) {
        block.push(first);
    }
    script.mine(rules.gap(random), block);
}

/// Differences of another branch from the old one.
#[derive(Debug, Default, Clone, Copy)]
pub struct Fork {
    /// Number of replaced blocks.
    pub depth: usize,
    /// Number of movements that differ there.
    pub changed: usize,
}

/// Builds another branch, which ends higher than the old one.
pub fn reorganise(script: &mut Script, random: &mut StdRng, rules: Rules) -> Fork {
    let tip = script.tip().header.height;
    let within = |depth: &usize| {
        let ancestor = script.canonical.len().checked_sub(1 + depth);
        ancestor.is_some_and(|at| tip - script.canonical[at].header.height <= rules.depth_max)
    };
    let deepest = (1..).take_while(within).last().unwrap_or(0);
    if deepest == 0 {
        return Fork::default();
    }
    let depth = random.random_range(1..=deepest);
    let hidden = script.hidden_in(depth);
    let mut blocks = script.roll_back(depth);
    let changed = act_otherwise(&mut blocks, random);
    match random.random_range(0..4) {
        // Each comes back at its height.
        0 => {}
        // All come back in the last block.
        1 => {
            let all: Vec<Transfer> = blocks.iter_mut().flat_map(std::mem::take).rev().collect();
            blocks.push(all);
        }
        // All become pending again, each once even if its block listed it twice.
        2 => {
            let mut seen = HashSet::new();
            let all = blocks.iter_mut().flat_map(std::mem::take);
            script.waiting.extend(all.filter(|transfer| seen.insert(transfer.key.clone())));
        }
        // Double-spend: their coins are spent otherwise.
        _ => blocks.iter_mut().for_each(Vec::clear),
    }
    for transfers in blocks {
        let gap = rules.gap(random);
        script.mine(gap, transfers);
    }
    while script.tip().header.height <= tip || random.random_ratio(1, 3) {
        script.mine(rules.gap(random), Vec::new());
    }
    // Some of the hidden amounts arrive again, above every block that was read.
    for (to, units) in hidden {
        if random.random_ratio(2, 3) {
            script.hide(&to, units);
        }
    }
    let new = script.canonical.len();
    script.shown = match random.random_range(0..6) {
        // It stays on the old branch for a while.
        0 => Some(script.former.clone()),
        // It has the new one in part.
        1 | 2 => {
            let shown = random.random_range(new.saturating_sub(depth + 1).max(1)..=new);
            Some(script.canonical[..shown].to_vec())
        }
        _ => None,
    };
    Fork { depth, changed }
}

/// A contract can act differently for the same transaction on another branch: pay another amount,
/// another recipient, or another asset. A movement that a block lists twice stays one movement.
/// Returns the number of changed ones.
fn act_otherwise(blocks: &mut [Vec<Transfer>], random: &mut StdRng) -> usize {
    let receivers: Vec<String> =
        blocks.iter().flatten().map(|transfer| transfer.to.clone()).collect();
    let mut changed: HashMap<String, Option<Transfer>> = HashMap::new();
    for transfer in blocks.iter_mut().flatten() {
        let fate = changed.entry(transfer.key.clone()).or_insert_with(|| {
            random.random_ratio(1, 8).then(|| otherwise(transfer, &receivers, random))
        });
        if let Some(other) = fate {
            transfer.clone_from(other);
        }
    }
    changed.values().flatten().count()
}

fn otherwise(transfer: &Transfer, receivers: &[String], random: &mut StdRng) -> Transfer {
    let mut other = transfer.clone();
    match random.random_range(0..4) {
        0 => other.asset = TransferAsset::Native,
        1 => other.to.clone_from(&receivers[random.random_range(0..receivers.len())]),
        _ => {
            let units = BaseUnits::new(random.random_range(0..8_000_000));
            other.amount = TransferAmount::Units(units);
        }
    }
    other
}

/// The node shows fewer blocks than there are, or an abandoned branch.
pub fn lag(script: &mut Script, random: &mut StdRng, rules: Rules) {
    if rules.is_deep && !script.former.is_empty() && random.random_ratio(1, 4) {
        script.shown = Some(script.former.clone());
        return;
    }
    let length = script.canonical.len();
    let shown = random.random_range(length.saturating_sub(LAG_MAX).max(1)..=length);
    script.shown = Some(script.canonical[..shown].to_vec());
}

/// A change between two calls of one look.
pub fn turn(random: &mut StdRng, rules: Rules) -> (u32, Turn) {
    let calls = random.random_range(0..10);
    if random.random_ratio(1, 3) {
        return (calls, Turn::Silence);
    }
    let mut later = StdRng::seed_from_u64(random.next_u64());
    let change = move |script: &mut Script| match later.random_range(0..4) {
        0 => mine(script, &mut later, rules),
        1 => drop(reorganise(script, &mut later, rules)),
        2 => lag(script, &mut later, rules),
        _ => script.shown = None,
    };
    (calls, Turn::Change(Box::new(change)))
}
