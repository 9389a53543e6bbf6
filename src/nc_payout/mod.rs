//! Rules of non-custodial payouts: we build, the merchant signs, we check, broadcast and follow.
//! Pure: no clock, no database, no network.
//!
//! [`build`] sets the fees of EVM transactions, [`check`] compares the signed transactions with the
//! built ones, and [`psbt`] does both on bitcoin-like networks; [`unsigned`] is either kind, and
//! [`signed`] reads what wallets hand over. [`lifecycle`] decides every state, and [`view`] is the
//! merchant's view. No private key is involved: only its address is known here.

pub mod build;
pub mod check;
pub mod lifecycle;
pub mod psbt;
pub mod schema;
pub mod signed;
pub mod unsigned;
pub mod view;
mod vocabulary;

pub use unsigned::Unsigned;
pub use vocabulary::{FeeLevel, Problem, State, TransactionState, id, is_id, outpoint};
