//! Two lanes, so that endpoints that answer slowly keep nobody else waiting, and what is under way in each.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use uuid::Uuid;

use super::Channel;
use crate::broker::{envelope::Turn, route::Route};

/// The queue a message came from. Merchants whose endpoints are slow have one of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    Fast,
    Slow,
}

impl Lane {
    /// Attempts of one merchant under way at a time in one process.
    pub(super) const fn in_flight_max(self) -> usize {
        match self {
            Self::Fast => 10,
            Self::Slow => 3,
        }
    }

    /// Where a message goes that would exceed it. From the slow lane it comes back after a pause.
    pub(super) const fn overflow(self, channel: &Channel) -> Route {
        match self {
            Self::Fast => channel.slow,
            Self::Slow => channel.wait,
        }
    }
}

/// What is under way in one lane of this process.
///
/// A cap per merchant, so that a hanging endpoint cannot take every slot; and never two copies of one attempt, which
/// would both be sent because the row only changes afterwards.
#[derive(Clone, Default)]
pub struct InFlight(Arc<Mutex<UnderWay>>);

#[derive(Default)]
struct UnderWay {
    per_merchant: HashMap<Uuid, usize>,
    attempts: HashSet<(Uuid, Turn)>,
}

/// One attempt of which no other copy is worked on, and its merchant's share of the lane once that is known.
pub(super) struct Slot {
    in_flight: InFlight,
    attempt: (Uuid, Turn),
    merchant_id: Option<Uuid>,
}

impl InFlight {
    /// `None` if another copy is under way.
    pub(super) fn begin(&self, delivery_id: Uuid, turn: Turn) -> Option<Slot> {
        let attempt = (delivery_id, turn);
        let is_first = self.locked().attempts.insert(attempt);
        is_first.then(|| Slot { in_flight: self.clone(), attempt, merchant_id: None })
    }

    fn locked(&self) -> MutexGuard<'_, UnderWay> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// `false` if the merchant has `max` attempts under way already.
    pub(super) fn share(&mut self, merchant_id: Uuid, max: usize) -> bool {
        let mut under_way = self.in_flight.locked();
        let count = under_way.per_merchant.entry(merchant_id).or_insert(0);
        if *count >= max {
            return false;
        }
        *count += 1;
        self.merchant_id = Some(merchant_id);
        true
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut under_way = self.in_flight.locked();
        under_way.attempts.remove(&self.attempt);
        let Some(merchant_id) = self.merchant_id else { return };
        if let Some(count) = under_way.per_merchant.get_mut(&merchant_id) {
            *count -= 1;
            if *count == 0 {
                under_way.per_merchant.remove(&merchant_id);
            }
        }
    }
}
