//! Two lanes, so that endpoints that answer slowly keep nobody else waiting, and what is under way in each.

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
use crate::broker::{envelope::Turn, route::Route};

/// How long an attempt waits for others to the same host. They may belong to many merchants of one platform, whose host
/// answers at once; if it does not, this keeps a place that everybody else needs.
const HOST_WAIT: Duration = Duration::from_secs(1);

/// The queue a message came from. Merchants whose endpoints are slow have one of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    Fast,
    Slow,
}

impl Lane {
    /// Attempts of one merchant under way at a time in one process.
    const fn per_merchant_max(self) -> usize {
        match self {
            Self::Fast => 10,
            Self::Slow => 3,
        }
    }

    /// Attempts at one host, whoever named it: nobody shall use the gateway to flood a stranger.
    const fn per_host_max(self) -> usize {
        match self {
            Self::Fast => 50,
            Self::Slow => 10,
        }
    }

    /// Whether a merchant of whom an attempt has been under way for `age` may begin another one here. An endpoint that
    /// hangs is slow before it has let its first attempt run out of time.
    fn admits_beside(self, age: Duration) -> bool {
        match self {
            Self::Fast => age < SLOW_ANSWER,
            Self::Slow => true,
        }
    }

    /// Where a message goes that has no place here. From the slow lane it comes back after a pause.
    pub(super) const fn overflow(self, channel: &Channel) -> Route {
        match self {
            Self::Fast => channel.slow,
            Self::Slow => channel.wait,
        }
    }
}

/// What is under way in one lane of this process.
///
/// A cap per merchant and one per host, so that a hanging endpoint cannot take every slot; and never two copies of one
/// attempt, which would both be sent because the row only changes afterwards.
#[derive(Clone, Default)]
pub struct InFlight(Arc<Mutex<UnderWay>>);

#[derive(Default)]
struct UnderWay {
    /// Since when, for each attempt of a merchant; the oldest first.
    per_merchant: HashMap<Uuid, Vec<Instant>>,
    per_host: HashMap<Box<str>, Arc<Semaphore>>,
    attempts: HashSet<(Uuid, Turn)>,
}

/// One attempt of which no other copy is worked on, and its shares of the lane once it has them.
pub(super) struct Slot {
    in_flight: InFlight,
    attempt: (Uuid, Turn),
    merchant: Option<(Uuid, Instant)>,
    host: Option<Box<str>>,
    permit: Option<OwnedSemaphorePermit>,
}

impl InFlight {
    /// `None` if another copy is under way.
    pub(super) fn begin(&self, delivery_id: Uuid, turn: Turn) -> Option<Slot> {
        let attempt = (delivery_id, turn);
        let is_first = self.locked().attempts.insert(attempt);
        is_first.then(|| Slot {
            in_flight: self.clone(),
            attempt,
            merchant: None,
            host: None,
            permit: None,
        })
    }

    fn locked(&self) -> MutexGuard<'_, UnderWay> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// `false` if the merchant has as many attempts under way in `lane` as it may have.
    pub(super) fn share(&mut self, merchant_id: Uuid, lane: Lane, now: Instant) -> bool {
        let mut under_way = self.in_flight.locked();
        let begun = under_way.per_merchant.entry(merchant_id).or_default();
        let answers = begun.first().is_none_or(|oldest| lane.admits_beside(now - *oldest));
        if begun.len() >= lane.per_merchant_max() || !answers {
            return false;
        }
        begun.push(now);
        self.merchant = Some((merchant_id, now));
        true
    }

    /// Waits until `host` has room for one more. `false` if that took too long.
    pub(super) async fn reach(&mut self, host: &str, lane: Lane) -> bool {
        let room = {
            let mut under_way = self.in_flight.locked();
            let room = under_way.per_host.entry(host.into());
            room.or_insert_with(|| Arc::new(Semaphore::new(lane.per_host_max()))).clone()
        };
        self.host = Some(host.into());
        let permit = timeout(HOST_WAIT, room.acquire_owned()).await;
        self.permit = permit.ok().and_then(Result::ok);
        self.permit.is_some()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.permit = None;
        let mut under_way = self.in_flight.locked();
        under_way.attempts.remove(&self.attempt);
        if let Some((id, begun)) = self.merchant {
            under_way.leave_merchant(id, begun);
        }
        if let Some(host) = &self.host {
            under_way.leave_host(host);
        }
    }
}

impl UnderWay {
    fn leave_merchant(&mut self, id: Uuid, begun: Instant) {
        let Some(all) = self.per_merchant.get_mut(&id) else { return };
        if let Some(at) = all.iter().position(|one| *one == begun) {
            all.remove(at);
        }
        if all.is_empty() {
            self.per_merchant.remove(&id);
        }
    }

    /// Forgets a host that nobody is at and nobody waits for.
    fn leave_host(&mut self, host: &str) {
        if self.per_host.get(host).is_some_and(|room| Arc::strong_count(room) == 1) {
            self.per_host.remove(host);
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

    #[test]
    fn a_merchant_whose_attempt_hangs_begins_no_other_in_the_fast_lane() {
        let (in_flight, merchant) = (InFlight::default(), Uuid::now_v7());
        let (first, almost) = (Instant::now(), SLOW_ANSWER - Duration::from_millis(1));
        let mut hanging = begin(&in_flight);
        assert!(hanging.share(merchant, Lane::Fast, first));
        let mut beside = begin(&in_flight);
        assert!(beside.share(merchant, Lane::Fast, first + almost));
        let late = first + SLOW_ANSWER;
        assert!(!begin(&in_flight).share(merchant, Lane::Fast, late));
        assert!(begin(&in_flight).share(merchant, Lane::Slow, late));
        assert!(begin(&in_flight).share(Uuid::now_v7(), Lane::Fast, late));
        // The younger one counts on its own.
        drop(hanging);
        assert!(begin(&in_flight).share(merchant, Lane::Fast, late));
    }

    #[tokio::test]
    async fn a_host_has_room_for_so_many_and_the_next_waits_a_moment() {
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
        assert!(asked.elapsed() >= HOST_WAIT);
        let leaving = there.pop();
        let (reached, ()) = tokio::join!(next.reach("shop.example", Lane::Slow), async {
            tokio::task::yield_now().await;
            drop(leaving);
        });
        assert!(reached);
    }

    #[tokio::test]
    async fn nothing_is_remembered_of_what_has_ended() {
        let in_flight = InFlight::default();
        let mut slots = Vec::new();
        for _ in 0..=Lane::Slow.per_host_max() {
            let mut slot = begin(&in_flight);
            assert!(slot.share(Uuid::now_v7(), Lane::Slow, Instant::now()));
            let reached = slot.reach("shop.example", Lane::Slow).await;
            assert_eq!(reached, slots.len() < Lane::Slow.per_host_max());
            slots.push(slot);
        }
        drop(slots);
        let left = in_flight.locked();
        assert!(left.attempts.is_empty() && left.per_merchant.is_empty());
        assert!(left.per_host.is_empty());
    }
}
