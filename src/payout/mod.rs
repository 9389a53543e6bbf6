//! The rules of mass payouts. Pure: no clock, no database, no network.
//!
//! [`csv`] and [`recipients`] decide who is to be paid, [`quote`], [`fee`] and [`gas`] what that costs, [`lifecycle`] and
//! [`batch`] every state, and [`order`] what a merchant gets to see. [`eip1559`] is the one kind of transaction that EVM
//! networks are paid with, and [`transfer`] what it does. On bitcoin-like
//! networks [`spend`] decides what a transaction spends and costs, and [`sighash`] what its signatures cover.

pub mod batch;
pub mod csv;
pub mod eip1559;
pub mod fee;
pub mod gas;
pub mod id;
pub mod lifecycle;
pub mod order;
pub mod quote;
pub mod recipients;
pub mod schema;
pub mod sighash;
pub mod spend;
pub mod transfer;
pub mod vocabulary;

pub use vocabulary::{EventType, FeeMode, Funding, PayoutFamily, State};
