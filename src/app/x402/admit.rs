//! Admission of requests to verify and to settle.
//!
//! A seller of API calls asks for each sale, so the budget of 60 requests a minute would be 60
//! sales. These requests have a budget of their own, in each process.

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

const SECOND: Duration = Duration::from_secs(1);
/// Above this, merchants who asked nothing in the last second are forgotten.
const KEPT_MAX: usize = 10_000;

/// Requests of each merchant in the second that began then.
#[derive(Default)]
pub(super) struct Callers(Mutex<HashMap<Uuid, (Instant, u32)>>);

impl Callers {
    /// Takes one request; `false` if `most` were taken in this second.
    fn take(&self, merchant_id: Uuid, most: u32) -> bool {
        let mut callers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() >= KEPT_MAX {
            callers.retain(|_, (began, _)| began.elapsed() < SECOND);
        }
        let (began, taken) = callers.entry(merchant_id).or_insert((Instant::now(), 0));
        if began.elapsed() >= SECOND {
            (*began, *taken) = (Instant::now(), 0);
        }
        let is_within = *taken < most;
        *taken += u32::from(is_within);
        is_within
    }
}

impl Gateway {
    /// Authenticates a merchant's request to verify or to settle, within its own budget. The key is
    /// looked up each time: a rotated one is unknown at once.
    pub async fn admit_facilitator(&self, key: &ApiKey) -> Result<Uuid, NotAdmitted> {
        let mut connection = self.db.connection().await?;
        let found = rows::merchant_of_key(&mut connection, &key.sha256()).await?;
        drop(connection);
        match found {
            None => Err(NotAdmitted::UnknownKey),
            Some((_, true)) => Err(NotAdmitted::Suspended),
            Some((merchant_id, false)) => {
                let most = self.config.x402.requests_per_second;
                let is_within = self.x402.callers.take(merchant_id, most);
                is_within.then_some(merchant_id).ok_or(NotAdmitted::TooManyRequests)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merchant_has_so_many_requests_in_a_second_and_no_other_pays_for_him() {
        let (callers, [one, other]) = (Callers::default(), [1, 2].map(Uuid::from_u128));
        let taken: Vec<_> = (0..3).map(|_| callers.take(one, 2)).collect();
        assert_eq!(taken, [true, true, false]);
        assert!(callers.take(other, 2));
    }
}
