//! Solana: the public key itself, in base58 without a checksum.

use ed25519_dalek::VerifyingKey;

use super::AddressError;

/// The address of a public key that was derived elsewhere (the pool of deposit addresses).
pub fn encode(public_key: &[u8; 32]) -> Result<String, AddressError> {
    check(public_key)?;
    Ok(bs58::encode(public_key).into_string())
}

/// Checks that the key is a point of the curve, the only check possible without a checksum. It
/// catches every second typing error, and it refuses accounts owned by programs, to which wallets
/// do not send tokens either.
fn check(public_key: &[u8; 32]) -> Result<(), AddressError> {
    let key = VerifyingKey::from_bytes(public_key).map_err(|_| AddressError::Malformed)?;
    // The system program's address, all zeros, is such a point.
    if key.is_weak() { Err(AddressError::Unspendable) } else { Ok(()) }
}

pub(super) fn validate(text: &str) -> Result<String, AddressError> {
    let bytes = bs58::decode(text).into_vec().map_err(|_| AddressError::Malformed)?;
    let public_key: [u8; 32] = bytes.try_into().map_err(|_| AddressError::Malformed)?;
    check(&public_key)?;
    Ok(text.to_owned())
}
