//! The Solana adapter on a substitute node.

pub(super) mod driver;
mod early;
mod hostile;
mod paid;
mod suite;
