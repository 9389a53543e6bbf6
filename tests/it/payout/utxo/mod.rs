//! Payouts on bitcoin, litecoin and dogecoin, on real nodes. No dogecoin node is available, so
//! litecoin's replaces it: with P2PKH addresses the two behave alike.

pub mod chain;
mod conformance;
mod killed;
mod killed_child;
mod order;
mod pieces;
pub mod scene;
mod seeds;
mod settle;
mod stuck;
mod witness;
