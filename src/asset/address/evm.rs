//! Ethereum and the chains that spell addresses as it does.

use k256::elliptic_curve::sec1::ToSec1Point;
use sha3::{Digest, Keccak256};

use super::AddressError;

/// The last 20 bytes of the hash of the uncompressed key. TRON takes the same.
pub(super) fn key_hash(key: &k256::PublicKey) -> [u8; 20] {
    let point = key.to_sec1_point(false);
    // The first byte only says that the point is uncompressed.
    let digest = Keccak256::digest(&point.as_bytes()[1..]);
    let mut hash = [0; 20];
    hash.copy_from_slice(&digest[12..]);
    hash
}

pub fn address(key: &k256::PublicKey) -> String {
    checksummed(&key_hash(key))
}

/// The address with its checksum in the case of its letters (EIP-55).
pub fn checksummed(bytes: &[u8; 20]) -> String {
    let lower = hex::encode(bytes);
    let digest = Keccak256::digest(lower.as_bytes());
    let mut text = String::with_capacity(42);
    text.push_str("0x");
    for (position, letter) in lower.chars().enumerate() {
        let byte = digest[position / 2];
        let nibble = if position % 2 == 0 { byte >> 4 } else { byte & 0x0f };
        text.push(if nibble >= 8 { letter.to_ascii_uppercase() } else { letter });
    }
    text
}

/// Letters of one case carry no checksum and are taken as they are (EIP-55); mixed ones must be
/// right.
pub(super) fn validate(text: &str) -> Result<String, AddressError> {
    let digits = text.strip_prefix("0x").ok_or(AddressError::Malformed)?;
    let mut bytes = [0; 20];
    hex::decode_to_slice(digits, &mut bytes).map_err(|_| AddressError::Malformed)?;
    if bytes == [0; 20] {
        return Err(AddressError::Unspendable);
    }
    let canonical = checksummed(&bytes);
    let has_upper = digits.bytes().any(|b| b.is_ascii_uppercase());
    let has_lower = digits.bytes().any(|b| b.is_ascii_lowercase());
    if has_upper && has_lower && canonical != text {
        return Err(AddressError::Checksum);
    }
    Ok(canonical)
}
