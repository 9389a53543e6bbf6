//! Base58 with the four-byte checksum of bitcoin, around a one-byte version and a 20-byte hash.

use super::AddressError;

pub(super) fn encode(version: u8, hash: &[u8; 20]) -> String {
    bs58::encode(hash).with_check_version(version).into_string()
}

/// The version and the hash of a checked address.
pub(super) fn decode(text: &str) -> Result<(u8, [u8; 20]), AddressError> {
    let bytes = bs58::decode(text).with_check(None).into_vec().map_err(|error| {
        if matches!(error, bs58::decode::Error::InvalidChecksum { .. }) {
            AddressError::Checksum
        } else {
            AddressError::Malformed
        }
    })?;
    let (&version, hash) = bytes.split_first().ok_or(AddressError::Malformed)?;
    let hash = hash.try_into().map_err(|_| AddressError::Malformed)?;
    Ok((version, hash))
}
