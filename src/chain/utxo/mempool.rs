//! The transactions that wait for a block, remembered between looks.
//!
//! A node lists the names of all waiting transactions at once but their contents one by one, so
//! each is asked for once. The bounds make the mempool a hint, never a promise: a transaction that
//! is not read here is found in its block. Only the node's list decides whether something still
//! waits.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use bitcoin::OutPoint;

use super::decode::{Output, Transaction};
use crate::chain::Transfer;

/// Transactions asked for in one look: at bitcoin's busiest there are some hundred new ones between
/// two looks.
pub(super) const READ_MAX: usize = 1_000;
/// Outputs remembered, about 100 bytes each. While there are this many, new transactions wait until
/// they are mined.
const OUTPUTS_MAX: usize = 150_000;
/// Inputs that take as much memory as an output.
const INPUTS_PER_OUTPUT: usize = 3;

/// The remembered part of a transaction.
#[derive(Default)]
struct Known {
    outputs: Box<[Output]>,
    spends: Arc<[OutPoint]>,
}

impl Known {
    fn size(&self) -> usize {
        self.outputs.len() + self.spends.len() / INPUTS_PER_OUTPUT
    }
}

/// The transactions that were read and still wait.
#[derive(Default)]
pub(super) struct Mempool {
    known: HashMap<String, Known>,
    /// All that is remembered, measured in outputs.
    outputs: usize,
    /// Listed in the last look already and not read yet.
    backlog: HashSet<String>,
}

impl Mempool {
    /// Forgets transactions that wait no more and returns those of `listed` to read now: those that
    /// came since the last look first.
    pub fn update(&mut self, listed: &[String]) -> Vec<String> {
        let waiting: HashSet<&str> = listed.iter().map(String::as_str).collect();
        let mut outputs = 0;
        self.known.retain(|txid, known| {
            let waits = waiting.contains(txid.as_str());
            outputs += if waits { known.size() } else { 0 };
            waits
        });
        self.outputs = outputs;
        let unread = listed.iter().filter(|txid| !self.known.contains_key(*txid));
        let (late, new): (Vec<&String>, Vec<&String>) =
            unread.partition(|txid| self.backlog.contains(*txid));
        let all: Vec<&String> = new.into_iter().chain(late).collect();
        let room = if self.outputs < OUTPUTS_MAX { READ_MAX } else { 0 };
        let wanted: Vec<String> = all.iter().take(room).map(|txid| (*txid).clone()).collect();
        self.backlog = all.into_iter().cloned().collect();
        wanted
    }

    pub fn insert(&mut self, transaction: Transaction) {
        self.backlog.remove(&transaction.txid);
        let Transaction { txid, spends, outputs, .. } = transaction;
        let known = Known { outputs: outputs.into_boxed_slice(), spends };
        self.outputs += known.size();
        self.known.insert(txid, known);
    }

    /// Remembers that nothing of a transaction can be read, so that it is not asked for again.
    pub fn insert_unreadable(&mut self, txid: String) {
        self.backlog.remove(&txid);
        self.known.insert(txid, Known::default());
    }

    /// Forgets that a transaction was wanted: it waits no more. If it is listed again, it is new.
    pub fn give_up(&mut self, txid: &str) {
        self.backlog.remove(txid);
    }

    /// Returns true if all transactions of the last list have been read.
    pub fn is_read_whole(&self) -> bool {
        self.backlog.is_empty()
    }

    /// Nothing that waits is a block's reward or a peg-out: those begin in a block.
    pub fn transfers(&self) -> Vec<Transfer> {
        let mut transfers = Vec::with_capacity(self.outputs);
        for (txid, known) in &self.known {
            let of_known = known.outputs.iter();
            transfers.extend(of_known.map(|output| output.transfer(txid, &known.spends, 1)));
        }
        transfers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::BaseUnits;

    fn names(range: std::ops::Range<usize>) -> Vec<String> {
        range.map(|n| format!("{n:064x}")).collect()
    }

    fn paying(txid: &str, outputs: u32) -> Transaction {
        let output = |n| Output { n, to: "address".into(), amount: BaseUnits::new(7) };
        Transaction::new(txid.to_owned(), (0..outputs).map(output).collect())
    }

    #[test]
    fn each_mempool_transaction_is_read_once_and_forgotten_when_it_leaves_the_mempool() {
        let mut mempool = Mempool::default();
        assert_eq!(mempool.update(&names(0..2)), names(0..2));
        mempool.insert(paying(&names(0..1)[0], 2));
        assert!(!mempool.is_read_whole());
        mempool.insert_unreadable(names(1..2).remove(0));
        assert!(mempool.is_read_whole());
        assert_eq!(mempool.transfers().len(), 2);
        assert_eq!(mempool.update(&names(0..3)), names(2..3));
        assert!(!mempool.is_read_whole());
        // The third was not to be had; it is wanted again.
        mempool.give_up(&names(2..3)[0]);
        assert!(mempool.is_read_whole());
        assert_eq!(mempool.update(&names(0..3)), names(2..3));
        assert_eq!(mempool.update(&names(1..2)), [""; 0]);
        assert_eq!(mempool.transfers(), []);
    }

    #[test]
    fn new_mempool_transactions_are_read_before_old_ones_within_a_limit_per_pass() {
        let mut mempool = Mempool::default();
        let first = mempool.update(&names(0..3 * READ_MAX));
        assert_eq!(first, names(0..READ_MAX));
        for txid in &first {
            mempool.insert(paying(txid, 1));
        }
        let all = names(0..3 * READ_MAX + 5);
        let second = mempool.update(&all);
        assert_eq!(second.len(), READ_MAX);
        assert_eq!(second[..5], all[3 * READ_MAX..]);
    }

    #[test]
    fn a_full_mempool_cache_reads_nothing_until_a_block_is_mined() {
        let mut mempool = Mempool::default();
        let listed = names(0..3);
        mempool.update(&listed);
        mempool.insert(paying(&listed[0], u32::try_from(OUTPUTS_MAX).unwrap()));
        assert_eq!(mempool.update(&listed), [""; 0]);
        assert_eq!(mempool.update(&listed[1..]), listed[1..]);
    }
}
