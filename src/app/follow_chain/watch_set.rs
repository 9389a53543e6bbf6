//! The addresses a follower looks for, in memory.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::{
    asset::Family,
    storage::{PgConnection, StorageError, addresses},
};

/// Each load starts this much before the newest address known: a row becomes visible when its transaction commits,
/// which may be after a younger row. No transaction of ours lives longer.
const OVERLAP: TimeDelta = TimeDelta::seconds(45);
const PAGE: i64 = 5_000;

/// Whose an address is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watched {
    pub address_id: Uuid,
    pub invoice_id: Option<Uuid>,
    pub payout_order_id: Option<Uuid>,
}

/// All addresses ever given out that a network can name, by the spelling in which transfers name them.
///
/// Addresses stay watched for ever: late deposits are reported too.
pub(super) struct WatchSet {
    families: &'static [Family],
    by_key: HashMap<String, Watched>,
    newest: DateTime<Utc>,
}

impl WatchSet {
    pub fn new(families: &'static [Family]) -> Self {
        Self { families, by_key: HashMap::new(), newest: DateTime::UNIX_EPOCH }
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn find(&self, match_key: &str) -> Option<Watched> {
        self.by_key.get(match_key).copied()
    }

    /// Loads what is new. Call it after a block was fetched and before it is matched, so that an address given out while
    /// the block was on its way is known.
    pub async fn refresh(&mut self, connection: &mut PgConnection) -> Result<(), StorageError> {
        let mut newest = self.newest;
        for family in self.families {
            newest = newest.max(self.refresh_family(connection, *family).await?);
        }
        self.newest = newest;
        Ok(())
    }

    async fn refresh_family(
        &mut self,
        connection: &mut PgConnection,
        family: Family,
    ) -> Result<DateTime<Utc>, StorageError> {
        let mut newest = self.newest;
        let mut since = self.newest - OVERLAP;
        let mut after = Uuid::nil();
        loop {
            let page = addresses::watched_since(connection, family, since, after, PAGE).await?;
            let full = i64::try_from(page.len()).is_ok_and(|length| length == PAGE);
            for address in page {
                since = address.created_at;
                after = address.id;
                newest = newest.max(address.created_at);
                let watched = Watched {
                    address_id: address.id,
                    invoice_id: address.invoice_id,
                    payout_order_id: address.payout_order_id,
                };
                self.by_key.insert(address.match_key, watched);
            }
            if !full {
                return Ok(newest);
            }
        }
    }
}
