//! Subscriptions: a price that is paid again every interval. Crypto has no direct debit, so each
//! cycle is an invoice that the subscriber pays himself, after a reminder.
//!
//! [`calendar`] computes renewal dates, [`clock`] the times at which the gateway acts on them, and
//! [`lifecycle`] decides states and reminders.

pub mod calendar;
pub mod clock;
pub mod lifecycle;
mod token;
mod vocabulary;

pub use token::Token;
pub use vocabulary::{Interval, State};

use crate::invoice::id;

/// Head of a subscription's public id.
pub const PREFIX: &str = "pzs_";

/// A new public id.
pub fn new_id() -> String {
    id::bearer(PREFIX)
}

/// Returns true if `text` could be the id of a subscription.
pub fn is_id(text: &str) -> bool {
    id::is_bearer(PREFIX, text)
}
