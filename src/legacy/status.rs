//! Status codes of the dialect (spec, "Equivalence"), and their texts.

use crate::invoice::Status;

/// The code of a `payment_status` of the merchant API.
pub fn code_of_merchant(payment_status: &str) -> Option<i8> {
    let known = Status::ALL.into_iter().find(|status| status.for_merchant() == payment_status);
    known.map(Status::adapter_code)
}

/// The text that CoinPayments sends with a code. Shops only show it.
pub const fn text(code: i8) -> &'static str {
    match code {
        100 => "Complete",
        0 => "Waiting for buyer funds...",
        _ => "Cancelled / Timed Out",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_of_the_merchant_api_has_one_code() {
        for (status, expected, said) in [
            ("waiting", 0, "Waiting for buyer funds..."),
            ("partially_paid", 0, "Waiting for buyer funds..."),
            ("finished", 100, "Complete"),
            ("expired", -1, "Cancelled / Timed Out"),
            ("failed", -1, "Cancelled / Timed Out"),
        ] {
            assert_eq!(code_of_merchant(status), Some(expected));
            assert_eq!(text(expected), said);
        }
        assert_eq!(code_of_merchant("paid"), None);
        let agree =
            |status: Status| code_of_merchant(status.for_merchant()) == Some(status.adapter_code());
        assert!(Status::ALL.into_iter().all(agree));
    }
}
