//! The outputs that payments on bitcoin-like networks spend and return, and the place of the search
//! for such a payment in the blocks.

use crate::money::BaseUnits;

/// An output that can be spent, named `txid:n`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldCoin {
    pub outpoint: String,
    pub amount: BaseUnits,
}

/// The facts known of one version of a payment beside its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spent {
    pub coins: Vec<HeldCoin>,
    pub fee: BaseUnits,
    /// The number and the amount of the output that returns.
    pub change: Option<(u32, BaseUnits)>,
}

/// The position up to which the blocks were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    pub height: u64,
    /// Of the block at `height`; unknown before the first look.
    pub hash: Option<String>,
    /// The version that this very block holds.
    pub found: Option<String>,
    /// Since this height something that it spends is gone.
    pub missing_since: Option<u64>,
}
