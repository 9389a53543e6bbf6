//! Merchants: their accounts, and the authentication and rate limits of their requests.

pub mod admit;
pub mod manage;
