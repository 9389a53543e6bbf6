//! The till: devices that a merchant enrols on a link of type `pos`. A one-time code enrols a
//! device, a PIN unlocks it, and its cashier types amounts on a keypad.

pub mod code;
pub mod keypad;
pub mod pin;
mod state;

pub use state::{DeviceFacts, DeviceState};

use crate::{
    invoice::id,
    link::words::{self, WordsError},
};

/// Head of a device's public id.
pub const PREFIX: &str = "pzd_";
/// Devices of one till that are not revoked.
pub const DEVICES_MAX: i64 = 50;
/// Characters of a device's name.
pub const NAME_CHARS_MAX: usize = 60;
/// Time for which an enrolment code is good, in seconds of the database's clock.
pub const CODE_SECONDS: i32 = 15 * 60;
/// Time after which an unlocked device asks for its PIN again: a long working day.
pub const SESSION_SECONDS: i32 = 12 * 60 * 60;

/// A new public id.
pub fn new_id() -> String {
    id::bearer(PREFIX)
}

/// Returns true if `text` could be the id of a device.
pub fn is_id(text: &str) -> bool {
    id::is_bearer(PREFIX, text)
}

/// A device's name on one line; `None` if nothing is left of it, or too much.
pub fn name(text: &str) -> Option<String> {
    let named: Result<_, WordsError> = words::name(text);
    named.ok().flatten().filter(|name| name.chars().count() <= NAME_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_s_name_is_one_short_line() {
        for (text, kept) in [
            (" Counter\n1 ", Some("Counter 1")),
            ("\u{202e}left", Some("left")),
            ("", None),
            (" \u{200b}", None),
        ] {
            assert_eq!(name(text).as_deref(), kept, "{text:?}");
        }
        assert!(name(&"x".repeat(60)).is_some() && name(&"x".repeat(61)).is_none());
    }
}
