//! The rules of non-custodial payouts: we build, the merchant signs, we check, broadcast and follow. Pure: no clock, no
//! database, no network.
//!
//! [`build`] makes the transactions and their fees, [`check`] compares what came back signed with what was built,
//! [`lifecycle`] decides every state, and [`view`] is what a merchant gets to see. No key is ever near: all that is known of
//! one is its address.

pub mod build;
pub mod check;
pub mod lifecycle;
pub mod view;
mod vocabulary;

pub use vocabulary::{FeeLevel, State, TransactionState, id, is_id};
