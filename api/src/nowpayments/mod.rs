//! Views of ours in the shapes of NOWPayments, for clients that were written for it: nothing that
//! `/v1` does not have under its own names.

pub mod route;
pub mod wire;
