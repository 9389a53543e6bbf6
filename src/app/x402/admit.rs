//! Admission of requests to verify and to settle.
//!
//! A seller of API calls asks twice for each sale, so the budget of 60 requests a minute would be
//! 30 sales. These requests have a budget of their own in each process, and a key is looked up
//! once in some seconds; a revoked key and a suspension take effect after that.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use uuid::Uuid;

use crate::{
    app::{Gateway, merchant::admit::NotAdmitted},
    merchant::ApiKey,
    storage::x402 as rows,
};

const KEPT_FOR: Duration = Duration::from_secs(3);
const SECOND: Duration = Duration::from_secs(1);
/// Above this, keys that were not used for a while are forgotten.
const KEPT_MAX: usize = 10_000;

#[derive(Default)]
pub(super) struct Callers(Mutex<HashMap<[u8; 32], Known>>);

#[derive(Clone, Copy)]
struct Known {
    merchant_id: Uuid,
    is_suspended: bool,
    asked: Instant,
    /// The second that is counted, and its requests.
    second: Instant,
    taken: u32,
}

impl Callers {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<[u8; 32], Known>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes one request of a known key; `None` for a key that must be looked up.
    fn take(&self, key: &[u8; 32], most: u32) -> Option<Result<Uuid, NotAdmitted>> {
        self.with(|known| {
            let caller = known.get_mut(key).filter(|one| one.asked.elapsed() < KEPT_FOR)?;
            if caller.is_suspended {
                return Some(Err(NotAdmitted::Suspended));
            }
            if caller.second.elapsed() >= SECOND {
                (caller.second, caller.taken) = (Instant::now(), 0);
            }
            if caller.taken >= most {
                return Some(Err(NotAdmitted::TooManyRequests));
            }
            caller.taken += 1;
            Some(Ok(caller.merchant_id))
        })
    }

    fn note(&self, key: [u8; 32], merchant_id: Uuid, is_suspended: bool) {
        let now = Instant::now();
        self.with(|known| {
            if known.len() >= KEPT_MAX {
                known.retain(|_, one| one.asked.elapsed() < KEPT_FOR);
            }
            let fresh = Known { merchant_id, is_suspended, asked: now, second: now, taken: 0 };
            let caller = known.entry(key).or_insert(fresh);
            // Looked up anew in the middle of a second: its requests still count.
            (caller.merchant_id, caller.is_suspended, caller.asked) =
                (merchant_id, is_suspended, now);
        });
    }
}

impl Gateway {
    /// Authenticates a merchant's request to verify or to settle, within its own budget.
    pub async fn admit_facilitator(&self, key: &ApiKey) -> Result<Uuid, NotAdmitted> {
        let (key, most) = (key.sha256(), self.config.x402.requests_per_second);
        if let Some(taken) = self.x402.callers.take(&key, most) {
            return taken;
        }
        let mut connection = self.db.connection().await?;
        let found = rows::merchant_of_key(&mut connection, &key).await?;
        drop(connection);
        // Unknown keys are not kept: they are free to make.
        let (merchant_id, is_suspended) = found.ok_or(NotAdmitted::UnknownKey)?;
        self.x402.callers.note(key, merchant_id, is_suspended);
        self.x402.callers.take(&key, most).unwrap_or(Ok(merchant_id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_so_many_requests_in_a_second_and_a_suspended_one_has_none() {
        let (callers, merchant) = (Callers::default(), Uuid::from_u128(7));
        assert!(callers.take(&[1; 32], 2).is_none());
        callers.note([1; 32], merchant, false);
        let taken: Vec<_> = (0..3).map(|_| callers.take(&[1; 32], 2).unwrap().is_ok()).collect();
        assert_eq!(taken, [true, true, false]);
        // Another look-up in the same second does not refill it.
        callers.note([1; 32], merchant, false);
        assert!(callers.take(&[1; 32], 2).unwrap().is_err());
        callers.note([2; 32], merchant, true);
        assert!(matches!(callers.take(&[2; 32], 2), Some(Err(NotAdmitted::Suspended))));
    }
}
