//! Two lanes, so that slow endpoints delay no other merchant, and the attempts in progress in each.

use std::{
    collections::{HashMap, HashSet},
    num::NonZeroU16,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use uuid::Uuid;

use super::{Channel, SLOW_ANSWER, places::Places};
use crate::{
    app::keyed_limiter::{KeyedLimiter, KeyedPermit},
    broker::{envelope::Turn, route::Route},
};

/// The time that an attempt waits for others to the same host.
const HOST_WAIT: Duration = Duration::from_secs(1);
/// The time that an attempt waits for others of its merchant, while those get responses: with the
/// attempt itself it stays below the limit of one message (`workers::consume`).
const MERCHANT_WAIT: Duration = Duration::from_secs(15);
/// How often who waits looks whether his merchant's endpoint hangs.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The queue of a message. Merchants with slow endpoints have a queue of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    Fast,
    Slow,
}

impl Lane {
    /// Concurrent attempts of one merchant in one process, before its endpoint has answered any.
    const fn per_merchant(self) -> usize {
        match self {
            Self::Fast => 10,
            Self::Slow => 3,
        }
    }

    /// The most that a merchant's attempts grow to: half of its host's, which it may share with
    /// other merchants.
    const fn per_merchant_max(self) -> usize {
        self.per_host_max() / 2
    }

    /// Messages that wait in one process for others of their merchant.
    pub const fn waiting_max(self) -> u16 {
        match self {
            Self::Fast => 4_096,
            Self::Slow => 1_024,
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

/// Attempts in progress in one lane of this process, and those that wait for them.
///
/// One limit per merchant and one per host keep a hanging endpoint from taking every place. Two
/// copies of one attempt never run together: both would be sent, because the row only changes
/// afterwards.
#[derive(Clone)]
pub struct InFlight {
    under_way: Arc<Mutex<UnderWay>>,
    hosts: KeyedLimiter<Box<str>>,
    /// Open connections of the lane.
    room: Arc<Semaphore>,
}

#[derive(Default)]
struct UnderWay {
    attempts: HashSet<Attempt>,
    merchants: HashMap<Uuid, Share>,
    waiting: usize,
}

/// A merchant's attempts.
struct Share {
    places: Places,
    /// Attempts with their start times, oldest first.
    begun: Vec<(Attempt, Instant)>,
    waiting: usize,
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
    room: Option<OwnedSemaphorePermit>,
}

impl InFlight {
    /// At most `attempts` run at once.
    pub fn new(attempts: NonZeroU16) -> Self {
        let room = Arc::new(Semaphore::new(usize::from(attempts.get())));
        Self { under_way: Arc::default(), hosts: KeyedLimiter::default(), room }
    }

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
            room: None,
        })
    }

