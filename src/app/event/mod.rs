//! A merchant's own view of his events: the feed, one event attempt by attempt, and sending
//! one or many again.

pub mod feed;
pub mod resend;
pub mod resend_many;
