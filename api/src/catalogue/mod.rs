//! Currencies, estimates and minimums: `/v1/currencies`, `/v1/estimate`, `/v1/min-amount`.

pub mod route;
pub mod wire;
