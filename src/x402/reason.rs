//! Reasons why a payment is refused, in the words of the protocol: clients compare them.

use super::Version;
use crate::vocabulary::vocabulary;

vocabulary! {
    /// The error list of the specification of version 2, as far as the scheme `exact` on EVM
    /// networks has use for it.
    pub enum Reason: "reason of x402" {
        InsufficientFunds = "insufficient_funds",
        Signature = "invalid_exact_evm_payload_signature",
        /// A wallet without code signed (EIP-6492). Of the list of version 1, whose clients know no
        /// word that is not in it; version 2 has none.
        Undeployed = "invalid_exact_evm_payload_undeployed_smart_wallet",
        ValidAfter = "invalid_exact_evm_payload_authorization_valid_after",
        ValidBefore = "invalid_exact_evm_payload_authorization_valid_before",
        Value = "invalid_exact_evm_payload_authorization_value_mismatch",
        Recipient = "invalid_exact_evm_payload_recipient_mismatch",
        Network = "invalid_network",
        Scheme = "unsupported_scheme",
        Payload = "invalid_payload",
        Requirements = "invalid_payment_requirements",
        Version = "invalid_x402_version",
        /// The token refuses the transfer, or its nonce is used.
        Transaction = "invalid_transaction_state",
        /// The chain or our database could not be asked.
        Verifying = "unexpected_verify_error",
        /// Our own gas, limits or stop switch keep us from sending it.
        Settling = "unexpected_settle_error",
    }
}

impl Reason {
    /// The word in a version: one differs.
    pub const fn in_version(self, version: Version) -> &'static str {
        match (self, version) {
            (Self::Value, Version::V1) => "invalid_exact_evm_payload_authorization_value",
            (reason, _) => reason.as_str(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_read_back_and_one_has_another_word_in_version_1() {
        for reason in Reason::ALL {
            assert_eq!(reason.as_str().parse(), Ok(reason));
            assert_eq!(reason.in_version(Version::V2), reason.as_str());
        }
        let differ = |reason: &Reason| reason.in_version(Version::V1) != reason.as_str();
        assert_eq!(Reason::ALL.into_iter().filter(differ).collect::<Vec<_>>(), [Reason::Value]);
    }
}
