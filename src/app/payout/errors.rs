//! Why a step with an order is not taken.

use uuid::Uuid;

use crate::{
    app::{address::give::NoAddress, market::NoFreshRate},
    asset::address::AddressError,
    chain::{ChainError, UnusableSource, pay::SignError},
    payout::{State, hold::Hold, quote::QuoteFault, recipients::RowFault},
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
    /// The commit of a new order failed, or its answer was lost: the order may be there.
    #[error("the order may be created, and may not: {0}")]
    Unclear(#[source] StorageError),
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

/// Why a worker does not move an order on.
#[derive(Debug, thiserror::Error)]
pub enum AdvanceError {
    /// The message names no order of ours. It can never be worked on.
    #[error("no such payout order")]
    UnknownOrder,
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Source(#[from] UnusableSource),
    #[error("payments cannot be made on this network")]
    NoPayer,
    #[error("a payment cannot be signed: {0}")]
    Sign(#[from] SignError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why an operator's action is refused.
#[derive(Debug, thiserror::Error)]
pub enum OperateError {
    #[error("no payout order has the id {0}")]
    UnknownOrder(String),
    #[error("the order is not held")]
    NotHeld,
    #[error(
        "the order or its hold has changed since this page was shown; look at it as it is now, and decide again"
    )]
    ChangedMeanwhile,
    #[error(
        "this account may not release the order: another account let it in while the order waited, or its role has changed"
    )]
    LetInMeanwhile,
    #[error("the order is held already: {0}")]
    Held(Hold),
    #[error("the order has the refund address {0} already")]
    RefundsGoTo(String),
    #[error(
        "{missing} base units of what funded the order have left the chain: accept what came back (gatewayctl deposit accept), \
         or send as much to its address"
    )]
    FundsGone { missing: u128 },
    #[error("the order is what was confirmed; there is nothing to accept")]
    BoundAlready,
    #[error("no merchant has the id {0}; gatewayctl merchant list shows them all")]
    UnknownMerchant(Uuid),
    #[error("the order has ended")]
    Ended,
    #[error("no payment of the order waits for a block")]
    NothingToBump,
    #[error("the order is {}; only what has no signed payment yet can be cancelled", .0.as_str())]
    TooLateToCancel(State),
    #[error(
        "no final transaction {hash} took the place of an open payment of the order: it must be at least {required} blocks \
         deep, and have used the nonce or all outputs of one"
    )]
    TookNoPlace { hash: String, required: u64 },
    #[error("the payment cannot be settled with this outcome: {0}")]
    SettledOtherwise(String),
    #[error("the payment has ended meanwhile")]
    EndedMeanwhile,
    #[error(transparent)]
    Node(#[from] AdvanceError),
    #[error(transparent)]
    Payout(#[from] PayoutError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}
