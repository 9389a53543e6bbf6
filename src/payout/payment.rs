//! A payment of an order: its purpose, and its state in the database.

use crate::vocabulary::vocabulary;

vocabulary! {
    /// The purpose of a payment.
    pub enum Purpose: "purpose of a payment" {
        Pay = "pay",
        Refund = "refund",
        /// The network's coin, from the gas wallet to an order's address.
        Gas = "gas",
        /// Unused gas, back to the gas wallet.
        GasReturn = "gas_return",
        /// Child-pays-for-parent: pays no recipient, spends the change of another payment and
        /// raises its effective fee rate.
        Bump = "bump",
        /// Pays no recipient, and lets the contract that pays many move the order's tokens.
        Allowance = "allowance",
    }
}

impl Purpose {
    /// Returns true if the payment moves gas between the gas wallet and an order's address.
    pub const fn moves_gas(self) -> bool {
        match self {
            Self::Gas | Self::GasReturn => true,
            Self::Pay | Self::Refund | Self::Bump | Self::Allowance => false,
        }
    }
}

vocabulary! {
    /// The state of a payment.
    pub enum PaymentState: "state of a payment" {
        /// Its bytes are stored, and no node has accepted the latest version so far.
        Signed = "signed",
        /// A node accepted it, or refused it as one that it may know.
        Sent = "sent",
        /// Final, and it did what it was to do.
        Confirmed = "confirmed",
        /// Final without effect.
        Failed = "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_database_reads_back_and_no_other() {
        for purpose in Purpose::ALL {
            assert_eq!(purpose.as_str().parse(), Ok(purpose));
        }
        for state in PaymentState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        assert!("gift".parse::<Purpose>().is_err());
        assert!("SENT".parse::<PaymentState>().is_err());
    }
}
