//! The Solana adapter on a stand-in.

pub(super) mod driver;
mod hostile;
mod paid;
mod suite;
