//! Rules of mass payouts. Pure: no clock, no database, no network.
//!
//! [`csv`], [`recipients`] and [`lost`] decide the recipients, [`quote`], [`fee`] and [`gas`] the
//! costs, [`limit`] how much may be signed, [`payment`] what a payment is for, [`hold`] what stops
//! an order, [`lifecycle`] and [`batch`] every state, and [`order`] the merchant's view.
//! [`eip1559`] is the one kind of transaction for payments on EVM networks, and [`transfer`] and
//! [`multisend`] its content. On bitcoin-like networks [`spend`] decides the coin selection and the
//! fee of a transaction, [`coins`] names what it spends and returns, and [`sighash`] computes the
//! digests to sign. [`binding`] is the text over which a keyed digest binds an order from its
//! creation to its last signature. [`fingerprint`] identifies a repeated request, and [`listed`]
//! names what stands in the one list of all payouts.

pub mod batch;
pub mod binding;
pub mod coins;
pub mod csv;
pub mod eip1559;
pub mod fee;
pub mod fingerprint;
pub mod gas;
pub mod hold;
pub mod id;
pub mod lifecycle;
pub mod limit;
pub mod listed;
pub mod lost;
pub mod multisend;
pub mod order;
pub mod payment;
pub mod quote;
pub mod recipients;
pub mod schema;
pub mod sighash;
pub mod spend;
pub mod transfer;
pub mod vocabulary;

pub use vocabulary::{EventType, FeeMode, Funding, PayoutFamily, State};
