//! Addresses that a follower looks for, in memory.
//!
//! An address costs some 150 bytes for as long as the process lives: 56 in the table and its place
//! among the free ones, 34 to 68 for its text. A million of them are 150 MB in each process that
//! watches, and are not shared between networks.

use std::{collections::HashMap, time::Instant};

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::{
    asset::Family,
    storage::{
        PgConnection, StorageError,
        addresses::{self, Outlook, ReadUpTo, WatchedAddress},
    },
};

/// A row's time is the start of its transaction, which gets its number later, when it writes. None
/// of our statements takes longer than this.
const OVERLAP: TimeDelta = TimeDelta::seconds(45);
const PAGE: i64 = 5_000;
/// If the database's clock advanced so much less than ours, it was set back.
const CLOCK_SLACK: TimeDelta = TimeDelta::seconds(10);

/// An address and its owner.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watched {
    pub address_id: Uuid,
    owner: Owner,
}

/// The database allows at most one owner.
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

/// All addresses ever given out that a network can name, keyed by their spelling in transfers.
///
/// Addresses stay watched for ever: late deposits are reported too.
pub(super) struct WatchSet {
    by_key: HashMap<Box<str>, Watched>,
    places: Vec<Place>,
}

/// The position up to which the addresses of one family were read.
struct Place {
    family: Family,
    /// Addresses given out before this, less [`OVERLAP`], are known.
    known_to: DateTime<Utc>,
    /// The look whose transactions must end first: once all have ended, all addresses given out
    /// before it are known.
    look: Option<Look>,
    read: Option<ReadUpTo>,
}

struct Look {
    at: DateTime<Utc>,
    next: i64,
    /// The same moment on the monotonic clock.
    moment: Instant,
}

impl WatchSet {
    pub fn new(families: &'static [Family]) -> Self {
        let places = families.iter().copied().map(Place::new).collect();
        Self { by_key: HashMap::new(), places }
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn find(&self, match_key: &str) -> Option<Watched> {
        self.by_key.get(match_key).copied()
    }

    /// Loads new addresses. Call it after a block was fetched and before it is matched, so that an
    /// address given out during the fetch is known.
    pub async fn refresh(&mut self, connection: &mut PgConnection) -> Result<(), StorageError> {
        for place in &mut self.places {
            place.refresh(&mut self.by_key, connection).await?;
        }
        Ok(())
    }
}

impl Place {
    const fn new(family: Family) -> Self {
        Self { family, known_to: DateTime::UNIX_EPOCH, look: None, read: None }
    }

    async fn refresh(
        &mut self,
        by_key: &mut HashMap<Box<str>, Watched>,
        connection: &mut PgConnection,
    ) -> Result<(), StorageError> {
        let (outlook, moment) =
            (addresses::outlook(connection, self.family).await?, Instant::now());
        if self.clock_was_set_back(&outlook, moment) {
            // After that, new addresses may have old times.
            (self.known_to, self.look) = (DateTime::UNIX_EPOCH, None);
        }
        let since = self.known_to - OVERLAP;
        if outlook.youngest.is_some_and(|youngest| youngest >= since) {
            self.read(since, by_key, connection).await?;
        }
        self.advance(&outlook, moment);
        Ok(())
    }

    async fn read(
        &mut self,
        since: DateTime<Utc>,
        by_key: &mut HashMap<Box<str>, Watched>,
        connection: &mut PgConnection,
    ) -> Result<(), StorageError> {
        let mut from = (since, Uuid::nil());
        let mut read = None;
        loop {
            let (page, up_to) =
                addresses::watched_since(connection, self.family, from, self.read, PAGE).await?;
            // Of several pages the first read counts: of the transactions open at that time, no
            // page is certain to have rows.
            let read = *read.get_or_insert(up_to);
            let full = i64::try_from(page.len()).is_ok_and(|length| length == PAGE);
            for address in page {
                from = (address.created_at, address.id);
                let watched = Watched::new(&address);
                by_key.insert(address.match_key.into_boxed_str(), watched);
            }
            if !full {
                self.read = Some(read);
                return Ok(());
            }
        }
    }

    fn clock_was_set_back(&self, outlook: &Outlook, moment: Instant) -> bool {
        self.look.as_ref().is_some_and(|look| {
            let passed = TimeDelta::from_std(moment - look.moment).unwrap_or(TimeDelta::MAX);
            outlook.now - look.at + CLOCK_SLACK < passed
        })
    }

    /// Advances the place, after all addresses that `outlook` reported were read.
    ///
    /// An address may become visible long after it was given out, because a commit that waits for a
    /// standby has no time limit. Time alone therefore proves nothing: the place advances once
    /// every transaction that had a number has ended.
    fn advance(&mut self, outlook: &Outlook, moment: Instant) {
        if let Some(look) = &self.look {
            if outlook.lowest < look.next {
                return;
            }
            self.known_to = look.at;
        }
        self.look = Some(Look { at: outlook.now, next: outlook.next, moment });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_watched_address_takes_the_memory_that_its_documentation_states() {
        assert_eq!(size_of::<(Box<str>, Watched)>(), 56);
    }
    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_000_000 + seconds, 0).unwrap()
    }

    fn outlook(seconds: i64, lowest: i64, next: i64) -> Outlook {
        Outlook { now: at(seconds), lowest, next, youngest: None }
    }

    #[test]
    fn the_watch_set_position_advances_once_older_transactions_have_ended() {
        let (mut place, moment) = (Place::new(Family::Evm), Instant::now());
        place.advance(&outlook(0, 100, 105), moment);
        assert_eq!(place.known_to, DateTime::UNIX_EPOCH);
        // A transaction that began before the first look hangs for an hour.
        place.advance(&outlook(3_600, 104, 900), moment);
        assert_eq!(place.known_to, DateTime::UNIX_EPOCH);
        place.advance(&outlook(3_601, 905, 905), moment);
        assert_eq!(place.known_to, at(0));
        place.advance(&outlook(3_602, 905, 905), moment);
        assert_eq!(place.known_to, at(3_601));
    }

    #[test]
    fn a_clock_that_was_set_back_is_noticed_even_when_it_is_ahead_of_the_last_check() {
        let (mut place, moment) = (Place::new(Family::Evm), Instant::now());
        place.advance(&outlook(0, 100, 100), moment);
        let later = moment + Duration::from_secs(600);
        let back = |seconds| place.clock_was_set_back(&outlook(seconds, 100, 100), later);
        assert!(back(-180) && back(420));
        assert!(!back(595) && !back(605) && !back(4_000));
    }
}
