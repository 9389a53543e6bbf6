//! Accounting: exports of what the books and the records say.

pub mod explain;
pub mod export;
mod lines;
pub mod report;
mod spool;
pub mod verify;
