//! Entropy from the rolls of a die and from nothing else, so that the words can be computed again
//! by hand.
//!
//! The entropy is the SHA-256 of the digits, which hardware wallets compute too:
//! `printf %s 123456… | sha256sum`.

use secrecy::zeroize::Zeroizing;
use sha2::{Digest, Sha256};
use thiserror::Error;

/// Rolls of a die with six faces that hold 256 bits, rounded to a bit: 99 · log₂ 6 = 255.9.
pub const ROLLS_MIN: usize = 99;
const FACES: usize = 6;

/// Reason why rolls are refused. It repeats none of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum DiceError {
    #[error("roll {0} is not a digit from 1 to 6")]
    NotARoll(usize),
    #[error("24 words need {ROLLS_MIN} rolls of a die, and these are {0}")]
    TooFew(usize),
    /// A fair die is refused less than once in a million times.
    #[error("one face came up {0} times in {1} rolls: roll a fair die, and type what it shows")]
    Unfair(usize, usize),
}

/// Reads digits from 1 to 6; blanks and line ends between them count for nothing.
pub(super) fn entropy(text: &str) -> Result<Zeroizing<[u8; 32]>, DiceError> {
    let rolls: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let rolls = Zeroizing::new(rolls);
    if let Some(at) = rolls.chars().position(|c| !('1'..='6').contains(&c)) {
        return Err(DiceError::NotARoll(at + 1));
    }
    let count = rolls.len();
    if count < ROLLS_MIN {
        return Err(DiceError::TooFew(count));
    }
    let mut faces = [0_usize; FACES];
    for roll in rolls.bytes() {
        faces[usize::from(roll - b'1')] += 1;
    }
    let most = faces.into_iter().max().unwrap_or(0);
    // Two fifths: more than six standard deviations above a sixth.
    if most * 5 > count * 2 {
        return Err(DiceError::Unfair(most, count));
    }
    Ok(Zeroizing::new(Sha256::digest(rolls.as_bytes()).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entropy_is_the_hash_of_the_digits_however_they_are_spaced() {
        let rolls = "123456".repeat(17);
        // printf %s 123456…123456 | sha256sum
        let wanted = "8fd128918b2e29d6dcbfa5b9a118e5c16d60498c7ba107922a8eb6eb1d36c112";
        assert_eq!(hex::encode(*entropy(&rolls).unwrap()), wanted);
        let spaced: String = rolls.chars().flat_map(|c| [c, ' ', '\n']).collect();
        assert_eq!(entropy(&spaced), entropy(&rolls));
    }

    #[test]
    fn rolls_that_are_few_wrong_or_unfair_are_refused() {
        let cases = [
            ("123456".repeat(16), DiceError::TooFew(96)),
            ("123456".repeat(17) + "7", DiceError::NotARoll(103)),
            ("0".to_owned(), DiceError::NotARoll(1)),
            ("1".repeat(99), DiceError::Unfair(99, 99)),
            ("123456".repeat(10) + &"2".repeat(40), DiceError::Unfair(50, 100)),
            (String::new(), DiceError::TooFew(0)),
        ];
        for (rolls, wanted) in cases {
            assert_eq!(entropy(&rolls), Err(wanted));
        }
        assert!(entropy(&"123456".repeat(17)[..ROLLS_MIN]).is_ok());
    }
}
