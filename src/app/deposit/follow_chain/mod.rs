//! Following one network: blocks become deposits, and deposits become final.
//!
//! Every write compares and sets the cursor, so two followers of one network cannot credit twice:
//! the slower one's transaction is rolled back whole. A node that lags, lies or rewinds moves
//! nothing.

pub mod accept;
mod ahead;
mod balances;
mod begin;
pub mod import;
mod large_amount;
mod record;
mod replaced;
pub mod restart;
mod reverse;
mod rewind;
mod unknown;
mod waiting;
mod watch_set;

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use secrecy::SecretString;

use crate::app::Gateway;
use crate::{
    chain::{Agreement, Block, BlockRef, ChainError, ChainSource, Source, UnusableSource, Waiting},
    config::{ChainSettings, ChainSourceKind},
    storage::{StorageError, cursors, cursors::Cursor},
};
use ahead::{Pace, RunEnd};
use watch_set::WatchSet;

/// The interval at which a complete look that found nothing is noted. Deadlines wait for the note.
const NOTE_EVERY: Duration = Duration::from_millis(250);
/// The share of a look that reading the mempool may take; most of a look belongs to blocks.
const MEMPOOL_LIMIT: Duration = Duration::from_secs(40);
/// Blocks read in one look, so that a long catch-up still reports progress and notices a stop.
const BLOCKS_PER_LOOK: u32 = 200;

#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Another follower of this network moved the cursor.
    #[error("another watcher moved the cursor")]
    CursorMoved,
    /// An operator must decide: the chain changed deeper than we remember.
    #[error("the chain reorganised deeper than {depth} blocks")]
    ReorgTooDeep { depth: u64 },
}

/// The result of one look at a chain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Look {
    pub blocks: u32,
    pub rewound: u32,
    pub sightings: u32,
    pub finalized: u64,
    /// Set if the look reached a fresh chain tip, so that `watched_through` could move as far as
    /// its date.
    pub complete: bool,
}

/// A follower of the source that `settings` name; `None` if the network is switched off.
pub fn follower_of(
    gateway: &Gateway,
    settings: ChainSettings,
) -> Result<Option<Follower<Agreement<Source>>>, UnusableSource> {
    let source = source_of(gateway, &settings)?;
    Ok(source.map(|source| Follower::new(source, settings)))
}

/// The nodes that `settings` name, as one; `None` if the network is switched off.
pub fn source_of(
    gateway: &Gateway,
    settings: &ChainSettings,
) -> Result<Option<Agreement<Source>>, UnusableSource> {
    let network = settings.network;
    let source = match settings.source {
        ChainSourceKind::Off => return Ok(None),
        ChainSourceKind::Simulated => {
            Agreement::new(Source::simulated(network, gateway.db.clone()), Vec::new())
        }
        ChainSourceKind::Node => {
            let url = settings.rpc_url.as_ref().ok_or(UnusableSource::NoUrl(network))?;
            let witnesses = settings.witnesses.iter().map(|url| node_of(settings, url));
            Agreement::new(node_of(settings, url)?, witnesses.collect::<Result<_, _>>()?)
        }
    };
    Ok(Some(source))
}

/// One node, as its entry in `settings` describes it.
pub(crate) fn node_of(
    settings: &ChainSettings,
    url: &SecretString,
) -> Result<Source, UnusableSource> {
    let genesis = settings.genesis.as_deref();
    let source = Source::node(settings.network, url, settings.chain_id, genesis)?;
    match &settings.state_url {
        Some(url) => source.with_state(url),
        None => Ok(source),
    }
}

/// Follows one network through one source. One exists per network at a time; see `storage::locks`.
pub struct Follower<S> {
    source: S,
    settings: ChainSettings,
    watch: WatchSet,
    pace: Pace,
    /// The head at which balances were compared last.
    balances_read_at: Option<String>,
    /// Whether deposits may be waiting for a block, so that an empty mempool must withdraw them.
    may_have_waiting: bool,
    /// The block that the last look left the cursor on.
    left_on: Option<String>,
    /// The head that was reported as too old.
    told_old: Option<String>,
    noted: Option<Instant>,
    blocks_read: u64,
}

impl<S: ChainSource> Follower<S> {
    pub fn new(source: S, settings: ChainSettings) -> Self {
        let watch = WatchSet::new(settings.network.address_families());
        let pace = Pace::up_to(source.blocks_at_once());
        Self {
            source,
            settings,
            watch,
            pace,
            balances_read_at: None,
            may_have_waiting: true,
            left_on: None,
            told_old: None,
            noted: None,
            blocks_read: 0,
        }
    }

    pub const fn settings(&self) -> &ChainSettings {
        &self.settings
    }

    /// The number of watched addresses.
    pub fn watched(&self) -> usize {
        self.watch.len()
    }

    /// Blocks recorded since the beginning, those of looks that failed afterwards included.
    pub const fn blocks_read(&self) -> u64 {
        self.blocks_read
    }

    /// Reads the news of the chain.
    pub async fn look(&mut self, gateway: &Gateway) -> Result<Look, FollowError> {
        let looked = self.look_once(gateway).await;
        if !looked.as_ref().is_ok_and(|look| look.complete) {
            // Deadlines wait for the next complete look, which is noted at once.
            self.noted = None;
        }
        self.pace.learn(&looked);
        looked
    }

