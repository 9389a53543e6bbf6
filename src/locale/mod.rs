//! The languages of buyers, and how each writes numbers, prices, days and times.
//!
//! A figure that informs is written as the reader's language does. An amount of a coin is not
//! ([`coins`]), and nothing that a machine reads passes through here.

mod date;
mod figure;
mod language;

pub use figure::coins;
pub use language::Language;
