//! Payment links: what a link may ask for, and what its visitors may choose.
//!
//! A link is a page of the checkout. Its visitors have no API key, so everything that they choose
//! is bounded here: the amount by [`terms::Terms`], their words by [`words`].

pub mod button;
pub mod terms;
pub mod typed;
mod vocabulary;
pub mod words;

pub use vocabulary::LinkKind;

use crate::invoice::id;

/// Head of a link's public id.
pub const PREFIX: &str = "pzl_";

/// Links of one merchant. A merchant who needs more creates invoices by the API.
pub const LINKS_MAX: i64 = 10_000;

/// A new public id. It cannot be guessed, so a link is known to those alone who were given it.
pub fn new_id() -> String {
    id::bearer(PREFIX)
}

/// A text that no other form has, by which a form that is sent twice is known.
pub fn new_once() -> String {
    id::bearer("")
}

/// Returns true if `text` could be the id of a link.
pub fn is_id(text: &str) -> bool {
    id::is_bearer(PREFIX, text)
}
