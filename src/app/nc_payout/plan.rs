//! A payout that is to be built, and what was built of it.

use crate::{
    asset::catalogue::Currency,
    money::BaseUnits,
    nc_payout::{FeeLevel, Unsigned},
    payout::coins::{HeldCoin, Place},
};

/// Payout to build.
pub(super) struct Plan<'a> {
    pub currency: &'static Currency,
    /// Spelt as by `match_key`.
    pub sender: &'a str,
    pub fee_level: FeeLevel,
    /// Recipients in the spelling of wallets.
    pub outputs: Vec<(&'a str, BaseUnits)>,
    /// Inputs to spend on bitcoin-like networks, as `txid:n`.
    pub inputs: &'a [String],
    /// Nonces of the earlier build on EVM networks, reused so that no recipient is paid by both
    /// builds. Empty for the first build.
    pub nonces: &'a [u64],
}

/// Transactions to be signed: one per output in their order, or one for all outputs.
pub(super) struct Built {
    pub chain_id: Option<u64>,
    pub transactions: Vec<Unsigned>,
    pub spends: Option<Spends>,
}

/// Inputs of a transaction on a bitcoin-like network, and the block from which the search for it
/// starts.
pub(super) struct Spends {
    pub coins: Vec<HeldCoin>,
    pub begin: Place,
}
