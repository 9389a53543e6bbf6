//! Blocks above the newest final one: payments in them are seen early, and never credited from
//! here.
//!
//! Where only final blocks are read, a buyer who has paid would look at an unpaid invoice until his
//! block is final, most of a minute on TRON, and might pay twice. So payments in newer blocks are
//! reported like those of a mempool. They are credited from their final block; a payment that is in
//! none is withdrawn like one that left the mempool.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio::sync::Mutex;

use super::{Block, BlockRef, ChainError, Waiting};
use crate::asset::Network;

/// Blocks read at once beside the newest, so that a look costs a bounded number of calls.
const GAP_MAX: usize = 2;
/// More than are ever unfinal while a network is well. When it is not, the oldest are forgotten.
const KEPT_MAX: usize = 64;
/// The time limit of reading them: crediting must not wait for blocks that only show payments
/// earlier.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// The unfinal blocks of one node, as far as they were read.
#[derive(Default)]
pub(super) struct Unfinal {
    kept: Mutex<Kept>,
    /// They could not be read when they were asked for last; said once.
    is_hidden: AtomicBool,
}

#[derive(Default)]
struct Kept {
    /// Each is the parent of the next.
    blocks: VecDeque<Block>,
    /// The height of the highest block that was ever added.
    told_to: u64,
    /// The node has newer blocks that were not read yet. Payments of a branch that was left may
    /// stand in them.
    is_behind: bool,
    /// Height and hash of the newest final block that the node reported.
    last_final: Option<(u64, String)>,
}

