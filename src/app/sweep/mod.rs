//! Collecting deposits of invoices: plans, the bytes that come back signed, and their way to
//! finality. The rules are in [`crate::sweep`]; nothing here has a key.

mod accounts;
mod end;
mod outputs;
mod plan;
mod read;
mod send;
mod stranger;

pub use plan::{Planned, Reason, Skipped};
pub use read::Status;
pub use send::Progress;

use std::sync::Arc;

use crate::{
    app::{
        Gateway,
        payout::payers::{Payers, Purpose},
    },
    asset::Network,
    chain::{ChainError, UnusableSource},
    config::Unpinned,
    storage::{StorageError, sweeps::candidates::Place},
    sweep::{check::Refused, plan::Unreadable, signed::Mismatch},
};
/// Reason why a plan is not made, or not sent.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    #[error(transparent)]
    Unpinned(#[from] Unpinned),
    #[error("{0} has no node here: only what lies on a real network is collected")]
    NoNode(Network),
    #[error(
        "treasury.{0} is a deposit address of this installation: what arrives there is a payment"
    )]
    OwnAddress(Network),
    #[error(
        "treasury.{network} is the address number {index} of {whose}, which is ours: set an address of \
         another wallet"
    )]
    OwnKey { network: Network, whose: String, index: u32 },
    #[error("another plan has one of these coins; gatewayctl sweep status shows it")]
    Taken,
    #[error("there is no plan {0:?}")]
    Unknown(String),
    #[error("the plan {0} was dropped; make a new one")]
    Dropped(String),
    #[error("other bytes of the plan {0} are stored; they are sent, and these are not")]
    OtherBytes(String),
    #[error("the plan {0} is signed here, and what may have been sent cannot be dropped")]
    Signed(String),
    #[error("nothing of the plan {0} is signed here; send its signed file")]
    Unsigned(String),
    #[error("the plan breaks the rules of these settings: {0}")]
    Refused(#[from] Refused),
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    #[error("the stored plan cannot be read: {0}")]
    Unreadable(#[from] Unreadable),
    #[error("the plan cannot be written: {0}")]
    Unwritable(#[from] serde_json::Error),
    #[error(transparent)]
    Unusable(#[from] UnusableSource),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The index of an address below the account of the invoices.
fn plan_index(place: &Place) -> Result<u32, StorageError> {
    u32::try_from(place.index)
        .map_err(|_| StorageError::damaged("deposit_address", "an index is beyond its account"))
}

impl Gateway {
    fn sweepers(&self, network: Network) -> Result<Arc<Payers>, SweepError> {
        self.payers(network, Purpose::Sweeps)?.ok_or(SweepError::NoNode(network))
    }
}
