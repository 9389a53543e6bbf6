//! The public identifier of an invoice.

use std::{fmt, str::FromStr};

use rand::Rng;

const PREFIX: &str = "pzi_";
const SYMBOLS: usize = 26;
const CROCKFORD: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// `pzi_` and 26 Crockford base-32 characters of 130 random bits.
///
/// Its holder may read the buyer's status, so it is as long as a key and reveals no time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PaymentId(String);

/// A text that is not a payment id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a payment id: expected pzi_ and 26 characters")]
pub struct NotAPaymentId;

impl PaymentId {
    /// Draws a fresh id from the operating system's randomness.
    pub fn generate() -> Self {
        Self(bearer(PREFIX))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Generates `prefix` and 130 random bits: such an id cannot be guessed, so it serves as a bearer
/// token.
pub fn bearer(prefix: &str) -> String {
    let mut bytes = [0_u8; SYMBOLS];
    rand::rng().fill_bytes(&mut bytes);
    let symbols = bytes.iter().map(|byte| char::from(CROCKFORD[usize::from(byte & 31)]));
    prefix.chars().chain(symbols).collect()
}

/// Returns true if `text` could have come from [`bearer`].
pub fn is_bearer(prefix: &str, text: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|symbols| {
        symbols.len() == SYMBOLS && symbols.bytes().all(|b| CROCKFORD.contains(&b))
    })
}

impl FromStr for PaymentId {
    type Err = NotAPaymentId;

    fn from_str(text: &str) -> Result<Self, NotAPaymentId> {
        if is_bearer(PREFIX, text) { Ok(Self(text.to_owned())) } else { Err(NotAPaymentId) }
    }
}

impl fmt::Display for PaymentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_and_is_never_twice_the_same() {
        let ids: std::collections::HashSet<_> =
            (0..10_000).map(|_| PaymentId::generate().0).collect();
        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|id| id.parse::<PaymentId>().is_ok() && id.len() == 30));
    }

    /// The 130 bits reveal nothing: every position takes every symbol, and no position shows the
    /// order of creation.
    #[test]
    fn every_position_of_an_id_is_random() {
        let ids: Vec<_> = (0..4_000).map(|_| PaymentId::generate().0).collect();
        for position in PREFIX.len()..PREFIX.len() + SYMBOLS {
            let symbol = |id: &String| id.as_bytes()[position];
            // Each symbol is expected 125 times; one in a billion runs would be this far off.
            for expected in CROCKFORD {
                let count = ids.iter().filter(|id| symbol(id) == *expected).count();
                assert!(
                    (50..=210).contains(&count),
                    "{} at {position}: {count}",
                    *expected as char
                );
            }
            let rising = ids.windows(2).filter(|pair| symbol(&pair[0]) < symbol(&pair[1])).count();
            assert!((1_600..=2_300).contains(&rising), "{rising} at {position}");
        }
    }

    #[test]
    fn malformed_payment_ids_are_refused() {
        let upper = PaymentId::generate().0.to_uppercase();
        for text in ["", "pzi_", "pzi_0", upper.as_str(), "pzi_iiiiiiiiiiiiiiiiiiiiiiiiii"] {
            assert_eq!(text.parse::<PaymentId>(), Err(NotAPaymentId), "{text}");
        }
    }
}
