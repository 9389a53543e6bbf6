//! TRON: an EVM key hash in bitcoin's base58.

use super::{AddressError, base58, evm};

const VERSION: u8 = 0x41;

/// The address of the 20 bytes that logs and contracts use.
pub fn encode(hash: &[u8; 20]) -> String {
    base58::encode(VERSION, hash)
}

pub(super) fn address(key: &k256::PublicKey) -> String {
    encode(&evm::key_hash(key))
}

/// Nodes write `41` and the hash in hex where wallets write base58.
pub(super) fn from_node_hex(text: &str) -> Option<String> {
    let mut bytes = [0; 21];
    hex::decode_to_slice(text, &mut bytes).ok()?;
    let (&version, hash) = bytes.split_first()?;
    (version == VERSION).then(|| hash.try_into().ok().map(encode))?
}

/// The 20 bytes that logs and contracts use; `None` for a text that is no address.
pub fn hash(text: &str) -> Option<[u8; 20]> {
    match base58::decode(text) {
        Ok((VERSION, hash)) => Some(hash),
        _ => None,
    }
}

pub(super) fn validate(text: &str) -> Result<String, AddressError> {
    match base58::decode(text)? {
        (VERSION, hash) if hash == [0; 20] => Err(AddressError::Unspendable),
        (VERSION, _) => Ok(text.to_owned()),
        _ => Err(AddressError::OtherNetwork),
    }
}
