//! Keys of an installation, made from words (BIP-39) on a machine without a network.
//!
//! One phrase is enough. It is the seed of the invoices, which stays cold; the phrases that pay out
//! and that settle x402 follow from it by BIP-85. A thief of a seed that spends learns nothing of
//! the words, and whoever keeps the words can make everything again. All of it is a function of the
//! words: a second run gives the same bytes.

mod child;
mod dice;
mod phrase;
mod public;
mod settings;
#[cfg(test)]
mod vectors;

use child::Child;
pub use dice::{DiceError, ROLLS_MIN};
pub use phrase::{NoRandomness, Phrase, PhraseError, WORDS};
pub use public::{PublicKey, PublicKeys};
use secrecy::SecretBox;
pub use settings::settings;

/// Length of the seed that BIP-39 derives from a phrase.
pub const SEED_BYTES: usize = 64;

pub type Seed = SecretBox<[u8; SEED_BYTES]>;

/// The seeds of an installation. It has no `Debug`.
pub struct Seeds {
    /// Behind all that invoices receive. No running program has it.
    pub invoices: Seed,
    /// Behind payouts and the gas that they front. The role payout-batch has it, sealed.
    pub payouts: Seed,
    /// Behind the gas of x402's settlements. The role x402-settlement has it, sealed. `None` if the
    /// other seeds were opened without it.
    pub x402: Option<Seed>,
}

impl Seeds {
    /// `None` with a probability below 2⁻¹²⁷ (BIP-32).
    pub fn of(words: &Phrase) -> Option<Self> {
        let [payouts, x402] =
            [Child::Payouts, Child::X402].map(|child| Some(words.child(child)?.seed()));
        Some(Self { invoices: words.seed(), payouts: payouts?, x402: Some(x402?) })
    }
}
