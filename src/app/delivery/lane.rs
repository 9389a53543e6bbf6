//! Two lanes, so that slow endpoints delay no other merchant, and the attempts in progress in each.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use uuid::Uuid;

use super::{Channel, SLOW_ANSWER};
use crate::{
    app::keyed_limiter::{KeyedLimiter, KeyedPermit},
    broker::{envelope::Turn, route::Route},
};

/// The time that an attempt waits for others of its merchant, or to the same host, while those get
/// responses. A longer wait would occupy a slot that all other deliveries need.
const PERMIT_WAIT: Duration = Duration::from_secs(1);

/// The queue of a message. Merchants with slow endpoints have a queue of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    Fast,
    Slow,
}

impl Lane {
    /// Concurrent attempts of one merchant in one process.
    const fn per_merchant_max(self) -> usize {
        match self {
            Self::Fast => 10,
            Self::Slow => 3,
        }
    }

    /// Concurrent attempts to one host, for all merchants together: the gateway must not be usable
    /// to flood a third party.
    const fn per_host_max(self) -> usize {
        match self {
            Self::Fast => 50,
            Self::Slow => 10,
        }
    }

    /// Route of a message that finds no free slot here, and how long it is on its way. From the
    /// slow lane it comes back after a pause.
    pub(super) const fn overflow(self, channel: &Channel) -> (Route, Duration) {
        match self {
            Self::Fast => (channel.slow, Duration::ZERO),
            Self::Slow => (channel.wait, channel.policy.delay),
        }
    }
}

/// Attempts in progress in one lane of this process.
///
/// One limit per merchant and one per host keep a hanging endpoint from taking every slot. Two
/// copies of one attempt never run together: both would be sent, because the row only changes
/// afterwards.
#[derive(Clone, Default)]
pub struct InFlight {
    under_way: Arc<Mutex<UnderWay>>,
    hosts: KeyedLimiter<Box<str>>,
}

#[derive(Default)]
struct UnderWay {
    attempts: HashSet<Attempt>,
    merchants: HashMap<Uuid, Share>,
}

/// A merchant's attempts in progress.
struct Share {
    places: Arc<Semaphore>,
    /// Attempts with their start times, oldest first.
    begun: Vec<(Attempt, Instant)>,
}

/// One turn of one delivery.
type Attempt = (Uuid, Turn);

/// One attempt, of which no other copy is in progress, with its places in the lane once it has
/// them.
pub(super) struct Slot {
    in_flight: InFlight,
    attempt: Attempt,
    merchant: Option<Uuid>,
    share: Option<OwnedSemaphorePermit>,
    host: Option<KeyedPermit<Box<str>>>,
}

impl InFlight {
    /// Reserves the attempt; `None` if another copy is in progress.
    pub(super) fn begin(&self, delivery_id: Uuid, turn: Turn) -> Option<Slot> {
        let attempt = (delivery_id, turn);
        let is_first = self.locked().attempts.insert(attempt);
        is_first.then(|| Slot {
            in_flight: self.clone(),
            attempt,
            merchant: None,
            share: None,
            host: None,
        })
    }

