//! Collecting: transactions that move deposits of invoices to the treasury's addresses.
//!
//! A plan is made where the rows and the nodes are, signed where the cold seed is, and sent where
//! it was made. The machine that signs trusts nothing in it: see [`check`]. Pure: no node, no
//! clock, no row.

pub mod authorized;
pub mod check;
mod evm;
pub mod own;
pub mod plan;
pub mod sign;
pub mod signed;
mod utxo;
pub mod worth;

use crate::{asset::Family, invoice::id, vocabulary::vocabulary};

const PLAN: &str = "swp_";

vocabulary! {
    /// State of a transaction of a plan.
    pub enum State: "state of a sweep's transaction" {
        /// No bytes of it are known here.
        Planned = "planned",
        /// Its bytes are stored, and no node has taken them yet.
        Signed = "signed",
        Sent = "sent",
        Confirmed = "confirmed",
        /// It took nothing: it was reverted, or another transaction took its place.
        Failed = "failed",
        /// Given up before it was signed here.
        Dropped = "dropped",
    }
}

impl State {
    /// Returns true while it may still be mined.
    pub const fn is_open(self) -> bool {
        match self {
            Self::Planned | Self::Signed | Self::Sent => true,
            Self::Confirmed | Self::Failed | Self::Dropped => false,
        }
    }
}

/// A public id of a plan.
pub fn plan_id() -> String {
    id::bearer(PLAN)
}

/// Returns true if `text` can be the id of a plan.
pub fn is_plan_id(text: &str) -> bool {
    id::is_bearer(PLAN, text)
}

/// Returns true if transactions of the family are built here. Deposits of the others are collected
/// with a wallet that has the words.
pub const fn is_swept(family: Family) -> bool {
    match family {
        Family::Bitcoin | Family::Litecoin | Family::Dogecoin | Family::Evm => true,
        Family::Tron | Family::Solana | Family::Near | Family::Ton | Family::Thorchain => false,
    }
}
