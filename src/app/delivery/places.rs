//! Places for attempts at once, as many as their limit says.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::limit::{Bounds, Limit, Seen};

/// Places that are given in the order in which they were asked for.
pub(super) struct Places {
    semaphore: Arc<Semaphore>,
    limit: Limit,
    /// Places that the limit has taken back and that attempts still have.
    owed: usize,
}

impl Places {
    pub(super) fn new(bounds: Bounds) -> Self {
        let limit = Limit::new(bounds);
        Self { semaphore: Arc::new(Semaphore::new(limit.now())), limit, owed: 0 }
    }

    /// Where to wait for a place. It has to be returned by [`Self::give_back`].
    pub(super) fn semaphore(&self) -> Arc<Semaphore> {
        self.semaphore.clone()
    }

    /// Lets the limit follow one more answer.
    pub(super) fn answered(&mut self, seen: Seen) {
        let before = self.limit.now();
        self.limit.answered(seen);
        let now = self.limit.now();
        let more = now.saturating_sub(before);
        let kept = more.min(self.owed);
        self.owed -= kept;
        self.semaphore.add_permits(more - kept);
        let fewer = before.saturating_sub(now);
        self.owed += fewer - self.semaphore.forget_permits(fewer);
    }

    pub(super) fn give_back(&mut self, place: OwnedSemaphorePermit) {
        match self.owed.checked_sub(1) {
            Some(owed) => {
                self.owed = owed;
                place.forget();
            }
            None => drop(place),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::app::delivery::limit::{Around, Verdict};

    const FIRST: usize = 4;
    const SEEN: Seen = Seen {
        verdict: Verdict::Delivered,
        took: Duration::from_millis(10),
        is_wanted: true,
        around: Around::Free,
    };

    fn take(places: &Places) -> Vec<OwnedSemaphorePermit> {
        std::iter::from_fn(|| places.semaphore().try_acquire_owned().ok()).collect()
    }

    #[test]
    fn places_that_are_taken_back_while_attempts_have_them_go_when_they_are_given_back() {
        let mut places = Places::new(Bounds { least: 1, first: FIRST, most: 8 });
        let mut taken = take(&places);
        assert_eq!(taken.len(), FIRST);
        places.answered(SEEN);
        taken.extend(take(&places));
        assert_eq!(taken.len(), FIRST + 1);
        places.answered(Seen { verdict: Verdict::Overloaded, ..SEEN });
        assert_eq!((places.limit.now(), places.owed), (2, 3));
        for place in taken.drain(1..) {
            places.give_back(place);
        }
        assert_eq!(take(&places).len(), 1, "another one is still taken");
        taken.into_iter().for_each(|place| places.give_back(place));
        assert_eq!(take(&places).len(), 2);
    }

    #[test]
    fn a_place_that_is_owed_is_kept_when_the_limit_grows_again() {
        let mut places = Places::new(Bounds { least: 1, first: FIRST, most: 8 });
        let taken = take(&places);
        places.answered(Seen { verdict: Verdict::Overloaded, ..SEEN });
        assert_eq!(places.owed, 2);
        places.answered(SEEN);
        places.answered(SEEN);
        assert_eq!((places.limit.now(), places.owed), (3, 1));
        assert!(take(&places).is_empty());
        taken.into_iter().for_each(|place| places.give_back(place));
        assert_eq!(take(&places).len(), 3);
    }
}
