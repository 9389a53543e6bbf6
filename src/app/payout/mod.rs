//! Mass payouts: the merchants' orders, and the steps of the payout-batch role with them.

pub mod accounts;
mod advance;
mod bind;
mod create;
mod decide;
mod emit;
mod fees;
mod follow;
mod fund;
mod gas;
mod limits;
mod operate;
pub(crate) mod payers;
mod price;
mod read;
mod refund;
mod reorg;
mod send;
mod settle;
mod sign;
mod spendable;
mod together;
mod view;
mod wallet;

pub use advance::AdvanceError;
pub use bind::Accepted;
pub use create::NewOrder;
pub use decide::Confirmation;
pub use operate::{OperateError, Story};
pub use read::Report;
pub use settle::{Outcome, Settled, Settling};
pub use wallet::{NoWallet, Wallet};

use super::{address::give::NoAddress, market::NoFreshRate};
use crate::{
    asset::address::AddressError,
    payout::{State, quote::QuoteFault, recipients::RowFault},
    storage::StorageError,
};

/// Why an order is not created, or stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum PayoutError {
    #[error("payouts are not enabled here")]
    Disabled,
    #[error("there are no payouts on this network")]
    UnsupportedNetwork,
    #[error("the currency is not offered on this network")]
    UnsupportedCurrency,
    #[error("{} of the rows cannot be paid", .0.len())]
    Rows(Vec<RowFault>),
    #[error("refundAddress {0}")]
    RefundAddress(AddressError),
    #[error("refundAddress belongs to this gateway; a refund would come back as a deposit")]
    OwnRefundAddress,
    #[error(transparent)]
    Quote(QuoteFault),
    #[error("{} of the rows exceed the limit of one payment", .0.len())]
    AboveLimit(Vec<RowFault>),
    #[error("{0} orders are open; confirm, cancel or wait for some of them first")]
    TooManyOpen(u32),
    #[error("the merchant is suspended")]
    Suspended,
    #[error("the Idempotency-Key was used with another request")]
    IdempotencyConflict,
    #[error("no order has this id")]
    NotFound,
    #[error("the order is {}", .0.as_str())]
    InvalidState(State),
    #[error("the quote has expired; refresh it")]
    QuoteExpired,
    #[error("the quote has changed; its total is now {total}")]
    QuoteChanged { quote_id: String, total: String },
    #[error("a deposit was detected already")]
    DepositDetected,
    #[error(transparent)]
    NoFreshRate(#[from] NoFreshRate),
    #[error("the network's fees are not known at the moment")]
    NoFreshFee,
    #[error(transparent)]
    NoAddress(NoAddress),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<NoAddress> for PayoutError {
    fn from(error: NoAddress) -> Self {
        match error {
            NoAddress::Storage(error) => Self::Storage(error),
            NoAddress::NoKey { .. }
            | NoAddress::PoolEmpty { .. }
            | NoAddress::NotDerivable { .. } => Self::NoAddress(error),
        }
    }
}
