//! The attempts in progress in one lane of a process, and what waits for them.
//!
//! A merchant's attempts at once follow the answers of its receivers ([`super::limit`]). What finds
//! no place waits here, within a share that leaves places for everybody else's messages; what
//! exceeds that is deferred: it waits in the database until those before it have ended. So a burst
//! of any length waits for its receiver alone, and no message of it travels in vain.

use std::{
    collections::{HashMap, HashSet},
    num::NonZeroU16,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep_until, timeout},
};
use uuid::Uuid;

use super::{
    SLOW_ANSWER,
    lane::Lane,
    limit::{Seen, Verdict},
    places::Places,
};
use crate::{
    app::keyed_limiter::{KeyedLimiter, KeyedPermit},
    broker::envelope::Turn,
};

/// The time that an attempt waits for others to the same host.
const HOST_WAIT: Duration = Duration::from_secs(1);
/// The time that an attempt waits for others of its merchant, while those get responses. With the
/// attempt itself this is less than a message may take (`workers::consume`).
const PLACE_WAIT: Duration = Duration::from_secs(10);
/// Deferred deliveries of a merchant are resumed while fewer than this wait here: about as many as
/// are sent while the messages of the next ones travel.
const RESUMED_BELOW: usize = 100;
/// Deliveries that are resumed at a time.
const RESUMED_MAX: usize = 200;
/// Messages of resumed deliveries that have not arrived after this time went to another process.
const RESUMED_WITHIN: Duration = Duration::from_secs(1);

/// Whose places an attempt takes. Strangers' receivers may hang as they like, so those of a
/// merchant's forms have places apart from his own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Sharer {
    pub merchant_id: Uuid,
    pub is_strangers: bool,
}

/// What an attempt gets that asks for one of its merchant's places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    Place,
    /// Too many wait already, or those before it take long.
    Full,
    /// An attempt of the merchant hangs.
    Hangs,
}

/// Attempts in progress in one lane of this process, and those that wait for them.
///
/// One limit per merchant and one per host keep a hanging endpoint from taking every place. Two
/// copies of one attempt never run together: both would be sent, because the row only changes
/// afterwards.
#[derive(Clone)]
pub struct InFlight {
    held: Arc<Mutex<Held>>,
    hosts: KeyedLimiter<Box<str>>,
    /// Messages that the broker gives this lane at a time.
    most: usize,
}

#[derive(Default)]
struct Held {
    /// One per message.
    attempts: HashSet<Attempt>,
    sharers: HashMap<Sharer, Shared>,
}

/// A merchant's attempts. What was learned about its receivers is forgotten with the last one.
struct Shared {
    places: Places,
    slots: usize,
    waiting: usize,
    /// Attempts that are sent, with their start times, oldest first.
    begun: Vec<(Attempt, Instant)>,
    /// Deliveries of this merchant may be deferred.
    has_deferred: bool,
    /// The resumed deliveries whose messages have not arrived, and when they were.
    resumed: (usize, Instant),
}

/// One turn of one delivery.
type Attempt = (Uuid, Turn);

/// One attempt, of which no other copy is in progress, with its places in the lane once it has
/// them.
pub(super) struct Slot {
    in_flight: InFlight,
    attempt: Attempt,
    is_reserved: bool,
    sharer: Option<Sharer>,
    place: Option<OwnedSemaphorePermit>,
    host: Option<KeyedPermit<Box<str>>>,
}

impl InFlight {
    /// At most `most` messages are held at a time.
    pub fn new(most: NonZeroU16) -> Self {
        Self { held: Arc::default(), hosts: KeyedLimiter::default(), most: most.get().into() }
    }

    /// Reserves the attempt; `None` if another copy is in progress.
    pub(super) fn begin(&self, delivery_id: Uuid, turn: Turn) -> Option<Slot> {
        let attempt = (delivery_id, turn);
        let is_first = self.locked().attempts.insert(attempt);
        is_first.then(|| Slot {
            in_flight: self.clone(),
            attempt,
            is_reserved: true,
            sharer: None,
            place: None,
            host: None,
        })
    }

    /// Notes how many of the `wanted` deferred deliveries were resumed. `None` if they could not
    /// be: the next attempt that ends tries again.
    pub(super) fn resumed(&self, sharer: Sharer, wanted: usize, resumed: Option<usize>) {
        let mut held = self.locked();
        let Some(shared) = held.sharers.get_mut(&sharer) else { return };
        shared.has_deferred |= resumed.is_none_or(|resumed| resumed >= wanted);
        shared.resumed = (shared.coming() + resumed.unwrap_or(0), Instant::now());
    }

