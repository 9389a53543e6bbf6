//! The words that a seed is written down as (BIP-39, English, without a passphrase).

use bip32::XPrv;
use bip39::{Language, Mnemonic};
use rand::{TryRng, rngs::SysRng};
use secrecy::{SecretBox, zeroize::Zeroizing};
use thiserror::Error;

use super::{
    DiceError, Seed,
    child::{self, Child},
    dice,
};

/// Words of a phrase that is made here: 256 bits and their checksum.
pub const WORDS: usize = 24;
const ENTROPY_BYTES: usize = 32;
/// Letters by which every word of the list is known.
const UNIQUE_LETTERS: usize = 4;

/// Words and their order. It has no `Debug`, and is wiped on drop.
pub struct Phrase(Mnemonic);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the operating system gives no randomness; roll dice instead: --dice")]
pub struct NoRandomness;

/// Reason why a text is no phrase. It repeats a word only if the word is not in the list.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PhraseError {
    #[error("these are {0} words; a phrase has 24 (or 12, 15, 18 or 21)")]
    Count(usize),
    #[error("word {at}, {word:?}, is not in the list{suggestion}")]
    Unknown { at: usize, word: String, suggestion: String },
    /// The checksum is in the last word, whichever word is wrong.
    #[error(
        "word {0}, the last, does not fit the words before it: one of the {0} is another word of the list, or two changed places"
    )]
    Checksum(usize),
}

impl Phrase {
    /// Draws new words from the operating system's randomness alone.
    pub fn generate() -> Result<Self, NoRandomness> {
        let mut entropy = Zeroizing::new([0_u8; ENTROPY_BYTES]);
        SysRng.try_fill_bytes(entropy.as_mut_slice()).map_err(|_| NoRandomness)?;
        Ok(Self::from_entropy(&entropy))
    }

    /// Makes words of the rolls of a die, digits from 1 to 6.
    pub fn from_rolls(text: &str) -> Result<Self, DiceError> {
        Ok(Self::from_entropy(&*dice::entropy(text)?))
    }

    pub(super) fn from_entropy(entropy: &[u8; ENTROPY_BYTES]) -> Self {
        Self(Mnemonic::from_entropy(entropy).expect("BIP-39 takes 32 bytes"))
    }

    /// Reads the words in any case, with any blanks between them.
    pub fn parse(text: &str) -> Result<Self, PhraseError> {
        let text = Zeroizing::new(text.to_lowercase());
        let words: Vec<&str> = text.split_whitespace().collect();
        Mnemonic::parse_in_normalized(Language::English, &text).map(Self).map_err(|error| {
            match error {
                bip39::Error::UnknownWord(index) => unknown(&words, index),
                bip39::Error::InvalidChecksum => PhraseError::Checksum(words.len()),
                // The others are of the number of words, or of other languages.
                bip39::Error::BadWordCount(_)
                | bip39::Error::BadEntropyBitCount(_)
                | bip39::Error::AmbiguousLanguages(_) => PhraseError::Count(words.len()),
            }
        })
    }

    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        self.0.words()
    }

    /// The seed of the phrase, without a passphrase.
    pub fn seed(&self) -> Seed {
        let seed = Zeroizing::new(self.0.to_seed_normalized(""));
        SecretBox::new(Box::new(*seed))
    }

    /// The phrase of a wallet that spends, by BIP-85: wallets that know that standard show it among
    /// the phrases of 24 English words.
    pub(super) fn child(&self, child: Child) -> Option<Self> {
        let seed = Zeroizing::new(self.0.to_seed_normalized(""));
        let root = XPrv::new(seed.as_slice()).ok()?;
        Some(Self::from_entropy(&*child::entropy(&root, child)?))
    }
}

fn unknown(words: &[&str], index: usize) -> PhraseError {
    let word = words.get(index).copied().unwrap_or_default();
    let start: String = word.chars().take(UNIQUE_LETTERS).collect();
    let is_long = start.chars().count() == UNIQUE_LETTERS;
    let like = Language::English.words_by_prefix_iter(&start).next().filter(|_| is_long);
    let suggestion = like.map(|like| format!("; is it {like:?}?")).unwrap_or_default();
    PhraseError::Unknown { at: index + 1, word: word.to_owned(), suggestion }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    const ABANDON: &str = "abandon abandon abandon abandon abandon abandon abandon abandon \
                           abandon abandon abandon about";

    fn fault(text: &str) -> String {
        Phrase::parse(text).err().unwrap().to_string()
    }

    #[test]
    fn new_words_are_24_and_other_ones_each_time() {
        let words = || Phrase::generate().unwrap().words().collect::<Vec<_>>().join(" ");
        let (one, two) = (words(), words());
        assert_ne!(one, two);
        assert_eq!(one.split(' ').count(), WORDS);
        let again: Vec<_> = Phrase::parse(&one).unwrap().words().collect();
        assert_eq!(again.join(" "), one);
    }

    #[test]
    fn the_same_words_give_the_same_seed_however_they_are_typed() {
        let seed = |text: &str| hex::encode(Phrase::parse(text).unwrap().seed().expose_secret());
        let typed = format!("  {}\n", ABANDON.to_uppercase().replace(' ', " \n\t"));
        assert_eq!(seed(&typed), seed(ABANDON));
    }

    #[test]
    fn a_wrong_word_is_named() {
        let with = |word: &str| ABANDON.replacen("abandon", word, 1);
        let cases = [
            (with("abandom"), "word 1, \"abandom\", is not in the list; is it \"abandon\"?"),
            (with("xyzzy"), "word 1, \"xyzzy\", is not in the list"),
            (with("abö"), "word 1, \"abö\", is not in the list"),
            (ABANDON.replace("about", "abandon"), "word 12, the last, does not fit the words"),
            (with("zoo"), "word 12, the last, does not fit the words before it: one of the 12"),
            (ABANDON.replace(" about", ""), "these are 11 words; a phrase has 24"),
            (String::new(), "these are 0 words"),
        ];
        for (text, words) in cases {
            let fault = fault(&text);
            assert!(fault.starts_with(words), "no {words:?} in {fault:?}");
        }
    }

    #[test]
    fn a_fault_repeats_no_word_of_the_list() {
        for text in [ABANDON.replace("about", "zebra"), ABANDON.replace(" about", "")] {
            let fault = fault(&text);
            assert!(!fault.contains("zebra") && !fault.contains("abandon"), "{fault}");
        }
    }
}
