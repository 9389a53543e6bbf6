//! The rules of non-custodial payouts: we build, the merchant signs, we check, broadcast and follow. Pure: no clock, no
//! database, no network.
//!
//! [`build`] says what EVM transactions cost, [`check`] compares them as they came back signed with what was built, and
//! [`psbt`] does both on bitcoin-like networks; [`unsigned`] is either kind. [`lifecycle`] decides every state, and [`view`]
//! is what a merchant gets to see. No key is ever near: all that is known of one is its address.

pub mod build;
pub mod check;
pub mod lifecycle;
pub mod psbt;
pub mod schema;
pub mod unsigned;
pub mod view;
mod vocabulary;

pub use unsigned::Unsigned;
pub use vocabulary::{FeeLevel, State, TransactionState, id, is_id};