    /// Messages that could be held beside those that are.
    fn left(&self, held: &Held) -> usize {
        self.most.saturating_sub(held.attempts.len())
    }

    fn locked(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Counts this attempt as one of `sharer`.
    pub(super) fn join(&mut self, sharer: Sharer, lane: Lane, has_deferred: bool) {
        self.sharer = Some(sharer);
        let mut held = self.in_flight.locked();
        let shared = held.sharers.entry(sharer).or_insert_with(|| Shared::new(lane));
        shared.slots += 1;
        shared.has_deferred |= has_deferred;
        shared.resumed.0 = shared.resumed.0.saturating_sub(1);
    }

    /// Takes one of the merchant's places, or waits for one while its others get responses. While
    /// one of them hangs nobody waits, and in the fast lane nobody begins: such an endpoint counts
    /// as slow before its first attempt has timed out.
    pub(super) async fn share(&mut self, lane: Lane) -> Share {
        let Some((places, hangs)) =
            self.shared(|shared| (shared.places.semaphore(), shared.hangs()))
        else {
            return Share::Full;
        };
        if hangs && lane == Lane::Fast {
            return Share::Hangs;
        }
        self.place = places.clone().try_acquire_owned().ok();
        match self.place {
            Some(_) => Share::Place,
            None if hangs => Share::Hangs,
            None => self.wait_for(places).await,
        }
    }

    async fn wait_for(&mut self, places: Arc<Semaphore>) -> Share {
        let Some(waiting) = Waiting::begin(self) else { return Share::Full };
        let until = Instant::now() + PLACE_WAIT;
        let mut taking = std::pin::pin!(places.acquire_owned());
        let share = loop {
            // The oldest one may end meanwhile, and then it is another one's turn to hang.
            let hangs_at = self.shared(|shared| shared.hangs_at()).flatten();
            let look_at = hangs_at.unwrap_or_else(|| Instant::now() + SLOW_ANSWER).min(until);
            tokio::select! {
                biased;
                taken = &mut taking => break taken.map_err(|_| Share::Full),
                () = sleep_until(look_at.into()) => {}
            }
            if self.shared(|shared| shared.hangs()) == Some(true) {
                break Err(Share::Hangs);
            }
            if Instant::now() >= until {
                break Err(Share::Full);
            }
        };
        drop(waiting);
        match share {
            Ok(place) => {
                self.place = Some(place);
                Share::Place
            }
            Err(refused) => refused,
        }
    }

    /// Waits for one of the places that `lane` has for `host`, shared by all merchants. Returns
    /// `false` after [`HOST_WAIT`]. With the place the attempt begins.
    pub(super) async fn reach(&mut self, host: &str, lane: Lane) -> bool {
        let taking = self.in_flight.hosts.take(host.into(), lane.per_host_max());
        self.host = timeout(HOST_WAIT, taking).await.ok();
        let attempt = self.attempt;
        if self.host.is_some() {
            self.shared(|shared| shared.begun.push((attempt, Instant::now())));
        }
        self.host.is_some()
    }

    /// Lets the limit follow the answer, and gives the places to what waits for them. The attempt
    /// stays reserved until it is recorded; and so do the places of a slow one, because only its
    /// record says whether the merchant still belongs to this lane.
    pub(super) fn answered(&mut self, lane: Lane, status: Option<u16>, took: Duration) {
        let host_left = self.host.as_ref().map_or(0, KeyedPermit::left);
        let mut held = self.in_flight.locked();
        let around = lane.around(host_left, (self.in_flight.most, self.in_flight.left(&held)));
        let Some(sharer) = self.sharer else { return };
        let Some(shared) = held.sharers.get_mut(&sharer) else { return };
        let is_wanted = shared.waiting > 0;
        shared.places.answered(Seen { verdict: Verdict::of(status), took, is_wanted, around });
        if took < SLOW_ANSWER {
            shared.end(self.attempt, self.place.take());
            drop(held);
            self.host = None;
        }
    }

    /// Ends the reservation: another message of this attempt is no copy from now on.
    pub(super) fn release(&mut self) {
        if std::mem::take(&mut self.is_reserved) {
            self.in_flight.locked().attempts.remove(&self.attempt);
        }
    }

    pub(super) fn note_deferred(&self) {
        self.shared(|shared| shared.has_deferred = true);
    }

    /// Ends the attempt. Returns for how many deferred deliveries of its merchant there is room
    /// now; `None` if none are deferred, or another one that ends later looks for them. The caller
    /// resumes them, and tells [`InFlight::resumed`].
    pub(super) fn end(mut self) -> Option<(Sharer, usize)> {
        self.leave()
    }

    /// Leaves and looks under one lock: of two attempts that end together the second one knows that
    /// it is the last.
    fn leave(&mut self) -> Option<(Sharer, usize)> {
        self.release();
        let (sharer, place) = (self.sharer.take()?, self.place.take());
        let mut held = self.in_flight.locked();
        let left = self.in_flight.left(&held);
        let shared = held.sharers.get_mut(&sharer)?;
        shared.end(self.attempt, place);
        shared.slots -= 1;
        let wanted = shared.may_resume(left);
        if shared.slots == 0 {
            held.sharers.remove(&sharer);
        }
        Some((sharer, wanted?))
    }

    fn shared<T>(&self, look: impl FnOnce(&mut Shared) -> T) -> Option<T> {
        let mut held = self.in_flight.locked();
        held.sharers.get_mut(&self.sharer?).map(look)
    }
}

impl Drop for Slot {
    /// An attempt that was broken off leaves the duty to resume others to the next one.
    fn drop(&mut self) {
        if let Some((sharer, wanted)) = self.leave() {
            self.in_flight.resumed(sharer, wanted, None);
        }
    }
}

/// A message that waits for a place; it counts until it is dropped.
struct Waiting {
    in_flight: InFlight,
    sharer: Sharer,
}

impl Waiting {
    /// `None` if the merchant has as many waiting as messages are left for all others. So one burst
    /// gets half of what there is, two get a third each, and some are always left (dynamic
    /// thresholds of shared buffers: Choudhury and Hahne, 1998).
    fn begin(slot: &Slot) -> Option<Self> {
        let sharer = slot.sharer?;
        let mut held = slot.in_flight.locked();
        let left = slot.in_flight.left(&held);
        let shared = held.sharers.get_mut(&sharer)?;
        if shared.waiting >= left {
            return None;
        }
        shared.waiting += 1;
        Some(Self { in_flight: slot.in_flight.clone(), sharer })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(shared) = self.in_flight.locked().sharers.get_mut(&self.sharer) {
            shared.waiting -= 1;
        }
    }
}

impl Shared {
    fn new(lane: Lane) -> Self {
        Self {
            places: Places::new(lane.per_merchant()),
            slots: 0,
            waiting: 0,
            begun: Vec::new(),
            has_deferred: false,
            resumed: (0, Instant::now()),
        }
    }

