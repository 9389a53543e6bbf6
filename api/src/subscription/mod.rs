//! Subscriptions: `/v1/subscriptions` for their merchant, `{checkout_url}/renew/<token>` and
//! `/unsubscribe/<token>` for their subscribers.

pub mod page;
pub mod route;
pub mod unsubscribe;
