//! Limits on the concurrent attempts of one process and on their connections and files; computed
//! only here.

use std::num::NonZeroU16;

use crate::config::Worker;

/// Channels of one process: payment IPNs and payout webhooks, since a process may deliver both.
const CHANNELS: u16 = 2;
/// Idle connections that are kept for a moment after a response, for the next event to the same
/// host.
const IDLE_MAX: u16 = 200;
/// Connections to the database, the broker and chain nodes, listeners with their clients, and name
/// lookups that have outlived their attempt.
const OTHER_FILES: u64 = 512;

/// Concurrent attempts of one channel, in each of its lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub fast: NonZeroU16,
    pub slow: NonZeroU16,
}

impl Room {
    pub const fn of(worker: &Worker) -> Self {
        Self { fast: worker.deliveries_in_flight, slow: worker.slow_deliveries_in_flight }
    }

    pub const fn give_to(self, worker: &mut Worker) {
        worker.deliveries_in_flight = self.fast;
        worker.slow_deliveries_in_flight = self.slow;
    }

    /// Maximum number of open connections to receivers. A connection that waits for a place waits
    /// for an idle one to close, not for an attempt.
    pub fn connections(self) -> usize {
        usize::from(CHANNELS) * (usize::from(self.fast.get()) + usize::from(self.slow.get()))
            + usize::from(IDLE_MAX)
    }

    /// Files that the process opens; every connection is one.
    pub fn files(self) -> u64 {
        self.connections() as u64 + OTHER_FILES
    }

    /// Scaled down to the available files, with the lanes in the same proportion.
    pub fn within(self, files: u64) -> Self {
        if self.files() <= files {
            return self;
        }
        let for_attempts = files.saturating_sub(OTHER_FILES + u64::from(IDLE_MAX));
        let wanted = self.files() - OTHER_FILES - u64::from(IDLE_MAX);
        let share = |lane: NonZeroU16| {
            let lane = u64::from(lane.get()) * for_attempts / wanted;
            NonZeroU16::new(u16::try_from(lane).unwrap_or(u16::MAX)).unwrap_or(NonZeroU16::MIN)
        };
        Self { fast: share(self.fast), slow: share(self.slow) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(fast: u16, slow: u16) -> Room {
        Room { fast: NonZeroU16::new(fast).unwrap(), slow: NonZeroU16::new(slow).unwrap() }
    }

    #[test]
    fn a_process_takes_on_only_as_many_deliveries_as_it_has_file_descriptors() {
        let wanted = room(1_250, 250);
        assert_eq!((wanted.connections(), wanted.files()), (3_200, 3_712));
        for (files, fitting) in [
            (u64::MAX, wanted),
            (3_712, wanted),
            (3_711, room(1_249, 249)),
            (2_212, room(625, 125)),
            (1_024, room(130, 26)),
            (712, room(1, 1)),
            (0, room(1, 1)),
        ] {
            let room = wanted.within(files);
            assert_eq!(room, fitting, "{files}");
            assert!(room.files() <= files || room.fast == NonZeroU16::MIN, "{files}");
        }
    }
}
