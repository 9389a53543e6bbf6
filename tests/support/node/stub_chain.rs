//! A chain in memory, for stubs of nodes that cannot be run here: blocks of any kind of
//! transaction.

use chrono::{DateTime, TimeDelta, Utc};

/// In the year 2026. A block's time decides nothing.
const FIRST_BLOCK_AFTER: TimeDelta = TimeDelta::seconds(1_780_000_000);

/// One block. Its hash is random, because no reader of a stub may compute it.
#[derive(Debug, Clone)]
pub struct StubBlock<T> {
    pub height: u64,
    pub hash: [u8; 32],
    pub parent: [u8; 32],
    /// The height of the block with `parent`, which is lower by more than one if heights were
    /// skipped.
    pub parent_height: u64,
    pub mined_at: DateTime<Utc>,
    pub transactions: Vec<T>,
}

/// Blocks without gaps in their ancestry, and the transactions that wait for the next one.
#[derive(Debug)]
pub struct StubChain<T> {
    /// Lowest first, never empty.
    pub blocks: Vec<StubBlock<T>>,
    pub waiting: Vec<T>,
    /// Heights the next block leaves out.
    pub skip: u64,
}

impl<T: Clone> StubChain<T> {
    /// A chain of one empty block.
    pub fn new(first_height: u64, first_hash: [u8; 32]) -> Self {
        let first = StubBlock {
            height: first_height,
            hash: first_hash,
            parent: [0; 32],
            parent_height: first_height,
            mined_at: DateTime::UNIX_EPOCH + FIRST_BLOCK_AFTER,
            transactions: Vec::new(),
        };
        Self { blocks: vec![first], waiting: Vec::new(), skip: 0 }
    }

    pub fn head(&self) -> &StubBlock<T> {
        &self.blocks[self.blocks.len() - 1]
    }

    pub fn at(&self, height: u64) -> Option<&StubBlock<T>> {
        self.blocks.iter().find(|block| block.height == height)
    }

    /// Puts all waiting transactions into one new block.
    pub fn mine(&mut self) {
        let head = self.head();
        let block = StubBlock {
            height: head.height + 1 + self.skip,
            hash: rand::random(),
            parent: head.hash,
            parent_height: head.height,
            mined_at: head.mined_at + TimeDelta::seconds(1),
            transactions: std::mem::take(&mut self.waiting),
        };
        self.skip = 0;
        self.blocks.push(block);
    }

    /// Removes the newest `depth` blocks and returns the transactions of each, oldest first.
    pub fn roll_back(&mut self, depth: u64) -> Vec<Vec<T>> {
        let depth = usize::try_from(depth).unwrap();
        let removed = self.blocks.split_off(self.blocks.len() - depth);
        removed.into_iter().map(|block| block.transactions).collect()
    }
}
