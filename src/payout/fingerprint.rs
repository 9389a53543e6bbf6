//! Fingerprint that identifies a repeated request for a payout, whichever face it came through.

use sha2::{Digest, Sha256};

use super::recipients::{Amount, Row};

/// Fingerprint by which two requests under one `Idempotency-Key` are compared.
///
/// It covers the parsed values: the same payout in another spelling is the same payout. Each value
/// is prefixed with its length, so that no two different payouts have the same fingerprint.
#[derive(Default)]
pub struct Fingerprint(Sha256);

impl Fingerprint {
    pub fn add(&mut self, value: Option<&str>) {
        match value {
            None => self.0.update([0]),
            Some(text) => {
                self.0.update([1]);
                self.0.update(text.len().to_string());
                self.0.update([b':']);
                self.0.update(text);
            }
        }
    }

    /// Adds the recipient and the amount of a row.
    pub fn add_payment(&mut self, row: &Row) {
        let (unit, amount) = match &row.amount {
            Amount::Whole(text) => ("whole", text.as_str()),
            Amount::Units(text) => ("units", text.as_str()),
        };
        for text in [&row.address, unit, amount] {
            self.add(Some(text));
        }
    }

    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_run_together_stay_apart() {
        let of = |values: &[Option<&str>]| {
            let mut fingerprint = Fingerprint::default();
            values.iter().for_each(|value| fingerprint.add(*value));
            fingerprint.finish()
        };
        assert_eq!(of(&[Some("a"), Some("b")]), of(&[Some("a"), Some("b")]));
        assert_ne!(of(&[Some("a"), Some("b")]), of(&[Some("ab")]));
        assert_ne!(of(&[Some("a"), None]), of(&[Some("a"), Some("")]));
    }
}
