//! A phrase that follows from another one (BIP-85), and from which there is no way back.

use bip32::{DerivationPath, XPrv};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::zeroize::Zeroizing;
use sha2::Sha512;

/// Key of the digest, by BIP-85.
const CONTEXT: &[u8] = b"bip-entropy-from-k";
const ENTROPY_BYTES: usize = 32;

/// Use of a child phrase. BIP-85 gives each index another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Child {
    Payouts,
    X402,
}

impl Child {
    /// BIP-85's application of phrases: English, 24 words.
    const fn path(self) -> &'static str {
        match self {
            Self::Payouts => "m/83696968'/39'/0'/24'/0'",
            Self::X402 => "m/83696968'/39'/0'/24'/1'",
        }
    }
}

pub(super) fn entropy(root: &XPrv, child: Child) -> Option<Zeroizing<[u8; ENTROPY_BYTES]>> {
    let path: DerivationPath = child.path().parse().ok()?;
    let key = path.iter().try_fold(root.clone(), |key, step| key.derive_child(step)).ok()?;
    let key = Zeroizing::new(key.to_bytes());
    let mut mac = Hmac::<Sha512>::new_from_slice(CONTEXT).expect("HMAC takes keys of any length");
    mac.update(key.as_slice());
    let digest: Zeroizing<[u8; 64]> = Zeroizing::new(mac.finalize().into_bytes().into());
    let mut entropy = Zeroizing::new([0; ENTROPY_BYTES]);
    entropy.copy_from_slice(&digest[..ENTROPY_BYTES]);
    Some(entropy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asset::keys::Phrase;

    #[test]
    fn the_published_phrase_of_24_words_follows_from_its_root() {
        // BIP-85, test vectors, "24 English words".
        let root = "xprv9s21ZrQH143K2LBWUUQRFXhucrQqBpKdRRxNVq2zBqsx8HVqFk2uYo8kmbaLLHRdqtQpUm98uKfu3vca1LqdGhUtyoFnCNkfmXRyPXLjbKb";
        let entropy = entropy(&root.parse().unwrap(), Child::Payouts).unwrap();
        let wanted = "ae131e2312cdc61331542efe0d1077bac5ea803adf24b313a4f0e48e9c51f37f";
        assert_eq!(hex::encode(*entropy), wanted);
        let words: Vec<_> = Phrase::from_entropy(&entropy).words().collect();
        let wanted = "puppy ocean match cereal symbol another shed magic wrap hammer bulb intact \
                      gadget divorce twin tonight reason outdoor destroy simple truth cigar social volcano";
        assert_eq!(words.join(" "), wanted);
    }
}
