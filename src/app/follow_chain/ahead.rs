//! Reading several blocks at once, on a long way to the head.
//!
//! Some networks make blocks faster than they can be read one after another over a long line: TON every 0.4 s with three
//! answers waited for each, Arbitrum every 0.25 s with two. A watcher that was away would never catch up.

use futures_util::{StreamExt, stream};

use super::{FollowError, Follower};
use crate::chain::{Block, BlockRef, ChainError, ChainSource};

/// So far behind blocks are read several at once: more than any network makes between two looks. In calm nodes are
/// asked no faster than one by one.
const FAR_BEHIND: u64 = 16;

/// Blocks that were read in order, and what ended them.
pub(super) struct Run {
    pub blocks: Vec<Block>,
    pub end: RunEnd,
}

pub(super) enum RunEnd {
    /// All that were asked for are there.
    Whole,
    /// The next one is not there yet.
    Missing,
    Failed(ChainError),
}

/// How many blocks are asked for at once.
pub(super) struct Pace {
    at_once: u32,
    at_once_max: u32,
    is_far: bool,
}

impl Pace {
    pub const fn up_to(at_once_max: u32) -> Self {
        Self { at_once: at_once_max, at_once_max, is_far: false }
    }

    /// A look begins: on its way to `head` it is far behind throughout or not at all.
    pub const fn set_out(&mut self, from: u64, head: &BlockRef) {
        self.is_far = head.height.saturating_sub(from) > FAR_BEHIND;
    }

    const fn at_once(&self) -> u32 {
        if self.is_far { self.at_once } else { 1 }
    }

    /// Half as many once the node asks to slow down, one more after each look that it bore.
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
    /// The blocks above `height` and up to `head`, in order and no more than `most`: as many as are read at once.
    ///
    /// The first that fails or is missing ends the run: what was read above it is dropped, and asked for again when its turn comes.
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
    fn only_who_is_far_behind_reads_several_at_once() {
        let mut pace = Pace::up_to(8);
        for (from, height, at_once) in
            [(100, 100, 1), (100, 116, 1), (100, 117, 8), (100, 50, 1), (0, 1_000, 8)]
        {
            pace.set_out(from, &head(height));
            assert_eq!(pace.at_once(), at_once, "{from} to {height}");
        }
    }

    #[test]
    fn a_node_that_asks_to_slow_down_is_asked_for_half_and_then_for_more_one_by_one() {
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
