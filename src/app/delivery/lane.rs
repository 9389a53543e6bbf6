//! Two lanes, so that slow endpoints delay no other merchant.

use std::time::Duration;

use super::{
    Channel,
    limit::{Around, Bounds},
};
use crate::broker::route::Route;

/// The queue of a message. Merchants with slow endpoints have a queue of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    Fast,
    Slow,
}

impl Lane {
    /// Concurrent attempts of one merchant in one process. Half of a host's places remain for
    /// other merchants, however well it answers.
    pub(super) const fn per_merchant(self) -> Bounds {
        let most = self.per_host_max() / 2;
        match self {
            Self::Fast => Bounds { least: 3, first: 10, most },
            Self::Slow => Bounds { least: 1, first: 3, most },
        }
    }

    /// Concurrent attempts to one host, for all merchants together: the gateway must not be usable
    /// to flood a third party.
    pub(super) const fn per_host_max(self) -> usize {
        match self {
            Self::Fast => 50,
            Self::Slow => 10,
        }
    }

    /// Route of a message that may not be sent from here, and how long it is on its way. From the
    /// slow lane it comes back after a pause.
    pub(super) const fn overflow(self, channel: &Channel) -> (Route, Duration) {
        match self {
            Self::Fast => (channel.slow, Duration::ZERO),
            Self::Slow => (channel.wait, channel.policy.delay),
        }
    }

    /// Route of the messages that arrive here.
    pub(super) const fn route(self, channel: &Channel) -> Route {
        match self {
            Self::Fast => channel.fast,
            Self::Slow => channel.slow,
        }
    }

    /// Whether a merchant may get more than its first places: while half of its host is free and
    /// many more messages could be held here. It gives them back when another one's first would
    /// not fit.
    pub(super) const fn around(self, host_left: usize, (most, left): (usize, usize)) -> Around {
        if host_left < self.per_merchant().first {
            Around::Crowded
        } else if host_left * 2 <= self.per_host_max() || left * 16 < most {
            Around::Busy
        } else {
            Around::Free
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merchants_of_one_host_leave_each_other_the_first_places() {
        let lane = Lane::Fast;
        let first = lane.per_merchant().first;
        assert_eq!(lane.around(lane.per_host_max() - first, (100, 50)), Around::Free);
        assert_eq!(lane.around(lane.per_host_max() / 2, (100, 50)), Around::Busy);
        assert_eq!(lane.around(first, (100, 50)), Around::Busy);
        assert_eq!(lane.around(first - 1, (100, 50)), Around::Crowded);
        assert_eq!(lane.around(lane.per_host_max(), (100, 6)), Around::Busy);
    }
}
