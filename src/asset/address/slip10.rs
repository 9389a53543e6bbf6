//! SLIP-10 key derivation for ed25519, from a seed to the key at a path.
//!
//! Every step is hardened, so public keys cannot be derived from a public key; therefore Solana and
//! NEAR take their deposit addresses from a pool. Real seeds are used here only on the machine that
//! exports a pool.

use ed25519_dalek::SigningKey;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::zeroize::Zeroizing;
use sha2::Sha512;

const HARDENED: u32 = 1 << 31;

/// Derives the public key at `path`, which holds plain numbers; each is hardened here. `None` if
/// one of them is already beyond 2³¹.
pub(super) fn public_key(seed: &[u8], path: &[u32]) -> Option<[u8; 32]> {
    Some(signing_key(seed, path)?.verifying_key().to_bytes())
}

pub(super) fn signing_key(seed: &[u8], path: &[u32]) -> Option<SigningKey> {
    let mut node = hmac(b"ed25519 seed", &[seed]);
    for &number in path {
        let number = number.checked_add(HARDENED)?;
        let (secret, chain_code) = node.split_at(32);
        node = hmac(chain_code, &[&[0], secret, &number.to_be_bytes()]);
    }
    let secret: Zeroizing<[u8; 32]> = Zeroizing::new(node[..32].try_into().ok()?);
    Some(SigningKey::from_bytes(&secret))
}

/// The left half is a secret, the right half a chain code.
fn hmac(key: &[u8], parts: &[&[u8]]) -> Zeroizing<[u8; 64]> {
    let mut mac = Hmac::<Sha512>::new_from_slice(key).expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(part);
    }
    Zeroizing::new(mac.finalize().into_bytes().into())
}