    fn locked(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Waits for one of the merchant's places in `lane`. Returns `false` after [`PERMIT_WAIT`].
    /// While an attempt of the merchant hangs, returns `false` at once in the fast lane, and in the
    /// slow lane if no place is free: such an endpoint counts as slow before its first attempt has
    /// timed out.
    pub(super) async fn share(&mut self, merchant_id: Uuid, lane: Lane) -> bool {
        let (places, hangs) = {
            let mut under_way = self.in_flight.locked();
            let share = under_way.merchants.entry(merchant_id).or_insert_with(|| Share {
                places: Arc::new(Semaphore::new(lane.per_merchant_max())),
                begun: Vec::new(),
            });
            let hangs =
                share.begun.first().is_some_and(|(_, oldest)| oldest.elapsed() >= SLOW_ANSWER);
            (share.places.clone(), hangs)
        };
        self.merchant = Some(merchant_id);
        let permit = match (hangs, lane) {
            (true, Lane::Fast) => None,
            (true, Lane::Slow) => places.try_acquire_owned().ok(),
            (false, _) => {
                timeout(PERMIT_WAIT, places.acquire_owned()).await.ok().and_then(Result::ok)
            }
        };
        if permit.is_none() {
            return false;
        }
        self.share = permit;
        if let Some(share) = self.in_flight.locked().merchants.get_mut(&merchant_id) {
            share.begun.push((self.attempt, Instant::now()));
        }
        true
    }

    /// Waits for one of the places that `lane` has for `host`, shared by all merchants. Returns
    /// `false` after [`PERMIT_WAIT`].
    pub(super) async fn reach(&mut self, host: &str, lane: Lane) -> bool {
        let taking = self.in_flight.hosts.take(host.into(), lane.per_host_max());
        self.host = timeout(PERMIT_WAIT, taking).await.ok();
        self.host.is_some()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.share = None;
        let mut under_way = self.in_flight.locked();
        under_way.attempts.remove(&self.attempt);
        if let Some(merchant_id) = self.merchant {
            under_way.leave_merchant(merchant_id, self.attempt);
        }
    }
}

impl UnderWay {
    /// Removes a merchant without attempts in progress or waiting.
    fn leave_merchant(&mut self, id: Uuid, attempt: Attempt) {
        let Some(share) = self.merchants.get_mut(&id) else { return };
        share.begun.retain(|(one, _)| *one != attempt);
        if Arc::strong_count(&share.places) == 1 {
            self.merchants.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(in_flight: &InFlight) -> Slot {
        let turn = Turn { cycle: 1, attempt: 1 };
        in_flight.begin(Uuid::now_v7(), turn).expect("no other copy")
    }

    /// Moves the start of all attempts in progress back by `age`.
    fn grow_older(in_flight: &InFlight, age: Duration) {
        for share in in_flight.locked().merchants.values_mut() {
            share.begun.iter_mut().for_each(|(_, begun)| *begun -= age);
        }
    }

    #[tokio::test]
    async fn a_merchant_whose_attempt_hangs_begins_no_other_in_the_fast_lane() {
        let (fast, slow, merchant) = (InFlight::default(), InFlight::default(), Uuid::now_v7());
        let (mut hanging, mut beside) = (begin(&fast), begin(&fast));
        assert!(hanging.share(merchant, Lane::Fast).await);
        grow_older(&fast, SLOW_ANSWER - Duration::from_secs(1));
        assert!(beside.share(merchant, Lane::Fast).await);
        grow_older(&fast, Duration::from_secs(1));
        let asked = Instant::now();
        assert!(!begin(&fast).share(merchant, Lane::Fast).await);
        assert!(begin(&fast).share(Uuid::now_v7(), Lane::Fast).await);
        drop(hanging);
        // The newer attempt counts separately.
        let mut again = begin(&fast);
        assert!(again.share(merchant, Lane::Fast).await);

        let mut hanging = Vec::new();
        for _ in 0..Lane::Slow.per_merchant_max() {
            let mut slot = begin(&slow);
            assert!(slot.share(merchant, Lane::Slow).await);
            hanging.push(slot);
            grow_older(&slow, SLOW_ANSWER);
        }
        assert!(!begin(&slow).share(merchant, Lane::Slow).await);
        assert!(asked.elapsed() < PERMIT_WAIT, "nobody waits for what hangs");
    }

    #[tokio::test]
    async fn a_burst_of_deliveries_to_a_healthy_endpoint_is_throttled_and_not_failed() {
        let (in_flight, merchant) = (InFlight::default(), Uuid::now_v7());
        let mut burst = Vec::new();
        for _ in 0..5 * Lane::Fast.per_merchant_max() {
            let mut slot = begin(&in_flight);
            burst.push(tokio::spawn(async move {
                let has_place = slot.share(merchant, Lane::Fast).await;
                tokio::time::sleep(Duration::from_millis(10)).await;
                has_place
            }));
        }
        for one in burst {
            assert!(one.await.unwrap());
        }
    }

    #[tokio::test]
    async fn requests_to_one_host_are_limited_and_the_next_one_waits() {
        let in_flight = InFlight::default();
        let mut there = Vec::new();
        for _ in 0..Lane::Slow.per_host_max() {
            let mut slot = begin(&in_flight);
            assert!(slot.reach("shop.example", Lane::Slow).await);
            there.push(slot);
        }
        assert!(begin(&in_flight).reach("other.example", Lane::Slow).await);
        let mut next = begin(&in_flight);
        let asked = Instant::now();
        assert!(!next.reach("shop.example", Lane::Slow).await);
        assert!(asked.elapsed() >= PERMIT_WAIT);
        let leaving = there.pop();
        let (reached, ()) = tokio::join!(next.reach("shop.example", Lane::Slow), async {
            tokio::task::yield_now().await;
            drop(leaving);
        });
        assert!(reached);
    }

    #[tokio::test]
    async fn finished_deliveries_leave_no_entry_in_the_delivery_limits() {
        let (in_flight, merchant) = (InFlight::default(), Uuid::now_v7());
        let mut slots = Vec::new();
        for number in 0..=Lane::Slow.per_merchant_max() {
            let mut slot = begin(&in_flight);
            let shared = slot.share(merchant, Lane::Slow).await;
            assert_eq!(shared, number < Lane::Slow.per_merchant_max());
            assert!(slot.reach("shop.example", Lane::Slow).await);
            slots.push(slot);
        }
        drop(slots);
        let left = in_flight.locked();
        assert!(
            left.attempts.is_empty() && left.merchants.is_empty() && in_flight.hosts.is_empty()
        );
    }
}
