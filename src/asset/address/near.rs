//! NEAR: implicit accounts (the public key in hex) and names that people choose.

use ed25519_dalek::VerifyingKey;

use super::AddressError;

/// The implicit account of a public key that was derived elsewhere (the pool of deposit addresses).
pub fn encode(public_key: &[u8; 32]) -> Result<String, AddressError> {
    let key = VerifyingKey::from_bytes(public_key).map_err(|_| AddressError::Malformed)?;
    if key.is_weak() { Err(AddressError::Unspendable) } else { Ok(hex::encode(public_key)) }
}

/// Validates an account id: lower case, without a checksum.
///
/// A name must have a dot: the few accounts without one belong to the network itself, while an
/// implicit account that lost a character would pass for one.
pub(super) fn validate(text: &str) -> Result<String, AddressError> {
    if text.bytes().any(|b| b.is_ascii_uppercase()) {
        return Err(AddressError::MixedCase);
    }
    if text.ends_with(".testnet") {
        return Err(AddressError::OtherNetwork);
    }
    if is_implicit(text) || is_implicit_evm(text) || is_name(text) {
        Ok(text.to_owned())
    } else {
        Err(AddressError::Malformed)
    }
}

fn is_implicit(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_implicit_evm(text: &str) -> bool {
    text.strip_prefix("0x")
        .is_some_and(|digits| digits.len() == 40 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Parts of letters and digits, joined by single dots, dashes or underscores.
fn is_name(text: &str) -> bool {
    text.len() <= 64
        && text.contains('.')
        && text.split(['.', '-', '_']).all(|part| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
}
