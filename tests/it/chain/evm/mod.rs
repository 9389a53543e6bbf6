//! The EVM adapter on real EVM nodes.

mod contradiction;
pub(super) mod driver;
mod hostile;
mod left_out;
mod refusal;
mod settled;
mod stage;
mod suite;
mod volume;
