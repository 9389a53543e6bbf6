//! Contracts that received tokens and that the index does not list as holders.
//!
//! The first payment to an owner deploys the owner's holder contract, and an index may list that
//! contract a moment after it shows the block. A payment left out of a block is never read again,
//! so such a block is waited for while it is young. But anybody can deploy a contract that no token
//! knows and no index will ever list, so no contract is waited for twice.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use chrono::{DateTime, TimeDelta, Utc};
use tracing::warn;

use crate::asset::{Network, address::ton::TonAddress};

/// Far longer than a replica lags behind its index, and short compared with the deadline of an
/// invoice.
const WAIT: TimeDelta = TimeDelta::seconds(15);
/// Maximum number of remembered unknown contracts, so that an attacker who deploys thousands of
/// them cannot fill the memory.
const STRANGERS_MAX: usize = 10_000;

/// Contracts that are waited for, and those that were.
pub(super) struct Unlisted {
    wait: TimeDelta,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// Time of the newest block, which is the index's clock. Nothing is waited for before it is
    /// known: only a follower of the chain asks for the chain tip, and retries.
    newest_at: Option<DateTime<Utc>>,
    strangers: HashSet<TonAddress>,
}

impl Default for Unlisted {
    fn default() -> Self {
        Self::waiting(WAIT)
    }
}

impl Unlisted {
    pub fn waiting(wait: TimeDelta) -> Self {
        Self { wait, seen: Mutex::default() }
    }

    pub fn note_newest(&self, mined_at: DateTime<Utc>) {
        self.seen().newest_at = Some(mined_at);
    }

    /// True if a block of that time must be requested once more because of `holders`, which the
    /// index does not list.
    pub fn is_waited_for(&self, holders: &[TonAddress], mined_at: DateTime<Utc>) -> bool {
        let mut seen = self.seen();
        let is_young =
            seen.newest_at.is_some_and(|newest| newest.signed_duration_since(mined_at) < self.wait);
        if is_young && holders.iter().any(|holder| !seen.strangers.contains(holder)) {
            return true;
        }
        if seen.strangers.len() >= STRANGERS_MAX {
            seen.strangers.clear();
        }
        seen.strangers.extend(holders);
        false
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Logs that the tokens which these contracts received are left out. If one of them is real after
/// all, the reconciliation of balances will show it.
pub(super) fn leave_out(height: u64, holders: &[TonAddress]) {
    let network = Network::Ton;
    for holder in holders {
        let holder = holder.raw();
        warn!(
            %network, height, holder,
            "the index of {network} does not list {holder}: the tokens it took in block {height} are left out"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(number: u32) -> TonAddress {
        TonAddress::parse(&format!("0:{number:064x}")).unwrap()
    }

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn an_unlisted_token_wallet_delays_its_block_once_and_only_while_the_block_is_recent() {
        let unlisted = Unlisted::waiting(TimeDelta::seconds(15));
        let (one, other) = ([holder(1)], [holder(1), holder(2)]);
        assert!(!Unlisted::default().is_waited_for(&one, at(100)), "nobody follows the chain");
        for (newest, holders, mined, expected) in [
            (100, &one[..], 100, true),
            (114, &one, 100, true),
            (115, &one, 100, false),
            (115, &one, 115, false),
            (115, &other, 115, true),
            (130, &other, 115, false),
            (130, &other, 130, false),
            (130, &[], 130, false),
            (130, &[holder(3)], 131, true),
        ] {
            unlisted.note_newest(at(newest));
            let is_waited_for = unlisted.is_waited_for(holders, at(mined));
            assert_eq!(is_waited_for, expected, "{holders:?} of {mined} at {newest}");
        }
    }

    #[test]
    fn the_cache_of_unconfirmed_token_wallets_is_bounded() {
        let unlisted = Unlisted::default();
        for number in 0..=u32::try_from(STRANGERS_MAX).unwrap() {
            assert!(!unlisted.is_waited_for(&[holder(number)], at(0)));
        }
        assert_eq!(unlisted.seen().strangers.len(), 1);
    }
}
