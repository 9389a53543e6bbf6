//! Double-entry by construction: an entry moves an amount from one account to another, so the books always balance.
//!
//! Every entry names its source, and the database takes each (kind, source) once: booking twice is impossible.

use std::fmt;

use uuid::Uuid;

use crate::{asset::Network, money::BaseUnits};

/// Where value sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Account {
    /// Coins at our deposit addresses on a network: the outside world's side of every deposit.
    Custody(Network),
    /// What a merchant may dispose of.
    Merchant(Uuid),
    /// Deposits after the end of an invoice, until an operator and the merchant agree what becomes of them.
    Late(Uuid),
    /// Known tokens that nobody asked for, kept apart for the merchant.
    Foreign(Uuid),
    /// Over-payments beyond the tolerance, and the fees of payouts.
    Treasury,
    /// What a payout order holds.
    Payout(Uuid),
    /// Coins of the gas wallet. What operators put into it is not booked, so this is minus what left it for good.
    GasWallet(Network),
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Custody(network) => write!(f, "custody:{network}"),
            Self::Merchant(id) => write!(f, "merchant:{id}"),
            Self::Late(id) => write!(f, "late:{id}"),
            Self::Foreign(id) => write!(f, "foreign:{id}"),
            Self::Treasury => f.write_str("treasury"),
            Self::Payout(id) => write!(f, "payout:{id}"),
            Self::GasWallet(network) => write!(f, "gas:{network}"),
        }
    }
}

/// Why an entry was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    Deposit,
    LateDeposit,
    ForeignDeposit,
    Excess,
    /// What had gone to the treasury comes back, as far as the deposit that brought it vanished.
    ExcessReversal,
    /// A deposit that vanished after it was credited: the chain reorganised deeper than its confirmations.
    Reversal,
    /// A merchant funded a payout order.
    PayoutDeposit,
    /// A payment reached its recipient.
    PayoutSent,
    /// The fees of an order, as they were quoted.
    PayoutFee,
    /// What an order did not need went back.
    PayoutRefund,
    /// What a network took for a transaction.
    NetworkFee,
    /// The gas wallet put coins to an order's address, so that its tokens can be sent.
    GasFronted,
    /// What was left of them came back.
    GasReturned,
}

impl EntryKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deposit => "deposit",
            Self::LateDeposit => "late_deposit",
            Self::ForeignDeposit => "foreign_deposit",
            Self::Excess => "excess",
            Self::ExcessReversal => "excess_reversal",
            Self::Reversal => "reversal",
            Self::PayoutDeposit => "payout_deposit",
            Self::PayoutSent => "payout_sent",
            Self::PayoutFee => "payout_fee",
            Self::PayoutRefund => "payout_refund",
            Self::NetworkFee => "network_fee",
            Self::GasFronted => "gas_fronted",
            Self::GasReturned => "gas_returned",
        }
    }
}

/// One movement: `amount` of `asset` leaves `debit` and enters `credit`.
#[derive(Debug, Clone)]
pub struct Entry {
    pub kind: EntryKind,
    /// The row that caused it: a deposit, or the invoice for an excess.
    pub source: Uuid,
    /// `code@network`.
    pub asset: String,
    pub debit: Account,
    pub credit: Account,
    pub amount: BaseUnits,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows carry these names for ever; another spelling would tear the books apart.
    #[test]
    fn accounts_and_kinds_keep_their_names() {
        let id = Uuid::from_u128(7);
        let accounts = [
            (Account::Custody(Network::Polygon), "custody:polygon".to_owned()),
            (Account::Merchant(id), format!("merchant:{id}")),
            (Account::Late(id), format!("late:{id}")),
            (Account::Foreign(id), format!("foreign:{id}")),
            (Account::Treasury, "treasury".to_owned()),
            (Account::Payout(id), format!("payout:{id}")),
            (Account::GasWallet(Network::Polygon), "gas:polygon".to_owned()),
        ];
        for (account, name) in accounts {
            assert_eq!(account.to_string(), name);
        }
        let kinds = [
            (EntryKind::Deposit, "deposit"),
            (EntryKind::LateDeposit, "late_deposit"),
            (EntryKind::ForeignDeposit, "foreign_deposit"),
            (EntryKind::Excess, "excess"),
            (EntryKind::ExcessReversal, "excess_reversal"),
            (EntryKind::Reversal, "reversal"),
            (EntryKind::PayoutDeposit, "payout_deposit"),
            (EntryKind::PayoutSent, "payout_sent"),
            (EntryKind::PayoutFee, "payout_fee"),
            (EntryKind::PayoutRefund, "payout_refund"),
            (EntryKind::NetworkFee, "network_fee"),
            (EntryKind::GasFronted, "gas_fronted"),
            (EntryKind::GasReturned, "gas_returned"),
        ];
        for (kind, name) in kinds {
            assert_eq!(kind.as_str(), name);
        }
    }
}
