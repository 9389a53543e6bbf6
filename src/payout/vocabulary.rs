//! Vocabulary of payouts in the database, the API and the webhooks.

use std::str::FromStr;

use crate::asset::{Family, Network};

/// The two families of endpoints: `/v1/mass-payout` and `/v1/evm-mass-payout`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PayoutFamily {
    /// bitcoin, litecoin, dogecoin: one transaction pays many.
    Utxo,
    /// The seven EVM networks: one transaction per recipient.
    Evm,
}

impl PayoutFamily {
    pub const ALL: [Self; 2] = [Self::Utxo, Self::Evm];

    /// The family that pays out on `network`; `None` where there are no payouts.
    pub const fn of(network: Network) -> Option<Self> {
        match network.family() {
            Family::Bitcoin | Family::Litecoin | Family::Dogecoin => Some(Self::Utxo),
            Family::Evm => Some(Self::Evm),
            Family::Tron | Family::Solana | Family::Near | Family::Ton | Family::Thorchain => None,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Utxo => "utxo",
            Self::Evm => "evm",
        }
    }

    pub(super) const fn order_prefix(self) -> &'static str {
        match self {
            Self::Utxo => "mpo_",
            Self::Evm => "empo_",
        }
    }

    /// Maximum number of rows of one order.
    pub const fn rows_max(self) -> usize {
        match self {
            Self::Utxo => 1_000,
            Self::Evm => 2_000,
        }
    }

    /// Maximum number of recipients of one batch: outputs of one transaction, or transactions
    /// reported together.
    pub const fn batch_rows_max(self) -> usize {
        match self {
            Self::Utxo => 200,
            Self::Evm => 50,
        }
    }
}

/// The state of an order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    Draft,
    PendingDeposit,
    Funded,
    Processing,
    Completed,
    PartialFailed,
    Expired,
    Cancelled,
}

impl State {
    pub const ALL: [Self; 8] = [
        Self::Draft,
        Self::PendingDeposit,
        Self::Funded,
        Self::Processing,
        Self::Completed,
        Self::PartialFailed,
        Self::Expired,
        Self::Cancelled,
    ];

    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Draft | Self::PendingDeposit | Self::Funded | Self::Processing => false,
            Self::Completed | Self::PartialFailed | Self::Expired | Self::Cancelled => true,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::PendingDeposit => "pending_deposit",
            Self::Funded => "funded",
            Self::Processing => "processing",
            Self::Completed => "completed",
            Self::PartialFailed => "partial_failed",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Funds received at the order's own address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Funding {
    None,
    /// Seen, not yet confirmed.
    Detected,
    Underfunded,
    Exact,
    Overfunded,
}

impl Funding {
    pub const ALL: [Self; 5] =
        [Self::None, Self::Detected, Self::Underfunded, Self::Exact, Self::Overfunded];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Detected => "detected",
            Self::Underfunded => "underfunded",
            Self::Exact => "exact",
            Self::Overfunded => "overfunded",
        }
    }

    /// The state without unconfirmed deposits: one that was only seen may have left the chain, or
    /// have returned unnoticed.
    #[must_use]
    pub const fn now_that(self, has_deposit: bool) -> Self {
        match self {
            Self::None | Self::Detected if has_deposit => Self::Detected,
            Self::None | Self::Detected => Self::None,
            Self::Underfunded | Self::Exact | Self::Overfunded => self,
        }
    }
}

/// Payer of the fees.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FeeMode {
    /// The fees are added; recipients get their amounts.
    Sender,
    /// The fees are deducted evenly from the recipients' amounts.
    Recipient,
}

impl FeeMode {
    pub const ALL: [Self; 2] = [Self::Sender, Self::Recipient];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Recipient => "recipient",
        }
    }
}

/// The events of the second webhook channel (spec, "Mass-payout webhooks").
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EventType {
    Created,
    QuoteRefreshed,
    DepositDetected,
    Underfunded,
    Overfunded,
    BatchBroadcasted,
    BatchConfirmed,
    BatchFailed,
    Completed,
    PartialFailed,
    Expired,
    Cancelled,
}

impl EventType {
    pub const ALL: [Self; 12] = [
        Self::Created,
        Self::QuoteRefreshed,
        Self::DepositDetected,
        Self::Underfunded,
        Self::Overfunded,
        Self::BatchBroadcasted,
        Self::BatchConfirmed,
        Self::BatchFailed,
        Self::Completed,
        Self::PartialFailed,
        Self::Expired,
        Self::Cancelled,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "mass_payout.created",
            Self::QuoteRefreshed => "mass_payout.quote_refreshed",
            Self::DepositDetected => "mass_payout.deposit_detected",
            Self::Underfunded => "mass_payout.underfunded",
            Self::Overfunded => "mass_payout.overfunded",
            Self::BatchBroadcasted => "mass_payout.batch_broadcasted",
            Self::BatchConfirmed => "mass_payout.batch_confirmed",
            Self::BatchFailed => "mass_payout.batch_failed",
            Self::Completed => "mass_payout.completed",
            Self::PartialFailed => "mass_payout.partial_failed",
            Self::Expired => "mass_payout.expired",
            Self::Cancelled => "mass_payout.cancelled",
        }
    }
}

/// A text that no version of this code wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an unknown value")]
pub struct UnknownWord;

macro_rules! reads_back {
    ($($word:ty),*) => {$(
        impl FromStr for $word {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<Self, UnknownWord> {
                Self::ALL.into_iter().find(|word| word.as_str() == text).ok_or(UnknownWord)
            }
        }
    )*};
}

reads_back!(
    State,
    Funding,
    FeeMode,
    super::batch::BatchState,
    super::batch::ItemState,
    super::payment::Purpose,
    super::payment::PaymentState,
    super::lifecycle::CancelledBy
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payouts_exist_on_ten_networks() {
        let with = |family| {
            Network::ALL.into_iter().filter(|n| PayoutFamily::of(*n) == Some(family)).count()
        };
        assert_eq!((with(PayoutFamily::Utxo), with(PayoutFamily::Evm)), (3, 7));
    }

    #[test]
    fn the_twelve_events_of_the_spec() {
        let spec = "created quote_refreshed deposit_detected underfunded overfunded batch_broadcasted \
                    batch_confirmed batch_failed completed partial_failed expired cancelled";
        let names: Vec<_> = EventType::ALL
            .iter()
            .map(|e| e.as_str().strip_prefix("mass_payout.").unwrap())
            .collect();
        assert_eq!(names.join(" "), spec);
    }
}
