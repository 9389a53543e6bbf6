//! Vocabulary of payouts in the database, the API and the webhooks.

use crate::{
    asset::{Family, Network},
    vocabulary::vocabulary,
};

vocabulary! {
    /// The two families of endpoints: `/v1/mass-payout` and `/v1/evm-mass-payout`.
    pub enum PayoutFamily: "family of payout endpoints" {
        /// bitcoin, litecoin, dogecoin: one transaction pays many.
        Utxo = "utxo",
        /// The seven EVM networks: one transaction per recipient.
        Evm = "evm",
    }
}

impl PayoutFamily {
    /// The family that pays out on `network`; `None` where there are no payouts.
    pub const fn of(network: Network) -> Option<Self> {
        match network.family() {
            Family::Bitcoin | Family::Litecoin | Family::Dogecoin => Some(Self::Utxo),
            Family::Evm => Some(Self::Evm),
            Family::Tron | Family::Solana | Family::Near | Family::Ton | Family::Thorchain => None,
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

vocabulary! {
    /// The state of an order.
    pub enum State: "state of a payout order" {
        Draft = "draft",
        PendingDeposit = "pending_deposit",
        Funded = "funded",
        Processing = "processing",
        Completed = "completed",
        PartialFailed = "partial_failed",
        Expired = "expired",
        Cancelled = "cancelled",
    }
}

impl State {
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Draft | Self::PendingDeposit | Self::Funded | Self::Processing => false,
            Self::Completed | Self::PartialFailed | Self::Expired | Self::Cancelled => true,
        }
    }
}

vocabulary! {
    /// Funds received at the order's own address.
    pub enum Funding: "funding state of a payout order" {
        None = "none",
        /// Seen, not yet confirmed.
        Detected = "detected",
        Underfunded = "underfunded",
        Exact = "exact",
        Overfunded = "overfunded",
    }
}

impl Funding {
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

vocabulary! {
    /// Payer of the fees.
    pub enum FeeMode: "payer of fees" {
        /// The fees are added; recipients get their amounts.
        Sender = "sender",
        /// The fees are deducted evenly from the recipients' amounts.
        Recipient = "recipient",
    }
}

vocabulary! {
    /// The events of the second webhook channel (spec, "Mass-payout webhooks").
    pub enum EventType: "payout event" {
        Created = "mass_payout.created",
        QuoteRefreshed = "mass_payout.quote_refreshed",
        DepositDetected = "mass_payout.deposit_detected",
        Underfunded = "mass_payout.underfunded",
        Overfunded = "mass_payout.overfunded",
        BatchBroadcasted = "mass_payout.batch_broadcasted",
        BatchConfirmed = "mass_payout.batch_confirmed",
        BatchFailed = "mass_payout.batch_failed",
        Completed = "mass_payout.completed",
        PartialFailed = "mass_payout.partial_failed",
        Expired = "mass_payout.expired",
        Cancelled = "mass_payout.cancelled",
    }
}

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
