//! A 256-bit number of the EVM, as a payer signs it.
//!
//! Its digest needs every bit, so a number that fits no integer type of ours is kept and compared,
//! never cut.

use std::fmt;

const BYTES: usize = 32;
/// 2^256 has 78 digits.
const DIGITS_MAX: usize = 78;

/// Big-endian.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Word([u8; BYTES]);

impl Word {
    pub const fn new(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    pub const fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// Reads decimal digits; `None` beyond 256 bits and for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || text.len() > DIGITS_MAX {
            return None;
        }
        let mut word = [0_u8; BYTES];
        for digit in text.bytes() {
            let mut carry = u16::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
            for byte in word.iter_mut().rev() {
                let [high, low] = (u16::from(*byte) * 10 + carry).to_be_bytes();
                (*byte, carry) = (low, u16::from(high));
            }
            if carry != 0 {
                return None;
            }
        }
        Some(Self(word))
    }

    /// `None` beyond 128 bits.
    pub fn to_u128(self) -> Option<u128> {
        let (high, low) = self.0.split_at(BYTES / 2);
        let low = low.try_into().ok()?;
        high.iter().all(|byte| *byte == 0).then(|| u128::from_be_bytes(low))
    }
}

impl From<u128> for Word {
    fn from(number: u128) -> Self {
        let mut word = [0; BYTES];
        word[BYTES / 2..].copy_from_slice(&number.to_be_bytes());
        Self(word)
    }
}

impl From<u64> for Word {
    fn from(number: u64) -> Self {
        u128::from(number).into()
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{}", hex::encode(self.0))
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_largest_word_is_read_and_the_next_number_is_refused() {
        let largest =
            "115792089237316195423570985008687907853269984665640564039457584007913129639935";
        assert_eq!(Word::parse(largest), Some(Word::new([0xff; 32])));
        let next = "115792089237316195423570985008687907853269984665640564039457584007913129639936";
        for text in [next, &format!("1{largest}"), "", "-1", "+1", "0x1", "1.0", "1e3", " 1", "١"]
        {
            assert_eq!(Word::parse(text), None, "{text}");
        }
        assert_eq!(Word::new([0xff; 32]).to_u128(), None);
        assert_eq!(Word::parse("007"), Some(7_u64.into()));
    }

    proptest! {
        #[test]
        fn words_are_read_as_any_other_library_reads_them(bytes: [u8; 32], number: u128) {
            let text = BigUint::from_bytes_be(&bytes).to_string();
            prop_assert_eq!(Word::parse(&text), Some(Word::new(bytes)));
            prop_assert_eq!(Word::parse(&number.to_string()), Some(number.into()));
            prop_assert_eq!(Word::from(number).to_u128(), Some(number));
        }

        #[test]
        fn words_are_ordered_as_their_numbers(a: u128, b: u128) {
            prop_assert_eq!(Word::from(a).cmp(&Word::from(b)), a.cmp(&b));
        }
    }
}
