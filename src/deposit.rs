//! Vocabularies of a deposit: value that reached one of our addresses, for an invoice or for a
//! payout order.

use crate::vocabulary::vocabulary;

vocabulary! {
    /// State of a deposit between its first sight and the books.
    pub enum State: "deposit state" {
        /// Seen in the mempool, or in a block without enough confirmations.
        Seen = "seen",
        /// Confirmed, not booked yet.
        Final = "final",
        /// Booked.
        Settled = "settled",
        /// Vanished before it was confirmed: it was replaced or dropped.
        Withdrawn = "withdrawn",
        /// Left the chain after it was booked; the books were corrected.
        Reversed = "reversed",
    }
}

vocabulary! {
    /// Booking of a deposit.
    pub enum BookedAs: "booking of a deposit" {
        Credit = "credit",
        /// Of the right currency, after the end.
        Late = "late",
        /// Of another currency of our catalogue; kept apart for the merchant.
        Foreign = "foreign",
        /// Of an unknown contract, or an amount that no honest token has. Worth nothing to us.
        Suspicious = "suspicious",
        /// Of an owner that can have no deposits.
        Nothing = "nothing",
        /// Our own gas, which the payment that brought it booked.
        Gas = "gas",
    }
}

/// How a deposit was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// A transaction showed it.
    Transaction,
    /// Only the address's balance did: value that a contract sent on.
    Balance,
}

impl FoundBy {
    /// The column `found_by_balance`.
    pub const fn is_balance(self) -> bool {
        matches!(self, Self::Balance)
    }
}
