//! A merchant's places in a lane: their number follows the answers of its endpoint.

use std::{sync::Arc, time::Duration};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What an answer may take beside the fastest one and still count as fast: the noise of a busy
/// machine.
const NOISE: Duration = Duration::from_millis(20);

/// Places for attempts that run at once.
///
/// While all are taken, each delivery that was about as fast as the fastest gives one more, so their
/// number doubles with each round (slow start of TCP, RFC 5681). A failure halves it, but never
/// below the number that an unknown endpoint has; an endpoint that becomes slower under load gets
/// no more. What was learned is forgotten with the last attempt.
pub(super) struct Places {
    semaphore: Arc<Semaphore>,
    least: usize,
    most: usize,
    now: usize,
    /// Places that are still taken and go when they are given back.
    too_many: usize,
    fastest: Duration,
}

impl Places {
    pub(super) fn new(least: usize, most: usize) -> Self {
        let semaphore = Arc::new(Semaphore::new(least));
        Self { semaphore, least, most, now: least, too_many: 0, fastest: Duration::MAX }
    }

    pub(super) fn semaphore(&self) -> Arc<Semaphore> {
        self.semaphore.clone()
    }

    /// Nobody has a place or waits for one.
    pub(super) fn is_unused(&self) -> bool {
        Arc::strong_count(&self.semaphore) == 1
    }

    pub(super) fn answered(&mut self, is_delivered: bool, took: Duration) {
        if !is_delivered {
            return self.halve();
        }
        self.fastest = self.fastest.min(took);
        let is_fast = took <= self.fastest.saturating_mul(2) + NOISE;
        if is_fast && self.now < self.most && self.semaphore.available_permits() == 0 {
            self.now += 1;
            match self.too_many.checked_sub(1) {
                Some(fewer) => self.too_many = fewer,
                None => self.semaphore.add_permits(1),
            }
        }
    }

    fn halve(&mut self) {
        let fewer = (self.now / 2).max(self.least);
        let gone = self.now - fewer;
        self.now = fewer;
        self.too_many += gone - self.semaphore.forget_permits(gone);
    }

    pub(super) fn give_back(&mut self, place: OwnedSemaphorePermit) {
        if let Some(fewer) = self.too_many.checked_sub(1) {
            self.too_many = fewer;
            place.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: Duration = Duration::from_millis(10);

    fn take(places: &Places, count: usize) -> Vec<OwnedSemaphorePermit> {
        (0..count).map_while(|_| places.semaphore().try_acquire_owned().ok()).collect()
    }

    /// Takes all places, answers each alike, and gives them back; returns how many there were.
    fn round(places: &mut Places, is_delivered: bool, took: Duration) -> usize {
        let mut taken = take(places, usize::MAX);
        let count = taken.len();
        for _ in 0..count {
            places.answered(is_delivered, took);
            // As those do that wait.
            taken.extend(take(places, usize::MAX));
        }
        taken.into_iter().for_each(|place| places.give_back(place));
        count
    }

    #[test]
    fn places_double_with_each_round_up_to_the_most_and_halve_with_a_failure() {
        let mut places = Places::new(10, 50);
        let rounds: Vec<_> = (0..4).map(|_| round(&mut places, true, FAST)).collect();
        assert_eq!(rounds, [10, 20, 40, 50]);
        let taken = take(&places, usize::MAX);
        places.answered(false, FAST);
        assert_eq!((places.now, places.too_many), (25, 25));
        taken.into_iter().for_each(|place| places.give_back(place));
        assert_eq!(take(&places, usize::MAX).len(), 25);
        for _ in 0..5 {
            round(&mut places, false, FAST);
        }
        assert_eq!(round(&mut places, true, FAST), 10, "an unknown endpoint has as many");
    }

    #[test]
    fn an_endpoint_that_becomes_slower_or_has_free_places_gets_no_more() {
        let mut places = Places::new(10, 50);
        places.answered(true, FAST);
        assert_eq!(places.now, 10, "not all are taken");
        round(&mut places, true, 2 * FAST + NOISE + Duration::from_millis(1));
        assert_eq!(places.now, 10, "slower than the fastest");
        assert_eq!(round(&mut places, true, 2 * FAST), 10);
        assert_eq!(places.now, 20);
    }
}
