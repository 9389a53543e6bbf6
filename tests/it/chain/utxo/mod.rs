//! The adapter of bitcoin, litecoin and dogecoin on real nodes.

pub(super) mod driver;
mod extension_block;
mod left_out;
mod refusal;
mod suite;
