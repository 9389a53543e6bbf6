//! Events of a merchant: `/v1/events`, and webhooks on trial. Types of answers are frozen: a type
//! may gain a field, never lose one.

pub mod bulk;
pub mod route;
pub mod test_event;
pub mod wire;
