//! The one list of a merchant's payouts: mass payouts of both families and non-custodial ones.

use super::PayoutFamily;
use crate::vocabulary::vocabulary;

vocabulary! {
    /// The kind of a payout in the list of all kinds.
    pub enum ListedKind: "kind of a payout" {
        /// Mass payout on bitcoin, litecoin or dogecoin.
        Utxo = "utxo",
        /// Mass payout on an EVM network.
        Evm = "evm",
        /// Signed by the merchant.
        NonCustodial = "non-custodial",
    }
}

vocabulary! {
    /// The state of a payout of either kind: those of mass payouts and those of non-custodial ones.
    pub enum ListedState: "state of a payout of any kind" {
        Draft = "draft",
        PendingDeposit = "pending_deposit",
        Funded = "funded",
        Processing = "processing",
        AwaitingSignature = "awaiting_signature",
        Submitted = "submitted",
        Confirming = "confirming",
        Completed = "completed",
        PartialFailed = "partial_failed",
        Failed = "failed",
        Expired = "expired",
        Cancelled = "cancelled",
    }
}

impl ListedKind {
    pub const fn of(family: PayoutFamily) -> Self {
        match family {
            PayoutFamily::Utxo => Self::Utxo,
            PayoutFamily::Evm => Self::Evm,
        }
    }

    /// The kind as people read it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Utxo => "Mass payout (bitcoin-like)",
            Self::Evm => "Mass payout (EVM)",
            Self::NonCustodial => "Signed by you",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payout::State;

    #[test]
    fn every_state_of_an_order_is_one_of_the_list() {
        for state in State::ALL {
            assert_eq!(state.as_str().parse::<ListedState>().unwrap().as_str(), state.as_str());
        }
        for family in PayoutFamily::ALL {
            assert_eq!(ListedKind::of(family).as_str(), family.as_str());
        }
    }
}