    /// When its oldest attempt hangs, if it has not ended by then.
    fn hangs_at(&self) -> Option<Instant> {
        self.begun.first().map(|(_, oldest)| *oldest + SLOW_ANSWER)
    }

    fn hangs(&self) -> bool {
        self.hangs_at().is_some_and(|at| at <= Instant::now())
    }

    fn coming(&self) -> usize {
        let (resumed, at) = self.resumed;
        if at.elapsed() < RESUMED_WITHIN { resumed } else { 0 }
    }

    /// The number of deferred deliveries to resume, with places for `left` messages. Until they
    /// are, nobody else is told to.
    fn may_resume(&mut self, left: usize) -> Option<usize> {
        let coming = self.waiting + self.coming();
        if !self.has_deferred || coming >= RESUMED_BELOW || self.hangs() {
            return None;
        }
        // Each that waits leaves one less for the others.
        let wanted = left.saturating_sub(coming) / 2;
        if wanted == 0 && self.slots + coming > 0 {
            // They would be deferred again. Another one of this merchant ends later.
            return None;
        }
        self.has_deferred = false;
        Some(wanted.clamp(1, RESUMED_MAX))
    }

    fn end(&mut self, attempt: Attempt, place: Option<OwnedSemaphorePermit>) {
        self.begun.retain(|(one, _)| *one != attempt);
        if let Some(place) = place {
            self.places.give_back(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;

    const LEFT_ALONE: u16 = 1_000;

    fn in_flight() -> InFlight {
        InFlight::new(NonZeroU16::new(LEFT_ALONE).unwrap())
    }

    fn someone() -> Sharer {
        Sharer { merchant_id: Uuid::now_v7(), is_strangers: false }
    }

    fn begin(in_flight: &InFlight, sharer: Sharer, lane: Lane) -> Slot {
        let turn = Turn { cycle: 1, attempt: 1 };
        let mut slot = in_flight.begin(Uuid::now_v7(), turn).expect("no other copy");
        slot.join(sharer, lane, false);
        slot
    }

    /// An attempt that has a place and is sent to the only host.
    async fn sent(in_flight: &InFlight, sharer: Sharer, lane: Lane) -> Slot {
        let mut slot = begin(in_flight, sharer, lane);
        assert_eq!(slot.share(lane).await, Share::Place);
        assert!(slot.reach("shop.example", lane).await);
        slot
    }

    /// Moves the start of all attempts in progress back by `age`.
    fn grow_older(in_flight: &InFlight, age: Duration) {
        for shared in in_flight.locked().sharers.values_mut() {
            shared.begun.iter_mut().for_each(|(_, begun)| *begun -= age);
        }
    }

    #[tokio::test]
    async fn a_merchant_whose_attempt_hangs_begins_no_other_in_the_fast_lane() {
        let (fast, slow, merchant) = (in_flight(), in_flight(), someone());
        let hanging = sent(&fast, merchant, Lane::Fast).await;
        grow_older(&fast, SLOW_ANSWER - Duration::from_secs(1));
        let beside = sent(&fast, merchant, Lane::Fast).await;
        grow_older(&fast, Duration::from_secs(1));
        let asked = Instant::now();
        assert_eq!(begin(&fast, merchant, Lane::Fast).share(Lane::Fast).await, Share::Hangs);
        let stranger = Sharer { is_strangers: true, ..merchant };
        for other in [someone(), stranger] {
            assert_eq!(begin(&fast, other, Lane::Fast).share(Lane::Fast).await, Share::Place);
        }
        drop(hanging);
        // The newer attempt counts separately.
        assert_eq!(begin(&fast, merchant, Lane::Fast).share(Lane::Fast).await, Share::Place);
        drop(beside);

        let mut hanging = Vec::new();
        for _ in 0..Lane::Slow.per_merchant().first {
            hanging.push(sent(&slow, merchant, Lane::Slow).await);
            grow_older(&slow, SLOW_ANSWER);
        }
        assert_eq!(begin(&slow, merchant, Lane::Slow).share(Lane::Slow).await, Share::Hangs);
        assert!(asked.elapsed() < Duration::from_secs(1), "nobody waits for what hangs");
    }

    #[tokio::test]
    async fn what_waits_for_a_place_leaves_when_an_attempt_hangs() {
        let (in_flight, merchant) = (in_flight(), someone());
        let mut taken = Vec::new();
        for _ in 0..Lane::Fast.per_merchant().first {
            taken.push(sent(&in_flight, merchant, Lane::Fast).await);
        }
        grow_older(&in_flight, SLOW_ANSWER - Duration::from_millis(50));
        let mut waiting = begin(&in_flight, merchant, Lane::Fast);
        assert_eq!(waiting.share(Lane::Fast).await, Share::Hangs);
        assert_eq!(waiting.shared(|shared| shared.waiting), Some(0));
    }

    #[tokio::test]
    async fn a_burst_waits_for_its_receiver_which_gets_more_at_once_while_it_answers_well() {
        let (in_flight, merchant) = (in_flight(), someone());
        let mut burst = Vec::new();
        let (most_at_once, at_once) =
            (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        for _ in 0..400 {
            let mut slot = begin(&in_flight, merchant, Lane::Fast);
            let (most_at_once, at_once) = (most_at_once.clone(), at_once.clone());
            burst.push(tokio::spawn(async move {
                assert_eq!(slot.share(Lane::Fast).await, Share::Place);
                assert!(slot.reach("shop.example", Lane::Fast).await);
                let took = Duration::from_millis(5);
                most_at_once.fetch_max(at_once.fetch_add(1, SeqCst) + 1, SeqCst);
                tokio::time::sleep(took).await;
                at_once.fetch_sub(1, SeqCst);
                slot.answered(Lane::Fast, Some(200), took);
            }));
        }
        for one in burst {
            one.await.unwrap();
        }
        assert_eq!(most_at_once.load(SeqCst), Lane::Fast.per_merchant().most);
    }

    #[tokio::test]
    async fn one_merchant_waits_in_half_of_what_is_left_and_another_still_finds_room() {
        let (in_flight, merchant) = (in_flight(), someone());
        let mut slots = Vec::new();
        for _ in 0..Lane::Fast.per_merchant().first {
            slots.push(sent(&in_flight, merchant, Lane::Fast).await);
        }
        let mut waiting = Vec::new();
        let refused = loop {
            let slot = begin(&in_flight, merchant, Lane::Fast);
            match Waiting::begin(&slot) {
                Some(one) => waiting.push((one, slot)),
                None => break slot,
            }
        };
        assert_eq!(waiting.len(), usize::from(LEFT_ALONE) / 2 - slots.len() / 2);
        let other = begin(&in_flight, someone(), Lane::Fast);
        assert!(Waiting::begin(&other).is_some());
        refused.note_deferred();
        assert_eq!(ended(&in_flight, merchant), None, "enough wait");
        waiting.truncate(RESUMED_BELOW - 1);
        assert_eq!(ended(&in_flight, merchant), Some(RESUMED_MAX));
        assert_eq!(ended(&in_flight, merchant), None, "one asks at a time");
        let resumed = |count| in_flight.resumed(merchant, RESUMED_MAX, count);
        resumed(Some(RESUMED_MAX));
        assert_eq!(ended(&in_flight, merchant), None, "they are on their way");
        drop(waiting);
        arrive_elsewhere(&in_flight);
        assert!(ended(&in_flight, merchant).is_some(), "another process got them");
        resumed(Some(RESUMED_MAX - 1));
        arrive_elsewhere(&in_flight);
        assert_eq!(ended(&in_flight, merchant), None, "there are no more");
        refused.note_deferred();
        assert!(ended(&in_flight, merchant).is_some());
        resumed(None);
        assert!(ended(&in_flight, merchant).is_some(), "the failure to resume is not forgotten");
        resumed(None);
        drop(begin(&in_flight, merchant, Lane::Fast));
        assert!(ended(&in_flight, merchant).is_some(), "one that broke off resumed nothing");
    }

    /// What one more attempt of the merchant is told when it ends.
    fn ended(in_flight: &InFlight, merchant: Sharer) -> Option<usize> {
        begin(in_flight, merchant, Lane::Fast).end().map(|(_, wanted)| wanted)
    }

    fn arrive_elsewhere(in_flight: &InFlight) {
        for shared in in_flight.locked().sharers.values_mut() {
            shared.resumed.1 -= RESUMED_WITHIN;
        }
    }

    #[tokio::test]
    async fn what_would_be_deferred_again_is_not_resumed_but_the_last_attempt_resumes_something() {
        let (full, merchant) = (InFlight::new(NonZeroU16::new(2).unwrap()), someone());
        let _others = [begin(&full, someone(), Lane::Fast), begin(&full, someone(), Lane::Fast)];
        let (first, last) =
            (begin(&full, merchant, Lane::Fast), begin(&full, merchant, Lane::Fast));
        first.note_deferred();
        assert_eq!(first.end(), None);
        assert_eq!(last.end(), Some((merchant, 1)));
    }

    #[tokio::test]
    async fn a_slow_attempt_that_has_ended_does_not_count_as_one_that_hangs() {
        let (in_flight, merchant) = (in_flight(), someone());
        let mut slot = sent(&in_flight, merchant, Lane::Fast).await;
        grow_older(&in_flight, SLOW_ANSWER);
        slot.note_deferred();
        slot.answered(Lane::Fast, Some(200), SLOW_ANSWER);
        assert!(slot.end().is_some());
    }

    #[tokio::test]
    async fn requests_to_one_host_are_limited_and_the_next_one_waits() {
        let in_flight = in_flight();
        let mut there = Vec::new();
        for _ in 0..Lane::Slow.per_host_max() {
            there.push(sent(&in_flight, someone(), Lane::Slow).await);
        }
        let mut other = begin(&in_flight, someone(), Lane::Slow);
        assert!(other.reach("other.example", Lane::Slow).await);
        let mut next = begin(&in_flight, someone(), Lane::Slow);
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
        let (in_flight, merchant) = (in_flight(), someone());
        let mut slots = Vec::new();
        for _ in 0..Lane::Slow.per_merchant().first {
            slots.push(sent(&in_flight, merchant, Lane::Slow).await);
        }
        slots[0].answered(Lane::Slow, None, SLOW_ANSWER);
        slots[1].answered(Lane::Slow, Some(200), Duration::ZERO);
        let mut waiting = begin(&in_flight, merchant, Lane::Slow);
        let short = Duration::from_millis(50);
        assert!(timeout(short, waiting.share(Lane::Slow)).await.is_err(), "the limit is halved");
        drop((slots, waiting));
        let left = in_flight.locked();
        assert!(left.attempts.is_empty() && left.sharers.is_empty() && in_flight.hosts.is_empty());
    }
}