impl Unfinal {
    /// The payments after `reading`, which adds the newest blocks and returns `false` if it leaves
    /// some for later. A node that does not show them, or takes too long, shows payments later, and
    /// none has vanished meanwhile.
    pub async fn waiting_after(
        &self,
        network: Network,
        reading: impl Future<Output = Result<bool, ChainError>> + Send,
    ) -> Waiting {
        let read = tokio::time::timeout(TIME_LIMIT, reading).await;
        self.kept.lock().await.is_behind = !matches!(read, Ok(Ok(true)));
        let waiting = self.waiting().await;
        let failed = match read {
            Ok(Ok(_)) => {
                self.is_hidden.store(false, Ordering::Relaxed);
                return waiting;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it took too long".to_owned(),
        };
        if !self.is_hidden.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %network,
                "the newest blocks of {network} cannot be read, so buyers see their payments later: {failed}"
            );
        }
        Waiting { tip: Self::nothing_known().tip, ..waiting }
    }

    /// Notes the newest final block. Its transfers were reported before this, so nothing seems to
    /// vanish on its way from the one to the other.
    pub async fn note_final(&self, head: &BlockRef) {
        let mut kept = self.kept.lock().await;
        if kept.last_final.as_ref().is_none_or(|(height, _)| *height <= head.height) {
            kept.last_final = Some((head.height, head.hash.clone()));
        }
    }

    /// True if the block needs no reading: it was read already, it is final, or no final block is
    /// known yet.
    pub async fn knows(&self, newest: &BlockRef) -> bool {
        let kept = self.kept.lock().await;
        kept.last_final.is_none()
            || kept.is_final(newest.height)
            || kept.blocks.back().is_some_and(|last| last.header.hash == newest.hash)
    }

    /// Adds the newest block, and with `read` those before it that were missed. Where too many were
    /// missed, all begins anew with it.
    pub async fn add<F>(
        &self,
        newest: Block,
        read: impl Fn(u64) -> F + Send,
    ) -> Result<(), ChainError>
    where
        F: Future<Output = Result<Option<Block>, ChainError>> + Send,
    {
        let mut kept = self.kept.lock().await;
        let mut missed = Vec::new();
        let mut lowest = newest.header.clone();
        while !kept.reaches(&lowest) && missed.len() < GAP_MAX {
            let Some(below) = lowest.height.checked_sub(1) else { break };
            let Some(block) = read(below).await? else { break };
            if block.header.hash != lowest.parent_hash {
                break;
            }
            lowest = block.header.clone();
            missed.push(block);
        }
        kept.cut_to(&lowest.parent_hash);
        missed.into_iter().rev().for_each(|block| kept.push(block));
        kept.push(newest);
        Ok(())
    }

    /// The height from which a reader who goes upward reads on; `None` while no final block is
    /// known, or while as many blocks are kept as there is room for.
    pub async fn next_height(&self) -> Option<u64> {
        let kept = self.kept.lock().await;
        let (last_final, _) = kept.last_final.as_ref()?;
        let newest = kept.blocks.back().map_or(0, |block| block.header.height);
        (kept.blocks.len() < KEPT_MAX).then_some(newest.max(*last_final) + 1)
    }

    /// Adds blocks upward, each the parent of the next. `false` if they do not follow those that
    /// are kept: the chain left their branch, and all begins anew above the newest final block.
    pub async fn append(&self, blocks: Vec<Block>) -> bool {
        let mut kept = self.kept.lock().await;
        for block in blocks {
            if kept.is_final(block.header.height) {
                continue;
            }
            if !kept.reaches(&block.header) {
                kept.blocks.clear();
                return false;
            }
            kept.cut_to(&block.header.parent_hash);
            kept.push(block);
        }
        true
    }

    /// The newest block that is kept.
    pub async fn newest(&self) -> Option<BlockRef> {
        self.kept.lock().await.blocks.back().map(|block| block.header.clone())
    }

    /// Removes the blocks up to `proven`, which is final, and returns those that are final with it:
    /// itself and its ancestors. Blocks of another branch are removed as well.
    pub async fn take_final(&self, proven: &BlockRef) -> Vec<Block> {
        let mut kept = self.kept.lock().await;
        let up_to = kept.blocks.partition_point(|block| block.header.height <= proven.height);
        let taken: Vec<Block> = kept.blocks.drain(..up_to).collect();
        match taken.last() {
            Some(last) if last.header.hash == proven.hash => taken,
            // What is left follows a block that is not final.
            Some(_) => {
                kept.blocks.clear();
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    /// The payments in the blocks that were read. While an unfinal block was not read, the tip lies
    /// above it, so that no payment counts as vanished.
    pub async fn waiting(&self) -> Waiting {
        let mut kept = self.kept.lock().await;
        if kept.last_final.is_none() {
            return Self::nothing_known();
        }
        while kept.blocks.front().is_some_and(|block| kept.is_final(block.header.height)) {
            kept.blocks.pop_front();
        }
        let transfers = kept.blocks.iter().flat_map(|block| &block.transfers).cloned();
        let mut waiting = Waiting::from(transfers.collect::<Vec<_>>());
        let is_whole = kept.blocks.front().is_none_or(|block| kept.follows_final(&block.header));
        let newest = kept.blocks.back().map(|block| (block.header.height, &block.header.hash));
        waiting.tip = match newest {
            _ if kept.is_behind => Some((kept.told_to, String::new())),
            Some((height, hash)) if !is_whole => Some((height, hash.clone())),
            _ => kept.last_final.clone(),
        };
        waiting
    }

    /// The reading when the newest block is not known: no payment is seen, and none has vanished.
    fn nothing_known() -> Waiting {
        Waiting { tip: Some((u64::MAX, String::new())), ..Waiting::default() }
    }
}

impl Kept {
    fn is_final(&self, height: u64) -> bool {
        self.last_final.as_ref().is_some_and(|(last, _)| height <= *last)
    }

    /// True if the parent of `block` is final. Where heights are skipped, only its hash shows that.
    fn follows_final(&self, block: &BlockRef) -> bool {
        self.is_final(block.height.saturating_sub(1))
            || self.last_final.as_ref().is_some_and(|(_, hash)| *hash == block.parent_hash)
    }

    fn push(&mut self, block: Block) {
        self.told_to = self.told_to.max(block.header.height);
        self.blocks.push_back(block);
        if self.blocks.len() > KEPT_MAX {
            self.blocks.pop_front();
        }
    }

    /// True if the parent of `block` was read or is final.
    fn reaches(&self, block: &BlockRef) -> bool {
        self.follows_final(block)
            || self.blocks.iter().any(|known| known.header.hash == block.parent_hash)
    }

    /// Removes blocks that are not ancestors of the block whose parent is `parent_hash`.
    fn cut_to(&mut self, parent_hash: &str) {
        let place = self.blocks.iter().position(|block| block.header.hash == parent_hash);
        self.blocks.truncate(place.map_or(0, |place| place + 1));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use chrono::DateTime;

    use super::*;
    use crate::{
        chain::{Transfer, TransferAmount, TransferAsset},
        money::BaseUnits,
    };

    /// Block `height` of a branch, which pays in a transaction of its own.
    fn block(height: u64, branch: &str, parent: &str) -> Block {
        let name = format!("{height}{branch}");
        let transfer = transfer(&name);
        let header = BlockRef {
            height,
            hash: name,
            parent_hash: format!("{}{parent}", height - 1),
            mined_at: DateTime::UNIX_EPOCH,
        };
        Block { header, transfers: vec![transfer] }
    }

    fn transfer(name: &str) -> Transfer {
        Transfer {
            key: format!("{name}:0"),
            tx_hash: format!("tx{name}"),
            to: "to".to_owned(),
            from: None,
            asset: TransferAsset::Native,
            amount: TransferAmount::Units(BaseUnits::new(1)),
            maturity: 1,
            spends: Arc::default(),
        }
    }

    async fn listed(unfinal: &Unfinal) -> Vec<String> {
        let mut listed: Vec<_> = unfinal.waiting().await.listed.into_iter().collect();
        listed.sort();
        listed
    }

    /// Adds the newest block of the branch `a`; returns how many others were asked for.
    async fn add(unfinal: &Unfinal, height: u64) -> usize {
        let asked = AtomicUsize::new(0);
        let read = |at| {
            asked.fetch_add(1, Ordering::Relaxed);
            async move { Ok(Some(block(at, "a", "a"))) }
        };
        unfinal.add(block(height, "a", "a"), read).await.unwrap();
        asked.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn transfers_in_unfinalised_blocks_are_listed_until_they_are_final() {
        let unfinal = Unfinal::default();
        // Before the first final block is reported, nothing is read and nothing has vanished.
        assert!(unfinal.knows(&block(12, "a", "a").header).await);
        assert_eq!(unfinal.waiting().await, Unfinal::nothing_known());
        unfinal.note_final(&block(10, "a", "a").header).await;
        assert!(unfinal.knows(&block(10, "a", "a").header).await);
        // A small gap is closed; final blocks are not asked for.
        assert_eq!(add(&unfinal, 12).await, 1);
        assert_eq!(add(&unfinal, 15).await, 2);
        assert!(unfinal.knows(&block(15, "a", "a").header).await);
        assert_eq!(listed(&unfinal).await, ["tx11a", "tx12a", "tx13a", "tx14a", "tx15a"]);
        assert_eq!(unfinal.waiting().await.tip, Some((10, "10a".to_owned())));
        unfinal.note_final(&block(13, "a", "a").header).await;
        assert_eq!(listed(&unfinal).await, ["tx14a", "tx15a"]);
        unfinal.note_final(&block(15, "a", "a").header).await;
        assert_eq!(listed(&unfinal).await, [""; 0]);
        assert_eq!(unfinal.waiting().await.tip, Some((15, "15a".to_owned())));
    }

    #[tokio::test]
    async fn no_payment_counts_as_vanished_while_a_block_is_missing() {
        let unfinal = Unfinal::default();
        unfinal.note_final(&block(10, "a", "a").header).await;
        add(&unfinal, 11).await;
        assert_eq!(add(&unfinal, 20).await, GAP_MAX);
        assert_eq!(listed(&unfinal).await, ["tx18a", "tx19a", "tx20a"]);
        assert_eq!(unfinal.waiting().await.tip, Some((20, "20a".to_owned())));
        // Once all that is missing is final, the list is whole.
        unfinal.note_final(&block(17, "a", "a").header).await;
        assert_eq!(unfinal.waiting().await.tip, Some((17, "17a".to_owned())));
    }

    #[tokio::test]
    async fn transactions_of_an_abandoned_branch_are_no_longer_listed() {
        let unfinal = Unfinal::default();
        unfinal.note_final(&block(10, "a", "a").header).await;
        for height in 11..=13 {
            add(&unfinal, height).await;
        }
        let other = |at| async move { Ok(Some(block(at, "b", if at == 12 { "a" } else { "b" }))) };
        unfinal.add(block(13, "b", "b"), other).await.unwrap();
        assert_eq!(listed(&unfinal).await, ["tx11a", "tx12b", "tx13b"]);
        assert_eq!(unfinal.waiting().await.tip, Some((10, "10a".to_owned())));
    }

    #[tokio::test]
    async fn the_cache_keeps_no_more_than_its_limit() {
        let unfinal = Unfinal::default();
        unfinal.note_final(&block(1, "a", "a").header).await;
        for height in 2..200 {
            add(&unfinal, height).await;
        }
        assert_eq!(unfinal.waiting().await.listed.len(), KEPT_MAX);
    }

    /// Adds blocks of the branch `a` upward.
    async fn append(unfinal: &Unfinal, heights: std::ops::RangeInclusive<u64>) -> bool {
        unfinal.append(heights.map(|height| block(height, "a", "a")).collect()).await
    }

    #[tokio::test]
    async fn a_reader_who_goes_upward_gets_back_what_is_proven_final() {
        let unfinal = Unfinal::default();
        assert_eq!(unfinal.next_height().await, None);
        unfinal.note_final(&block(10, "a", "a").header).await;
        assert_eq!(unfinal.next_height().await, Some(11));
        assert!(append(&unfinal, 9..=14).await);
        assert_eq!(unfinal.next_height().await, Some(15));
        assert_eq!(listed(&unfinal).await, ["tx11a", "tx12a", "tx13a", "tx14a"]);
        let taken = unfinal.take_final(&block(12, "a", "a").header).await;
        assert_eq!(taken.iter().map(|block| block.header.height).collect::<Vec<_>>(), [11, 12]);
        // Another block is final at a height that is kept: nothing that is kept is.
        assert!(unfinal.take_final(&block(13, "b", "a").header).await.is_empty());
        assert_eq!(unfinal.newest().await, None);
        // A block upon none that is kept is not added, and all begins anew.
        unfinal.note_final(&block(13, "b", "a").header).await;
        assert!(!append(&unfinal, 16..=16).await);
        assert_eq!(unfinal.next_height().await, Some(14));
        // While there is no room for more, no more is read.
        assert!(append(&unfinal, 14..=13 + u64::try_from(KEPT_MAX).unwrap()).await);
        assert_eq!(unfinal.next_height().await, None);
    }

    #[tokio::test]
    async fn nothing_vanishes_while_the_newest_blocks_are_not_read() {
        let unfinal = Unfinal::default();
        unfinal.note_final(&block(10, "a", "a").header).await;
        append(&unfinal, 11..=13).await;
        let refused = || ChainError::RateLimited { network: Network::Solana };
        for (read, tip) in [
            (Ok(true), (10, "10a".to_owned())),
            (Ok(false), (13, String::new())),
            (Err(refused()), (u64::MAX, String::new())),
        ] {
            let waiting = unfinal.waiting_after(Network::Solana, async { read }).await;
            assert_eq!((waiting.listed.len(), waiting.tip), (3, Some(tip)));
        }
    }
}
