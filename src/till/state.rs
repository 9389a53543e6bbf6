//! States of a device, which follow from its row.

use super::pin::TRIES_MAX;
use crate::vocabulary::vocabulary;

vocabulary! {
    /// State of a device.
    pub enum DeviceState: "state of a device" {
        /// Its code was not used yet.
        Waiting = "waiting",
        /// Its code was not used in time.
        Expired = "expired",
        Enrolled = "enrolled",
        /// Its PIN was wrong too often in a row: it has to be enrolled anew.
        Locked = "locked",
        Revoked = "revoked",
    }
}

/// The parts of a device's row that decide its state.
#[derive(Debug, Clone, Copy)]
pub struct DeviceFacts {
    pub is_revoked: bool,
    pub is_enrolled: bool,
    pub is_code_over: bool,
    /// Tries of the PIN since the last right one.
    pub pin_tries: i32,
}

impl DeviceState {
    pub const fn of(facts: DeviceFacts) -> Self {
        match facts {
            DeviceFacts { is_revoked: true, .. } => Self::Revoked,
            DeviceFacts { is_enrolled: true, pin_tries, .. } if pin_tries >= TRIES_MAX => {
                Self::Locked
            }
            DeviceFacts { is_enrolled: true, .. } => Self::Enrolled,
            DeviceFacts { is_code_over: true, .. } => Self::Expired,
            _ => Self::Waiting,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_one_state() {
        let facts = |is_revoked, is_enrolled, is_code_over, pin_tries| DeviceFacts {
            is_revoked,
            is_enrolled,
            is_code_over,
            pin_tries,
        };
        for (facts, state) in [
            (facts(false, false, false, 0), DeviceState::Waiting),
            (facts(false, false, true, 0), DeviceState::Expired),
            (facts(false, true, true, 0), DeviceState::Enrolled),
            (facts(false, true, true, 19), DeviceState::Enrolled),
            (facts(false, true, true, 20), DeviceState::Locked),
            (facts(true, true, true, 20), DeviceState::Revoked),
            (facts(true, false, false, 0), DeviceState::Revoked),
        ] {
            assert_eq!(DeviceState::of(facts), state, "{facts:?}");
        }
    }
}
