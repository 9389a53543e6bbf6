//! Accounting: exports of what the books and the records say.

pub mod explain;
pub mod export;
pub mod give_way;
mod lines;
pub mod report;
pub mod slot;
mod spool;
pub mod verify;