    fn locked(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Takes one of the merchant's places in `lane`, or waits for one while others of the merchant
    /// get responses. Returns `false` after [`MERCHANT_WAIT`], if too many wait, and while an
    /// attempt of the merchant hangs: such an endpoint counts as slow before its first attempt has
    /// timed out.
    pub(super) async fn share(&mut self, merchant_id: Uuid, lane: Lane) -> bool {
        self.merchant = Some(merchant_id);
        let (places, hangs) = {
            let mut under_way = self.in_flight.locked();
            let share = under_way.merchants.entry(merchant_id).or_insert_with(|| Share {
                places: Places::new(lane.per_merchant(), lane.per_merchant_max()),
                begun: Vec::new(),
                waiting: 0,
            });
            (share.places.semaphore(), share.hangs())
        };
        if hangs && lane == Lane::Fast {
            return false;
        }
        self.share = places.clone().try_acquire_owned().ok();
        if self.share.is_none() && !hangs {
            self.share = self.wait_for(places, merchant_id, lane).await;
        }
        self.share.is_some()
    }

    async fn wait_for(
        &self,
        places: Arc<Semaphore>,
        merchant_id: Uuid,
        lane: Lane,
    ) -> Option<OwnedSemaphorePermit> {
        let _waiting = Waiting::begin(&self.in_flight, merchant_id, lane)?;
        let until = Instant::now() + MERCHANT_WAIT;
        let mut taking = pin!(places.acquire_owned());
        loop {
            if let Ok(taken) = timeout(LOOK_EVERY, &mut taking).await {
                return taken.ok();
            }
            let under_way = self.in_flight.locked();
            let hangs = under_way.merchants.get(&merchant_id).is_some_and(Share::hangs);
            if hangs || Instant::now() >= until {
                return None;
            }
        }
    }

    /// Waits for one of the places that `lane` has for `host`, shared by all merchants. Returns
    /// `false` after [`HOST_WAIT`].
    pub(super) async fn reach(&mut self, host: &str, lane: Lane) -> bool {
        let taking = self.in_flight.hosts.take(host.into(), lane.per_host_max());
        self.host = timeout(HOST_WAIT, taking).await.ok();
        self.host.is_some()
    }

    /// Waits until the lane has room, and notes the start of the attempt.
    pub(super) async fn start(&mut self) {
        self.room = self.in_flight.room.clone().acquire_owned().await.ok();
        let Some(merchant_id) = self.merchant else { return };
        if let Some(share) = self.in_flight.locked().merchants.get_mut(&merchant_id) {
            share.begun.push((self.attempt, Instant::now()));
        }
    }

    /// Lets the merchant's limit follow what its endpoint did.
    pub(super) fn answered(&self, is_delivered: bool, took: Duration) {
        let Some(merchant_id) = self.merchant else { return };
        if let Some(share) = self.in_flight.locked().merchants.get_mut(&merchant_id) {
            share.places.answered(is_delivered, took);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut under_way = self.in_flight.locked();
        under_way.attempts.remove(&self.attempt);
        if let Some(merchant_id) = self.merchant {
            under_way.leave_merchant(merchant_id, self.attempt, self.share.take());
        }
    }
}

/// A message that waits for a place; it counts until it is dropped.
struct Waiting<'a> {
    in_flight: &'a InFlight,
    merchant_id: Uuid,
}

impl<'a> Waiting<'a> {
    /// `None` if the merchant has as many waiting as are left for all others: one that waits holds
    /// a message of the queue, and nobody's message behind a burst may have to wait for it. So one
    /// burst gets half of what there is, two get a third each, and some is always left (dynamic
    /// thresholds, as shared buffers of switches have them: Choudhury and Hahne, 1998).
    fn begin(in_flight: &'a InFlight, merchant_id: Uuid, lane: Lane) -> Option<Self> {
        let mut under_way = in_flight.locked();
        let left = usize::from(lane.waiting_max()).saturating_sub(under_way.waiting);
        let share = under_way.merchants.get_mut(&merchant_id)?;
        if share.waiting >= left {
            return None;
        }
        share.waiting += 1;
        under_way.waiting += 1;
        Some(Self { in_flight, merchant_id })
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut under_way = self.in_flight.locked();
        under_way.waiting -= 1;
        if let Some(share) = under_way.merchants.get_mut(&self.merchant_id) {
            share.waiting -= 1;
        }
    }
}

impl Share {
    fn hangs(&self) -> bool {
        self.begun.first().is_some_and(|(_, oldest)| oldest.elapsed() >= SLOW_ANSWER)
    }
}

impl UnderWay {
    /// Gives the place back, and removes a merchant without attempts in progress or waiting.
    fn leave_merchant(&mut self, id: Uuid, attempt: Attempt, place: Option<OwnedSemaphorePermit>) {
        let Some(share) = self.merchants.get_mut(&id) else { return };
        share.begun.retain(|(one, _)| *one != attempt);
        if let Some(place) = place {
            share.places.give_back(place);
        }
        if share.places.is_unused() {
            self.merchants.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_flight() -> InFlight {
        InFlight::new(NonZeroU16::new(100).unwrap())
    }

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
        let (fast, slow, merchant) = (in_flight(), in_flight(), Uuid::now_v7());
        let (mut hanging, mut beside) = (begin(&fast), begin(&fast));
        assert!(hanging.share(merchant, Lane::Fast).await);
        hanging.start().await;
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
        for _ in 0..Lane::Slow.per_merchant() {
            let mut slot = begin(&slow);
            assert!(slot.share(merchant, Lane::Slow).await);
            slot.start().await;
            hanging.push(slot);
            grow_older(&slow, SLOW_ANSWER);
        }
        assert!(!begin(&slow).share(merchant, Lane::Slow).await);
        assert!(asked.elapsed() < LOOK_EVERY, "nobody waits for what hangs");
    }

    /// Attempts of one merchant that all ask for a place at once; those that got one take a moment.
    async fn burst(in_flight: &InFlight, merchant: Uuid, count: usize) -> (usize, usize) {
        let (running, most) = (Arc::new(Mutex::new((0_usize, 0))), count);
        let mut all = Vec::new();
        for _ in 0..most {
            let (mut slot, running) = (begin(in_flight), running.clone());
            all.push(tokio::spawn(async move {
                if !slot.share(merchant, Lane::Fast).await {
                    return false;
                }
                slot.start().await;
                {
                    let mut running = running.lock().unwrap();
                    running.0 += 1;
                    running.1 = running.1.max(running.0);
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
                running.lock().unwrap().0 -= 1;
                slot.answered(true, Duration::from_millis(10));
                true
            }));
        }
        let mut served = 0;
        for one in all {
            served += usize::from(one.await.unwrap());
        }
        let most_at_once = running.lock().unwrap().1;
        (served, most_at_once)
    }

    #[tokio::test]
    async fn a_burst_to_a_healthy_endpoint_waits_and_gets_more_places() {
        let in_flight = in_flight();
        let (served, most_at_once) = burst(&in_flight, Uuid::now_v7(), 1_000).await;
        assert_eq!(served, 1_000);
        let grown = Lane::Fast.per_merchant() + 1..=Lane::Fast.per_merchant_max();
        assert!(grown.contains(&most_at_once), "{most_at_once}");
    }

    #[tokio::test]
    async fn a_burst_leaves_half_of_the_places_for_waiting_to_others() {
        let in_flight = InFlight::new(NonZeroU16::new(10_000).unwrap());
        let waiting_max = usize::from(Lane::Fast.waiting_max());
        let (first, second) = (Uuid::now_v7(), Uuid::now_v7());
        let (one, two) =
            tokio::join!(burst(&in_flight, first, 5_000), burst(&in_flight, second, 100));
        assert_eq!(two.0, 100);
        assert!((waiting_max / 2..5_000).contains(&one.0), "{}", one.0);
    }

    #[tokio::test]
    async fn who_waits_leaves_when_the_endpoint_begins_to_hang() {
        let (in_flight, merchant) = (in_flight(), Uuid::now_v7());
        let mut hanging = Vec::new();
        for _ in 0..Lane::Fast.per_merchant() {
            let mut slot = begin(&in_flight);
            assert!(slot.share(merchant, Lane::Fast).await);
            slot.start().await;
            hanging.push(slot);
        }
        let mut next = begin(&in_flight);
        let (has_place, ()) = tokio::join!(next.share(merchant, Lane::Fast), async {
            tokio::task::yield_now().await;
            grow_older(&in_flight, SLOW_ANSWER);
        });
        assert!(!has_place);
        assert_eq!(in_flight.locked().waiting, 0);
    }

    #[tokio::test]
    async fn requests_to_one_host_are_limited_and_the_next_one_waits() {
        let in_flight = in_flight();
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
    async fn finished_deliveries_leave_no_entry_in_the_delivery_limits() {
        let (in_flight, merchant) = (in_flight(), Uuid::now_v7());
        let mut slots = Vec::new();
        for _ in 0..Lane::Slow.per_merchant() {
            let mut slot = begin(&in_flight);
            assert!(slot.share(merchant, Lane::Slow).await);
            assert!(slot.reach("shop.example", Lane::Slow).await);
            slot.start().await;
            slots.push(slot);
        }
        let mut waiting = begin(&in_flight);
        assert!(timeout(HOST_WAIT, waiting.share(merchant, Lane::Slow)).await.is_err());
        drop((slots, waiting));
        let left = in_flight.locked();
        assert!(
            left.attempts.is_empty() && left.merchants.is_empty() && in_flight.hosts.is_empty()
        );
        assert_eq!(left.waiting, 0);
    }
}
