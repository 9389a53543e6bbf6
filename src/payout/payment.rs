//! A payment of an order: its purpose, and its state in the database.

/// The purpose of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    Pay,
    Refund,
    /// The network's coin, from the gas wallet to an order's address.
    Gas,
    /// Unused gas, back to the gas wallet.
    GasReturn,
    /// Child-pays-for-parent: pays no recipient, spends the change of another payment and raises
    /// its effective fee rate.
    Bump,
    /// Pays no recipient, and lets the contract that pays many move the order's tokens.
    Allowance,
}

impl Purpose {
    pub const ALL: [Self; 6] =
        [Self::Pay, Self::Refund, Self::Gas, Self::GasReturn, Self::Bump, Self::Allowance];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pay => "pay",
            Self::Refund => "refund",
            Self::Gas => "gas",
            Self::GasReturn => "gas_return",
            Self::Bump => "bump",
            Self::Allowance => "allowance",
        }
    }

    /// Returns true if the payment moves gas between the gas wallet and an order's address.
    pub const fn moves_gas(self) -> bool {
        match self {
            Self::Gas | Self::GasReturn => true,
            Self::Pay | Self::Refund | Self::Bump | Self::Allowance => false,
        }
    }
}

/// The state of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PaymentState {
    /// Its bytes are stored, and no node has accepted the latest version so far.
    Signed,
    /// A node accepted it, or refused it as one that it may know.
    Sent,
    /// Final, and it did what it was to do.
    Confirmed,
    /// Final without effect.
    Failed,
}

impl PaymentState {
    pub const ALL: [Self; 4] = [Self::Signed, Self::Sent, Self::Confirmed, Self::Failed];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Signed => "signed",
            Self::Sent => "sent",
            Self::Confirmed => "confirmed",
            Self::Failed => "failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payout::vocabulary::UnknownWord;

    #[test]
    fn every_word_of_the_database_reads_back_and_no_other() {
        for purpose in Purpose::ALL {
            assert_eq!(purpose.as_str().parse(), Ok(purpose));
        }
        for state in PaymentState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        assert_eq!("gift".parse::<Purpose>(), Err(UnknownWord));
        assert_eq!("SENT".parse::<PaymentState>(), Err(UnknownWord));
    }
}
