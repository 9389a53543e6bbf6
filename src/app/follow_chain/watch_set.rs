//! The addresses a follower looks for, in memory.
//!
//! An address costs some 150 bytes for as long as the process lives: 56 in the table and its place among the free ones,
//! 34 to 68 for its text. A million of them are 150 MB in each process that watches, shared by no two networks.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::{
    asset::Family,
    storage::{
        PgConnection, StorageError,
        addresses::{self, ReadUpTo, WatchedAddress},
    },
};

/// Each load starts this much before the newest address known: a row becomes visible when its transaction commits,
/// which may be after a younger row. No transaction of ours lives longer.
const OVERLAP: TimeDelta = TimeDelta::seconds(45);
const PAGE: i64 = 5_000;

/// An address and whose it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watched {
    pub address_id: Uuid,
    owner: Owner,
}

/// The database has one owner at most.
#[derive(Debug, Clone, Copy)]
enum Owner {
    Nobody,
    Invoice(Uuid),
    PayoutOrder(Uuid),
}

impl Watched {
    fn new(address: &WatchedAddress) -> Self {
        let owner = match (address.invoice_id, address.payout_order_id) {
            (Some(invoice), _) => Owner::Invoice(invoice),
            (None, Some(order)) => Owner::PayoutOrder(order),
            (None, None) => Owner::Nobody,
        };
        Self { address_id: address.id, owner }
    }

    pub const fn invoice_id(&self) -> Option<Uuid> {
        if let Owner::Invoice(id) = self.owner { Some(id) } else { None }
    }

    pub const fn payout_order_id(&self) -> Option<Uuid> {
        if let Owner::PayoutOrder(id) = self.owner { Some(id) } else { None }
    }
}

/// All addresses ever given out that a network can name, by the spelling in which transfers name them.
///
/// Addresses stay watched for ever: late deposits are reported too.
pub(super) struct WatchSet {
    by_key: HashMap<Box<str>, Watched>,
    places: Vec<Place>,
}

/// How far the addresses of one family were read.
struct Place {
    family: Family,
    newest: DateTime<Utc>,
    read: Option<ReadUpTo>,
}

impl WatchSet {
    pub fn new(families: &'static [Family]) -> Self {
        let place =
            |family: &Family| Place { family: *family, newest: DateTime::UNIX_EPOCH, read: None };
        Self { by_key: HashMap::new(), places: families.iter().map(place).collect() }
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
        for place in &mut self.places {
            place.refresh(&mut self.by_key, connection).await?;
        }
        Ok(())
    }
}

impl Place {
    async fn refresh(
        &mut self,
        by_key: &mut HashMap<Box<str>, Watched>,
        connection: &mut PgConnection,
    ) -> Result<(), StorageError> {
        let mut from = (self.newest - OVERLAP, Uuid::nil());
        let mut newest = self.newest;
        let mut read = None;
        loop {
            let (page, up_to) =
                addresses::watched_since(connection, self.family, from, self.read, PAGE).await?;
            // Of several pages the first: what was under way then is on no page for sure.
            let read = *read.get_or_insert(up_to);
            let full = i64::try_from(page.len()).is_ok_and(|length| length == PAGE);
            for address in page {
                from = (address.created_at, address.id);
                newest = newest.max(address.created_at);
                let watched = Watched::new(&address);
                by_key.insert(address.match_key.into_boxed_str(), watched);
            }
            if !full {
                (self.newest, self.read) = (newest, Some(read));
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_takes_the_place_that_is_told_of_it() {
        assert_eq!(size_of::<(Box<str>, Watched)>(), 56);
    }
}
