//! Double-entry bookkeeping by construction: an entry moves an amount from one account to another,
//! so the books always balance.
//!
//! Every entry names its source, and the database accepts each (kind, source) once: booking twice
//! is impossible.

use std::fmt;

use uuid::Uuid;

use crate::{asset::Network, money::BaseUnits, vocabulary::vocabulary};

/// Account of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Account {
    /// Coins at our deposit addresses on a network: the external side of every deposit.
    Custody(Network),
    /// Coins that were collected from there: at the treasury's address, whose key is the
    /// operator's.
    TreasuryCustody(Network),
    /// Available balance of a merchant.
    Merchant(Uuid),
    /// Deposits after the end of an invoice, until the operator and the merchant agree on their
    /// use.
    Late(Uuid),
    /// Known tokens other than the one asked for, kept apart for the merchant.
    Foreign(Uuid),
    /// Over-payments beyond the tolerance, and the fees of payouts.
    Treasury,
    /// Amount held by a payout order.
    Payout(Uuid),
    /// Coins of the gas wallet. Deposits by operators are not booked, so the balance is minus the
    /// amount that left it for good.
    GasWallet(Network),
    /// Coins of the wallet that pays the gas of x402's settlements; as with the gas wallet.
    X402Gas(Network),
    /// Coins of the wallet that pays the gas of tokens that are collected; as with the gas wallet.
    SweepGas(Network),
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Custody(network) => write!(f, "custody:{network}"),
            Self::TreasuryCustody(network) => write!(f, "treasury_custody:{network}"),
            Self::Merchant(id) => write!(f, "merchant:{id}"),
            Self::Late(id) => write!(f, "late:{id}"),
            Self::Foreign(id) => write!(f, "foreign:{id}"),
            Self::Treasury => f.write_str("treasury"),
            Self::Payout(id) => write!(f, "payout:{id}"),
            Self::GasWallet(network) => write!(f, "gas:{network}"),
            Self::X402Gas(network) => write!(f, "x402_gas:{network}"),
            Self::SweepGas(network) => write!(f, "sweep_gas:{network}"),
        }
    }
}

vocabulary! {
    /// Reason of an entry.
    pub enum EntryKind: "kind of ledger entry" {
        Deposit = "deposit",
        LateDeposit = "late_deposit",
        ForeignDeposit = "foreign_deposit",
        Excess = "excess",
        /// Returns an excess from the treasury, in so far as the deposit that brought it vanished.
        ExcessReversal = "excess_reversal",
        /// A deposit that vanished after it was credited, by a reorg deeper than its confirmations.
        Reversal = "reversal",
        /// A merchant funded a payout order.
        PayoutDeposit = "payout_deposit",
        /// A payment reached its recipient.
        PayoutSent = "payout_sent",
        /// The fees of an order, as quoted.
        PayoutFee = "payout_fee",
        /// Fees for which nothing was done: those of rows that never went out, or of an order of
        /// which nothing was signed.
        PayoutFeeReturned = "payout_fee_returned",
        /// Unused rest of an order, returned to the merchant.
        PayoutRefund = "payout_refund",
        /// A payment of an order, a refund or gas whose block a reorg replaced after it was final.
        PayoutReversal = "payout_reversal",
        /// Network fee of a transaction.
        NetworkFee = "network_fee",
        /// The fee of a transaction whose block a reorg replaced after it was final.
        NetworkFeeReversal = "network_fee_reversal",
        /// Coins sent from the gas wallet to an order's address, so that its tokens can be sent.
        GasFronted = "gas_fronted",
        /// Unused rest of those coins, returned to the gas wallet.
        GasReturned = "gas_returned",
        /// A program paid for a resource of the merchant (x402).
        X402Payment = "x402_payment",
        /// Deposits of invoices were collected at the treasury's address. It changes where coins
        /// are, and not whose.
        Sweep = "sweep",
    }
}

impl EntryKind {
    /// The reason in a sentence, for people.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Deposit => "a deposit of an invoice's own currency, in time",
            Self::LateDeposit => "a deposit of an invoice's own currency, after its end",
            Self::ForeignDeposit => "a deposit in another currency than the one asked for",
            Self::Excess => "what an overpaid invoice received above its amount",
            Self::ExcessReversal => "returns an excess: the deposit that brought it left the chain",
            Self::Reversal => "takes back a deposit that left the chain after it was booked",
            Self::PayoutDeposit => "the merchant funded a payout order",
            Self::PayoutSent => "a payment reached its recipients",
            Self::PayoutFee => "the fees of a payout order, as quoted",
            Self::PayoutFeeReturned => "returns fees for which nothing was done",
            Self::PayoutRefund => "the unused rest of a payout order went back to the merchant",
            Self::PayoutReversal => "takes back a payment whose block was replaced",
            Self::NetworkFee => "what the network took for a transaction",
            Self::NetworkFeeReversal => {
                "takes back the fee of a transaction whose block was replaced"
            }
            Self::GasFronted => "gas for an order's address, so that its tokens can be sent",
            Self::GasReturned => "the unused rest of that gas",
            Self::X402Payment => "a program's payment for a resource (x402)",
            Self::Sweep => "what invoices received was collected at the treasury's address",
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

    /// Rows keep these names for ever; another spelling would split the books.
    #[test]
    fn accounts_and_kinds_keep_their_names() {
        let id = Uuid::from_u128(7);
        let accounts = [
            (Account::Custody(Network::Polygon), "custody:polygon".to_owned()),
            (Account::TreasuryCustody(Network::Polygon), "treasury_custody:polygon".to_owned()),
            (Account::Merchant(id), format!("merchant:{id}")),
            (Account::Late(id), format!("late:{id}")),
            (Account::Foreign(id), format!("foreign:{id}")),
            (Account::Treasury, "treasury".to_owned()),
            (Account::Payout(id), format!("payout:{id}")),
            (Account::GasWallet(Network::Polygon), "gas:polygon".to_owned()),
            (Account::X402Gas(Network::Base), "x402_gas:base".to_owned()),
            (Account::SweepGas(Network::Base), "sweep_gas:base".to_owned()),
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
            (EntryKind::PayoutFeeReturned, "payout_fee_returned"),
            (EntryKind::PayoutRefund, "payout_refund"),
            (EntryKind::PayoutReversal, "payout_reversal"),
            (EntryKind::NetworkFee, "network_fee"),
            (EntryKind::NetworkFeeReversal, "network_fee_reversal"),
            (EntryKind::GasFronted, "gas_fronted"),
            (EntryKind::GasReturned, "gas_returned"),
            (EntryKind::X402Payment, "x402_payment"),
            (EntryKind::Sweep, "sweep"),
        ];
        for (kind, name) in kinds {
            assert_eq!(kind.as_str(), name);
        }
    }
}
