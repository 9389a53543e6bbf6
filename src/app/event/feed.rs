//! Reading the feed of events, by a cursor that neither skips nor repeats.

use uuid::Uuid;

use crate::app::Gateway;
use crate::{
    storage::{
        StorageError,
        events::feed::{self, EventRow, PLACED_MAX, Place},
    },
    webhook::event::EventKind,
};

/// Batches of positions that one request gives at most. What remains is left to the next.
const BATCHES_MAX: u32 = 10;

/// One page of the feed, oldest first.
#[derive(Debug)]
pub struct Feed {
    pub events: Vec<EventRow>,
    /// There is more now. Without it later events appear behind `next` all the same.
    pub has_more: bool,
    /// The `after` of the next page; `None` while there is no event at all.
    pub next: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// Not this merchant's, never any, or older than the feed keeps.
    #[error("the feed has no such event")]
    UnknownEvent,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A look at the feed as it stands.
struct Look {
    events: Vec<EventRow>,
    is_full: bool,
    /// Events waited for their positions when the page was read.
    is_any_unplaced: bool,
}

impl Gateway {
    /// Up to `limit` events of a merchant behind the event `after`, of one kind or of all.
    pub async fn read_feed(
        &self,
        merchant_id: Uuid,
        after: Option<&str>,
        kind: Option<EventKind>,
        limit: i64,
    ) -> Result<Feed, FeedError> {
        let mut batches = 0;
        loop {
            let look = self.look_at_feed(merchant_id, after, kind, limit).await?;
            let is_final = look.is_full || !look.is_any_unplaced || batches == BATCHES_MAX;
            if is_final {
                let last = look.events.last().map(|event| event.event_id.clone());
                return Ok(Feed {
                    has_more: look.is_full || look.is_any_unplaced,
                    next: last.or_else(|| after.map(ToOwned::to_owned)),
                    events: look.events,
                });
            }
            self.place_events(merchant_id).await?;
            batches += 1;
        }
    }

    async fn look_at_feed(
        &self,
        merchant_id: Uuid,
        after: Option<&str>,
        kind: Option<EventKind>,
        limit: i64,
    ) -> Result<Look, FeedError> {
        let mut connection = self.db.connection().await?;
        // Before the page: asked after it, another reader's batch could have come between, and the
        // page would count as the end of the feed without it.
        let is_any_unplaced = feed::is_any_unplaced(&mut connection, merchant_id).await?;
        let place = match after {
            None => Place::After(0),
            Some(id) => {
                let place = feed::place_of(&mut connection, merchant_id, id).await?;
                place.ok_or(FeedError::UnknownEvent)?
            }
        };
        let mut events = match place {
            Place::After(position) => {
                feed::page(&mut connection, merchant_id, position, kind, limit + 1).await?
            }
            Place::Unplaced => Vec::new(),
        };
        let shown = usize::try_from(limit).unwrap_or(usize::MAX);
        let is_full = events.len() > shown;
        events.truncate(shown);
        Ok(Look { events, is_full, is_any_unplaced })
    }

    /// Gives positions to at most [`PLACED_MAX`] of the merchant's events, and returns to how many.
    async fn place_events(&self, merchant_id: Uuid) -> Result<i64, StorageError> {
        let mut tx = self.db.begin().await?;
        feed::lock(&mut tx, merchant_id).await?;
        let placed = feed::place(&mut tx, merchant_id).await?;
        tx.commit().await?;
        debug_assert!(placed <= PLACED_MAX, "a batch is bounded");
        Ok(placed)
    }
}
