//! Payouts on bitcoin, litecoin and dogecoin, on real nodes. Dogecoin's node is to be had nowhere, so litecoin's stands in:
//! with addresses by key hash the two speak alike.

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
