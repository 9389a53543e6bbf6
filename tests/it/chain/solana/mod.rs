//! The Solana adapter on a stand-in.

mod driver;
mod hostile;
mod paid;
mod suite;
