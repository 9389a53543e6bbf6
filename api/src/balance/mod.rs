//! The balance of a merchant: `/v1/balance`.

pub mod route;
pub mod wire;
