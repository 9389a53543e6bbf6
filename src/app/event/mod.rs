//! A merchant's own view of his events: the feed, one event attempt by attempt, and sending it
//! again.

pub mod feed;
pub mod resend;
