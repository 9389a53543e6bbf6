//! Concurrent reading of blocks while catching up with the chain tip.
//!
//! Some networks make blocks faster than they can be read one after another over a slow connection:
//! TON every 0.4 s with three sequential requests each, Arbitrum every 0.25 s with two. A watcher
//! that was down would never catch up.

use futures_util::{StreamExt, stream};

use super::{FollowError, Follower};
use crate::chain::{Block, BlockRef, ChainError, ChainSource};

/// From this many blocks behind the chain tip, several blocks are read at once: more than any
/// network makes between two looks. In normal operation blocks are requested one by one.
const FAR_BEHIND: u64 = 16;

/// Blocks read in order, and the reason why the run ended.
pub(super) struct Run {
    pub blocks: Vec<Block>,
    pub end: RunEnd,
}

pub(super) enum RunEnd {
    /// All requested blocks were read.
    Whole,
    /// The next block does not exist yet.
    Missing,
    Failed(ChainError),
}

/// Number of blocks that are requested at once.
pub(super) struct Pace {
    at_once: u32,
    at_once_max: u32,
    is_far: bool,
}

impl Pace {
    pub const fn up_to(at_once_max: u32) -> Self {
        Self { at_once: at_once_max, at_once_max, is_far: false }
    }

    /// Starts a look: it is far behind `head` for its whole length or not at all.
    pub const fn set_out(&mut self, from: u64, head: &BlockRef) {
        self.is_far = head.height.saturating_sub(from) > FAR_BEHIND;
    }

    const fn at_once(&self) -> u32 {
        if self.is_far { self.at_once } else { 1 }
    }

    /// Halves the number when the node asks to slow down, and adds one after each successful look.
    pub const fn learn<T>(&mut self, looked: &Result<T, FollowError>) {
        self.at_once = match looked {
            Ok(_) if self.at_once < self.at_once_max => self.at_once + 1,
            Err(FollowError::Chain(ChainError::RateLimited { .. })) if self.at_once > 1 => {
                self.at_once / 2
            }
            Ok(_) | Err(_) => self.at_once,
        };
    }
}

impl<S: ChainSource> Follower<S> {
    /// The blocks above `height` up to `head`, in order and at most `most`: as many as are read at
    /// once.
    ///
    /// The first failed or missing block ends the run: blocks read above it are dropped, and
    /// requested again when their turn comes.
    pub(super) async fn read_run(&self, height: u64, head: &BlockRef, most: u32) -> Run {
        let at_once = self.pace.at_once().min(most).max(1);
        let last = head.height.min(height.saturating_add(u64::from(at_once)));
        let asked = stream::iter(height + 1..=last).map(|height| self.source.block(height));
        let mut answers = asked.buffered(usize::try_from(at_once).unwrap_or(1));
        let mut run = Run { blocks: Vec::new(), end: RunEnd::Whole };
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(Some(block)) => run.blocks.push(block),
                Ok(None) => {
                    run.end = RunEnd::Missing;
                    break;
                }
                Err(error) => {
                    run.end = RunEnd::Failed(error);
                    break;
                }
            }
        }
        run
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::asset::Network;

    fn head(height: u64) -> BlockRef {
        let (hash, parent_hash) = (String::new(), String::new());
        BlockRef { height, hash, parent_hash, mined_at: DateTime::UNIX_EPOCH }
    }

    #[test]
    fn only_a_watcher_far_behind_reads_several_blocks_at_once() {
        let mut pace = Pace::up_to(8);
        for (from, height, at_once) in
            [(100, 100, 1), (100, 116, 1), (100, 117, 8), (100, 50, 1), (0, 1_000, 8)]
        {
            pace.set_out(from, &head(height));
            assert_eq!(pace.at_once(), at_once, "{from} to {height}");
        }
    }

    #[test]
    fn a_rate_limited_node_is_asked_for_half_as_much_and_then_gradually_more() {
        let mut pace = Pace::up_to(8);
        pace.set_out(0, &head(1_000));
        let network = Network::Ton;
        let slower = || Err(ChainError::RateLimited { network }.into());
        let down = || Err(ChainError::Unreachable { network, reason: String::new() }.into());
        let paces: Vec<u32> = [
            slower(),
            slower(),
            down(),
            slower(),
            slower(),
            Ok(()),
            down(),
            Ok(()),
            Ok(()),
            slower(),
        ]
        .iter()
        .map(|looked| {
            pace.learn(looked);
            pace.at_once()
        })
        .collect();
        assert_eq!(paces, [4, 2, 2, 1, 1, 2, 2, 3, 4, 2]);
        (0..20).for_each(|_| pace.learn(&Ok(())));
        assert_eq!(pace.at_once(), 8);
    }
}
