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
        let most = self.in_flight.most;
        let mut held = self.in_flight.locked();
        let left = most.saturating_sub(held.attempts.len());
        let around = lane.around(host_left, (most, left));
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

    /// The number of deferred deliveries for which there is room now; `None` if none are deferred
    /// or none are needed. The caller resumes them and tells the number by [`Self::resumed`].
    pub(super) fn may_resume(&self) -> Option<(Sharer, usize)> {
        let sharer = self.sharer?;
        let most = self.in_flight.most;
        let mut held = self.in_flight.locked();
        let left = most.saturating_sub(held.attempts.len());
        let shared = held.sharers.get_mut(&sharer)?;
        let coming = shared.waiting + shared.coming();
        if !shared.has_deferred || coming >= RESUMED_BELOW || shared.hangs() {
            return None;
        }
        // Each that waits leaves one less for the others.
        let wanted = left.saturating_sub(coming) / 2;
        if wanted == 0 && shared.slots > 1 {
            // They would be deferred again. Another one of this merchant ends later.
            return None;
        }
        // Until the answer nobody else asks.
        shared.has_deferred = false;
        Some((sharer, wanted.clamp(1, RESUMED_MAX)))
    }

    /// `None` if they could not be resumed: the next attempt that ends tries again.
    pub(super) fn resumed(&self, wanted: usize, resumed: Option<usize>) {
        self.shared(|shared| {
            shared.has_deferred |= resumed.is_none_or(|resumed| resumed >= wanted);
            shared.resumed = (shared.coming() + resumed.unwrap_or(0), Instant::now());
        });
    }

    fn shared<T>(&self, look: impl FnOnce(&mut Shared) -> T) -> Option<T> {
        let mut held = self.in_flight.locked();
        held.sharers.get_mut(&self.sharer?).map(look)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.release();
        let mut held = self.in_flight.locked();
        let Some(sharer) = self.sharer else { return };
        let Some(shared) = held.sharers.get_mut(&sharer) else { return };
        shared.end(self.attempt, self.place.take());
        shared.slots -= 1;
        if shared.slots == 0 {
            held.sharers.remove(&sharer);
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
        let left = slot.in_flight.most.saturating_sub(held.attempts.len());
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
        assert_eq!(refused.may_resume(), None, "enough wait");
        waiting.truncate(RESUMED_BELOW - 1);
        let (_, wanted) = refused.may_resume().unwrap();
        assert_eq!(wanted, RESUMED_MAX);
        assert_eq!(refused.may_resume(), None, "one asks at a time");
        refused.resumed(wanted, Some(wanted));
        assert_eq!(refused.may_resume(), None, "they are on their way");
        refused.resumed(wanted, Some(0));
        drop(waiting);
        refused.shared(|shared| shared.resumed.1 -= RESUMED_WITHIN);
        assert!(refused.may_resume().is_some(), "another process got them");
        refused.resumed(wanted, Some(wanted - 1));
        refused.shared(|shared| shared.resumed.1 -= RESUMED_WITHIN);
        assert_eq!(refused.may_resume(), None, "there are no more");
        refused.note_deferred();
        assert!(refused.may_resume().is_some());
        refused.resumed(wanted, None);
        assert!(refused.may_resume().is_some(), "that they could not be resumed is not forgotten");
    }

    #[tokio::test]
    async fn what_would_be_deferred_again_is_not_resumed_but_the_last_attempt_resumes_something() {
        let (full, merchant) = (InFlight::new(NonZeroU16::new(2).unwrap()), someone());
        let running = sent(&full, merchant, Lane::Fast).await;
        let slot = begin(&full, merchant, Lane::Fast);
        slot.note_deferred();
        assert_eq!(slot.may_resume(), None);
        let _other = begin(&full, someone(), Lane::Fast);
        drop(running);
        assert_eq!(slot.may_resume(), Some((merchant, 1)));
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
