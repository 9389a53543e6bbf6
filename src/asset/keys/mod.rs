//! Keys of an installation, made from words (BIP-39) on a machine without a network.
//!
//! One phrase is enough. It is the seed of the invoices, which stays cold; the phrase that pays out
//! follows from it by BIP-85. A thief of the seed that pays out learns nothing of the words, and
//! whoever keeps the words can make everything again. All of it is a function of the words: a
//! second run gives the same bytes.

mod child;
mod dice;
mod phrase;
mod public;
mod settings;
#[cfg(test)]
mod vectors;

pub use dice::{DiceError, ROLLS_MIN};
pub use phrase::{NoRandomness, Phrase, PhraseError, WORDS};
pub use public::{PublicKey, PublicKeys};
use secrecy::SecretBox;
pub use settings::settings;

/// Length of the seed that BIP-39 derives from a phrase.
pub const SEED_BYTES: usize = 64;

pub type Seed = SecretBox<[u8; SEED_BYTES]>;

/// Both seeds of an installation. It has no `Debug`.
pub struct Seeds {
    /// Behind all that invoices receive. No running program has it.
    pub invoices: Seed,
    /// Behind payouts and the gas that they front. The role payout-batch has it, sealed.
    pub payouts: Seed,
}

impl Seeds {
    /// `None` with a probability below 2⁻¹²⁷ (BIP-32).
    pub fn of(words: &Phrase) -> Option<Self> {
        Some(Self { invoices: words.seed(), payouts: words.of_payouts()?.seed() })
    }
}
