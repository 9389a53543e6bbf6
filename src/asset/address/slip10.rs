//! SLIP-10 for ed25519: from a seed to the public key at a path.
//!
//! Every step is hardened, so public keys cannot be derived from a public key; that is why Solana and NEAR draw their
//! deposit addresses from a pool. For the sandbox's public seed only: this module does not wipe what it computes.

use ed25519_dalek::SigningKey;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha512;

const HARDENED: u32 = 1 << 31;

/// `path` holds the plain numbers; each is hardened here. `None` if one of them is already beyond 2³¹.
pub(super) fn public_key(seed: &[u8], path: &[u32]) -> Option<[u8; 32]> {
    let (mut secret, mut chain_code) = split(hmac(b"ed25519 seed", &[seed]));
    for &number in path {
        let number = number.checked_add(HARDENED)?;
        let parts: [&[u8]; 3] = [&[0], &secret, &number.to_be_bytes()];
        (secret, chain_code) = split(hmac(&chain_code, &parts));
    }
    Some(SigningKey::from_bytes(&secret).verifying_key().to_bytes())
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 64] {
    let mut mac = Hmac::<Sha512>::new_from_slice(key).expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

fn split(bytes: [u8; 64]) -> ([u8; 32], [u8; 32]) {
    let (mut left, mut right) = ([0; 32], [0; 32]);
    left.copy_from_slice(&bytes[..32]);
    right.copy_from_slice(&bytes[32..]);
    (left, right)
}
