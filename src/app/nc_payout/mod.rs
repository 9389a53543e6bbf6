//! Non-custodial payouts: built for a merchant, signed by him, checked, broadcast and followed. No
//! key is ever here.

mod build;
mod create;
mod decide;
mod evm;
mod follow;
mod operate;
mod plan;
mod preview;
mod read;
mod submit;
mod utxo;

pub use create::NewNcPayout;
pub use operate::NcStory;
pub use preview::NcPreview;

use crate::{
    asset::address::AddressError,
    chain::{
        ChainError, UnusableSource,
        pay::utxo::{DraftError, Unusable},
    },
    money::BaseUnits,
    nc_payout::{
        State,
        check::Mismatch,
        lifecycle::{Refusal, Step, Verdict},
        psbt,
    },
    payout::recipients::RowFault,
    storage::StorageError,
};

/// A recipient that refuses the transfer, whatever is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusingOutput {
    /// From 1, as rows are counted.
    pub row: usize,
    pub address: String,
    /// The node's explanation.
    pub reason: String,
}

/// Why a payout is not built, or not taken further.
#[derive(Debug, thiserror::Error)]
pub enum NcPayoutError {
    #[error("there are no non-custodial payouts on this network")]
    UnsupportedNetwork,
    #[error("the currency is not offered on this network")]
    UnsupportedCurrency,
    #[error("{} of the outputs cannot be paid", .0.len())]
    Rows(Vec<RowFault>),
    #[error("fromAddress {0}")]
    FromAddress(AddressError),
    #[error("fromAddress must be locked by one key: P2WPKH or P2PKH")]
    NotOneKey,
    #[error("inputs is required on this network: the outputs of fromAddress that are to be spent")]
    NoInputs,
    #[error("{} of the inputs cannot be spent", .0.len())]
    Inputs(Vec<(String, Unusable)>),
    #[error("the transactions that made the inputs are too large together; spend fewer at a time")]
    InputsTooLarge,
    #[error("{} of the recipients refuse the transfer", .0.len())]
    Refused(Vec<RefusingOutput>),
    #[error("the outputs or their fees are too large to be counted")]
    TooLarge,
    #[error("{has} base units are available and {needs} are needed")]
    InsufficientFunds { has: u128, needs: u128 },
    #[error(
        "{has} base units of the network's coin are available and {needs} are needed with the fees"
    )]
    InsufficientGas { has: u128, needs: u128 },
    #[error(
        "the network asks {asked} wei for a unit of gas now, and at most {most} are offered; try later"
    )]
    FeeTooHigh { asked: u128, most: u128 },
    #[error("the merchant is suspended")]
    Suspended,
    #[error("the Idempotency-Key was used with another request")]
    IdempotencyConflict,
    #[error("no payout has this id")]
    NotFound,
    #[error("the payout is {}", .0.as_str())]
    InvalidState(State),
    #[error("the payout expired unsigned; create it again")]
    Expired,
    #[error(
        "nonce {0} of fromAddress was used since the payout was built: if by what you signed of it, submit that; otherwise cancel \
         the payout and create it again"
    )]
    NonceUsed(u64),
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    #[error(transparent)]
    PsbtMismatch(#[from] psbt::check::Mismatch),
    #[error("{0}")]
    Rejected(String),
    #[error("nothing was built: {0}")]
    Unbuilt(DraftError),
    #[error(transparent)]
    Node(#[from] ChainError),
    #[error(transparent)]
    Source(#[from] UnusableSource),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl NcPayoutError {
    fn insufficient_funds(has: BaseUnits, needs: BaseUnits) -> Self {
        Self::InsufficientFunds { has: has.get(), needs: needs.get() }
    }

    fn insufficient_gas(has: BaseUnits, needs: BaseUnits) -> Self {
        Self::InsufficientGas { has: has.get(), needs: needs.get() }
    }
}

/// Checks that a step may be taken.
fn allowed(state: State, step: &Step) -> Result<(), NcPayoutError> {
    match step.verdict {
        Verdict::Moved | Verdict::Kept => Ok(()),
        Verdict::Refused(Refusal::InvalidState) => Err(NcPayoutError::InvalidState(state)),
        Verdict::Refused(Refusal::Expired) => Err(NcPayoutError::Expired),
    }
}
