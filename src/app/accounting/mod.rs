//! Accounting: exports of what the books and the records say.

pub mod explain;
pub mod export;
mod lines;
pub mod report;
pub mod slot;
mod spool;
pub mod verify;