    async fn look_once(&mut self, gateway: &Gateway) -> Result<Look, FollowError> {
        let network = self.settings.network;
        let mut connection = gateway.db.connection().await?;
        let (cursor, looked_at) = cursors::load_with_time(&mut connection, network).await?;
        drop(connection);

        // Before the head: a transaction that stops waiting after this moment stands in a block up
        // to the head, or was dropped. Read afterwards, a payment mined in between would look as if
        // it had vanished. Blocks are read without it: no payer waits for a node that does not show
        // its mempool, or limits the rate of requests.
        let waiting = self.mempool().await;
        let head = self.source.head().await?;
        let mut cursor = match cursor {
            Some(cursor) => cursor,
            None => self.begin(gateway, &head).await?,
        };
        if self.left_on.as_ref() != Some(&cursor.hash) {
            // Somebody else moved it, and may have taken deposits out of their blocks.
            (self.balances_read_at, self.may_have_waiting) = (None, true);
        }
        let mut look = Look::default();
        let caught_up = self.catch_up(gateway, &mut cursor, &head, &mut look).await;
        self.left_on = Some(cursor.hash.clone());
        if !caught_up? {
            return Ok(look);
        }
        look.sightings += self.read_balances(gateway, &cursor, &head).await?;
        if look.rewound > 0 {
            // Transactions of the orphaned blocks may have gone back to the mempool since it was
            // read.
            return Ok(look);
        }
        let waiting = waiting?;
        look.sightings += self.record_mempool(gateway, &cursor, &waiting, looked_at).await?;
        if !self.is_fresh(&head, looked_at) {
            return Ok(look);
        }
        if self.noted.is_none_or(|noted| noted.elapsed() >= NOTE_EVERY) {
            let through = self.known_through(&cursor, &head, &waiting, looked_at).await?;
            let (at, known) = ((cursor.height, cursor.hash.as_str()), (looked_at, through));
            let mut connection = gateway.db.connection().await?;
            if !cursors::note_complete_look(&mut connection, network, at, known).await? {
                return Err(FollowError::CursorMoved);
            }
            self.noted = Some(Instant::now());
        }
        look.complete = true;
        Ok(look)
    }

    async fn mempool(&self) -> Result<Waiting, ChainError> {
        let reading = tokio::time::timeout(MEMPOOL_LIMIT, self.source.mempool());
        reading.await.unwrap_or_else(|_| {
            let (network, reason) = (self.settings.network, "its mempool took too long".to_owned());
            Err(ChainError::Unreachable { network, reason })
        })
    }

    /// Returns whether `head` can be the network's newest block. A node that lost its peers goes on
    /// reporting the last block it got, and a watcher that trusts it expires invoices that are
    /// paid. So nothing counts as seen then, and deadlines wait.
    fn is_fresh(&mut self, head: &BlockRef, looked_at: DateTime<Utc>) -> bool {
        if self.settings.is_fresh(head.mined_at, looked_at) {
            self.told_old = None;
            return true;
        }
        // Once per head; the lag that grows from now on has an alert.
        if self.told_old.as_ref() != Some(&head.hash) {
            let network = self.settings.network;
            let (height, mined_at) = (head.height, head.mined_at);
            let age = looked_at.signed_duration_since(mined_at).num_seconds();
            tracing::warn!(
                %network, height, %mined_at, age_seconds = age,
                "the newest block of {network}, {height}, is {age} seconds old: its node is stuck, or the network is"
            );
            self.told_old = Some(head.hash.clone());
        }
        false
    }

    /// Follows blocks until the cursor stands on `head`. `false` if there is more to read, or the
    /// node lags.
    async fn catch_up(
        &mut self,
        gateway: &Gateway,
        cursor: &mut Cursor,
        head: &BlockRef,
        look: &mut Look,
    ) -> Result<bool, FollowError> {
        self.pace.set_out(cursor.height, head);
        while cursor.hash != head.hash {
            if look.blocks + look.rewound >= BLOCKS_PER_LOOK {
                return Ok(false);
            }
            if head.height <= cursor.height {
                if self.is_ancestor_known(gateway, head).await? {
                    // The node knows less than we do: another node, or one that is catching up.
                    return Ok(false);
                }
                if !self.rewind(gateway, cursor, head).await? {
                    // The head is older than the node's present answer. The next look asks for
                    // another.
                    return Ok(false);
                }
                look.rewound += 1;
                continue;
            }
            let most = BLOCKS_PER_LOOK - look.blocks - look.rewound;
            let run = self.read_run(cursor.height, head, most).await;
            if !self.record_run(gateway, cursor, head, &run.blocks, look).await? {
                // The blocks read above belong to the branch that was left.
                continue;
            }
            match run.end {
                RunEnd::Whole => {}
                RunEnd::Missing => return Ok(false),
                RunEnd::Failed(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Records blocks one after another, each only upon its parent. `false` if the chain turned out
    /// to have another branch, and the cursor went back.
    async fn record_run(
        &mut self,
        gateway: &Gateway,
        cursor: &mut Cursor,
        head: &BlockRef,
        blocks: &[Block],
        look: &mut Look,
    ) -> Result<bool, FollowError> {
        for (place, block) in blocks.iter().enumerate() {
            if place > 0 && block.header.hash == cursor.hash {
                // The block after a gap is the answer for each height of the gap.
                continue;
            }
            if block.header.parent_hash != cursor.hash {
                if !self.rewind(gateway, cursor, head).await? {
                    let (network, height) = (self.settings.network, block.header.height);
                    let reason = format!("block {height} does not follow the block before it");
                    return Err(ChainError::Inconsistent { network, reason }.into());
                }
                look.rewound += 1;
                return Ok(false);
            }
            let (sightings, finalized) = self.record_block(gateway, cursor, block).await?;
            look.blocks += 1;
            self.blocks_read += 1;
            look.sightings += sightings;
            look.finalized += finalized;
        }
        Ok(true)
    }
}
