//! Accounting: the range, the columns and the formats of exports.
//!
//! The same rows always give the same bytes: nothing here reads a clock or a locale.

pub mod balance;
pub mod cell;
pub mod export;
pub mod file;
pub mod freshness;
pub mod kind;
pub mod movement;
pub mod range;
pub mod report;
pub mod seal;

pub use cell::Cell;
pub use export::{Export, Format};
pub use file::{Line, Table};
pub use movement::Movement;
pub use range::{Range, RangeError};
