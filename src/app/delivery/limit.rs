//! The number of attempts that one merchant's receivers get at once: a rule over their answers.
//!
//! A healthy receiver gets more, as TCP gives more to a free network: the number doubles with each
//! round of answers, and after a sign of overload it grows by one per round (RFC 5681). Overload
//! halves it. Answers that take much longer than the fastest one take places back before anything
//! fails: the others wait in the receiver, and more at once would only wait there (TCP Vegas,
//! Brakmo and Peterson 1995).

use std::time::Duration;

/// An answer's time beyond the fastest one's that says nothing: a busy machine's noise.
const NOISE: Duration = Duration::from_millis(20);

/// Bounds of a limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// For receivers that are overloaded.
    pub least: usize,
    /// For receivers of which nothing is known.
    pub first: usize,
    /// For receivers that answer well.
    pub most: usize,
}

/// What an answer, or the lack of one, says about its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Delivered,
    /// It asked for less, failed, or said nothing in time.
    Overloaded,
    /// It refused this event. That has nothing to do with the number of them.
    Refused,
}

/// The places that others find at the same host, and in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    Free,
    /// Nobody gets more than he has.
    Busy,
    /// Another merchant would not find his first places: what goes beyond them is given back.
    Crowded,
}

/// One attempt that has ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub verdict: Verdict,
    pub took: Duration,
    /// Others wait for a place.
    pub is_wanted: bool,
    pub around: Around,
}

/// A number of attempts at once, always within its bounds.
#[derive(Debug)]
pub(super) struct Limit {
    bounds: Bounds,
    now: usize,
    doubles_below: usize,
    /// Fast answers since the last step of one, less the slow ones.
    fast: usize,
    /// The opposite.
    slow: usize,
    /// Attempts that had begun before the limit was halved: what they meet is not new.
    begun_before: usize,
    fastest: Option<Duration>,
}

impl Verdict {
    /// `None` if there was no answer.
    pub(super) const fn of(status: Option<u16>) -> Self {
        match status {
            Some(200..=299) => Self::Delivered,
            None | Some(408 | 425 | 429 | 500..) => Self::Overloaded,
            Some(_) => Self::Refused,
        }
    }
}

