//! Vocabulary of non-custodial payouts in the database and the API.

use crate::{
    invoice::id::{bearer, is_bearer},
    vocabulary::vocabulary,
};

const PREFIX: &str = "ncp_";
const TXID_DIGITS: usize = 64;

/// Generates a new `ncp_…`.
pub fn id() -> String {
    bearer(PREFIX)
}

/// Returns true if `text` can be the id of a payout. Other texts need no database query.
pub fn is_id(text: &str) -> bool {
    is_bearer(PREFIX, text)
}

/// Names an output of an earlier transaction as `txid:n`; `None` if `txid` is no hash.
pub fn outpoint(txid: &str, vout: u32) -> Option<String> {
    let is_hash = txid.len() == TXID_DIGITS && txid.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| format!("{}:{vout}", txid.to_ascii_lowercase()))
}

vocabulary! {
    /// The state of a payout.
    pub enum State: "state of a payout" {
        AwaitingSignature = "awaiting_signature",
        /// The signed bytes are stored; no block contains any of them yet.
        Submitted = "submitted",
        Confirming = "confirming",
        Completed = "completed",
        /// Some recipients are finally paid, the others never will be.
        PartialFailed = "partial_failed",
        Failed = "failed",
        Expired = "expired",
        Cancelled = "cancelled",
    }
}

vocabulary! {
    /// The state of one transaction.
    pub enum TransactionState: "state of a transaction" {
        Unsigned = "unsigned",
        /// Its bytes are stored, and no node has accepted them so far.
        Signed = "signed",
        /// A node accepted it.
        Sent = "sent",
        /// Paid in a block with enough confirmations.
        Confirmed = "confirmed",
        /// It will never pay.
        Failed = "failed",
    }
}

vocabulary! {
    /// Level of the offered fee: a higher one gets the transaction into a block sooner.
    pub enum FeeLevel: "fee level" {
        Slow = "slow",
        Normal = "normal",
        Fast = "fast",
    }
}

/// The obstacle of a transaction, or the reason why it failed. Merchants read the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// It is final, and the token's own log of the payment is missing: whether it paid is unknown.
    Unexplained,
    Other(String),
}

impl Problem {
    const UNEXPLAINED: &str = "the network took the transaction, and the token's own log of this amount is missing; compare the \
                               recipient's balance before you pay it again";

    /// A problem as it is stored.
    pub fn from_stored(text: String) -> Self {
        if text == Self::UNEXPLAINED { Self::Unexplained } else { Self::Other(text) }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Unexplained => Self::UNEXPLAINED,
            Self::Other(text) => text,
        }
    }
}

impl State {
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::AwaitingSignature | Self::Submitted | Self::Confirming => false,
            Self::Completed
            | Self::PartialFailed
            | Self::Failed
            | Self::Expired
            | Self::Cancelled => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back() {
        for state in State::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        for state in TransactionState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        for level in FeeLevel::ALL {
            assert_eq!(level.as_str().parse(), Ok(level));
        }
        assert!("draft".parse::<State>().is_err());
    }

    #[test]
    fn every_state_is_one_of_the_list_of_all_payouts() {
        for state in State::ALL {
            assert!(
                state.as_str().parse::<crate::payout::listed::ListedState>().is_ok(),
                "{state}"
            );
        }
    }

    #[test]
    fn a_problem_reads_back() {
        for problem in [Problem::Unexplained, Problem::Other("its nonce was used".to_owned())] {
            assert_eq!(Problem::from_stored(problem.as_str().to_owned()), problem);
        }
    }

    #[test]
    fn an_id_is_known_by_its_prefix() {
        assert!(is_id(&id()) && id() != id());
        assert!(!is_id("ncp_1") && !is_id("mpo_00000000000000000000000000"));
    }
}
