//! The EVM adapter on real EVM nodes.

mod contradiction;
pub(super) mod driver;
mod hostile;
mod refusal;
mod stage;
mod suite;
mod volume;