impl Limit {
    pub(super) const fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            now: bounds.first,
            doubles_below: bounds.most,
            fast: 0,
            slow: 0,
            begun_before: 0,
            fastest: None,
        }
    }

    pub(super) const fn now(&self) -> usize {
        self.now
    }

    pub(super) fn answered(&mut self, seen: Seen) {
        let is_new = self.begun_before == 0;
        self.begun_before = self.begun_before.saturating_sub(1);
        match seen.verdict {
            Verdict::Overloaded if is_new => self.halve(),
            Verdict::Delivered if self.compare(seen.took) => {
                self.slow = self.slow.saturating_sub(1);
                if seen.is_wanted && seen.around == Around::Free {
                    self.grow();
                }
            }
            Verdict::Delivered => self.shrink(),
            Verdict::Overloaded | Verdict::Refused => {}
        }
        if seen.around == Around::Crowded && self.now > self.bounds.first {
            self.now -= 1;
        }
    }

    /// Returns true if it took about as long as the fastest one.
    fn compare(&mut self, took: Duration) -> bool {
        let fastest = self.fastest.map_or(took, |fastest| fastest.min(took));
        self.fastest = Some(fastest);
        took <= fastest.saturating_mul(2).saturating_add(NOISE)
    }

    fn grow(&mut self) {
        self.fast += 1;
        if self.now < self.bounds.most && (self.now < self.doubles_below || self.fast >= self.now) {
            self.now += 1;
            self.fast = 0;
        }
    }

    /// Slow answers take places only down to the first number: a receiver may be slow by nature.
    fn shrink(&mut self) {
        self.fast = self.fast.saturating_sub(1);
        self.slow += 1;
        if self.slow >= self.now {
            self.slow = 0;
            self.doubles_below = self.now;
            if self.now > self.bounds.first {
                self.now -= 1;
            }
        }
    }

    fn halve(&mut self) {
        self.begun_before = self.now - 1;
        self.now = (self.now / 2).max(self.bounds.least);
        self.doubles_below = self.now;
        (self.fast, self.slow) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::{cmp::Reverse, collections::BinaryHeap};

    use proptest::prelude::*;

    use super::*;

    const BOUNDS: Bounds = Bounds { least: 3, first: 10, most: 25 };
    const FAST: Duration = Duration::from_millis(10);
    const WELL: Seen =
        Seen { verdict: Verdict::Delivered, took: FAST, is_wanted: true, around: Around::Free };

    /// One answer for each place; returns the limit after them.
    fn round(limit: &mut Limit, seen: Seen) -> usize {
        for _ in 0..limit.now() {
            limit.answered(seen);
        }
        limit.now()
    }

    #[test]
    fn good_answers_double_the_limit_and_overload_halves_it_once_per_round() {
        let mut limit = Limit::new(BOUNDS);
        assert_eq!([(); 3].map(|()| round(&mut limit, WELL)), [20, 25, 25]);
        let failed = Seen { verdict: Verdict::Overloaded, ..WELL };
        assert_eq!([(); 4].map(|()| round(&mut limit, failed)), [12, 6, 3, 3]);
        // From here it grows by one per round.
        assert_eq!([(); 3].map(|()| round(&mut limit, WELL)), [4, 5, 6]);
    }

    #[test]
    fn refusals_of_single_events_and_answers_nobody_waits_behind_change_nothing() {
        let mut limit = Limit::new(BOUNDS);
        let refused = Seen { verdict: Verdict::Refused, ..WELL };
        let unwanted = Seen { is_wanted: false, ..WELL };
        let busy = Seen { around: Around::Busy, ..WELL };
        for seen in [refused, unwanted, busy] {
            assert_eq!(round(&mut limit, seen), BOUNDS.first, "{seen:?}");
        }
    }

    #[test]
    fn answers_much_slower_than_the_fastest_take_places_back_down_to_the_first_number() {
        let mut limit = Limit::new(BOUNDS);
        round(&mut limit, WELL);
        let slow = Seen { took: 2 * FAST + NOISE + Duration::from_millis(1), ..WELL };
        assert_eq!(round(&mut limit, slow), 19);
        for _ in 0..20 {
            round(&mut limit, slow);
        }
        assert_eq!(limit.now(), BOUNDS.first);
    }

    #[test]
    fn among_a_crowd_everybody_goes_back_to_the_first_number_and_not_below() {
        let mut limit = Limit::new(BOUNDS);
        round(&mut limit, WELL);
        round(&mut limit, Seen { around: Around::Crowded, ..WELL });
        assert_eq!(round(&mut limit, Seen { around: Around::Crowded, ..WELL }), BOUNDS.first);
    }

    #[test]
    fn only_answers_that_ask_for_less_and_none_at_all_count_as_overload() {
        let of = |status| Verdict::of(status);
        assert!([200, 204, 299].iter().all(|s| of(Some(*s)) == Verdict::Delivered));
        assert!([301, 400, 401, 404, 410].iter().all(|s| of(Some(*s)) == Verdict::Refused));
        assert!([408, 425, 429, 500, 503, 599].iter().all(|s| of(Some(*s)) == Verdict::Overloaded));
        assert_eq!(of(None), Verdict::Overloaded);
    }

    /// Milliseconds in which a receiver has answered `events`, all there from the start. It works
    /// on `capacity` at a time, each for `pause` milliseconds; the others wait in it.
    fn drained(events: usize, capacity: usize, pause: u64) -> (u64, Limit) {
        let mut limit = Limit::new(BOUNDS);
        let mut free_at: BinaryHeap<_> = (0..capacity).map(|_| Reverse(0)).collect();
        let mut under_way = BinaryHeap::new();
        let (mut now, mut left) = (0, events);
        while left > 0 || !under_way.is_empty() {
            while left > 0 && under_way.len() < limit.now() {
                let Reverse(free) = free_at.pop().unwrap();
                let answered = now.max(free) + pause;
                free_at.push(Reverse(answered));
                under_way.push(Reverse((answered, now)));
                left -= 1;
            }
            let Reverse((answered, begun)) = under_way.pop().unwrap();
            now = answered;
            let took = Duration::from_millis(answered - begun);
            limit.answered(Seen { took, is_wanted: left > 0, ..WELL });
        }
        (now, limit)
    }

    #[test]
    fn a_burst_takes_little_longer_than_with_the_most_places_from_the_start() {
        for pause in [1, 20, 200, 2_000] {
            let (took, _) = drained(2_000, 1_000, pause);
            let ideal = 2_000 / 25 * pause;
            assert!(took * 9 <= ideal * 10, "{took} ms instead of {ideal}");
        }
    }

    #[test]
    fn a_receiver_that_works_on_few_at_a_time_is_kept_busy_and_gets_hardly_more() {
        let (took, limit) = drained(2_000, 4, 100);
        assert!(took <= 2_000 / 4 * 100 + 200, "{took} ms");
        assert!(limit.now() <= BOUNDS.first + 2, "{}", limit.now());
    }

    fn any_seen() -> impl Strategy<Value = Seen> {
        let verdict = prop_oneof![
            4 => Just(Verdict::Delivered),
            1 => Just(Verdict::Overloaded),
            1 => Just(Verdict::Refused),
        ];
        let around = prop_oneof![
            4 => Just(Around::Free),
            1 => Just(Around::Busy),
            1 => Just(Around::Crowded),
        ];
        (verdict, 0_u64..20_000, any::<bool>(), around).prop_map(
            |(verdict, took, is_wanted, around)| Seen {
                verdict,
                took: Duration::from_millis(took),
                is_wanted,
                around,
            },
        )
    }

    proptest! {
        #[test]
        fn whatever_is_seen_the_limit_stays_in_its_bounds_and_takes_one_step_up_at_a_time(
            seen in prop::collection::vec(any_seen(), 0..150),
        ) {
            let mut limit = Limit::new(BOUNDS);
            for one in seen {
                let before = limit.now();
                limit.answered(one);
                prop_assert!((BOUNDS.least..=BOUNDS.most).contains(&limit.now()));
                prop_assert!(limit.now() <= before + 1);
                if limit.now() > before {
                    let is_good = one.verdict == Verdict::Delivered && one.is_wanted;
                    prop_assert!(is_good && one.around == Around::Free, "{one:?}");
                }
            }
        }

        #[test]
        fn from_any_past_good_answers_lead_to_the_most_and_failures_to_the_least(
            past in prop::collection::vec(any_seen(), 0..60),
        ) {
            let mut limit = Limit::new(BOUNDS);
            for one in &past {
                limit.answered(*one);
            }
            for _ in 0..1_000 {
                limit.answered(WELL);
            }
            prop_assert_eq!(limit.now(), BOUNDS.most);
            for _ in 0..200 {
                limit.answered(Seen { verdict: Verdict::Overloaded, ..WELL });
            }
            prop_assert_eq!(limit.now(), BOUNDS.least);
        }
    }
}
