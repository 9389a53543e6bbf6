//! THORChain: a bitcoin key hash in bech32, as on all Cosmos chains.

use bech32::{
    Bech32, Hrp,
    primitives::decode::{CheckedHrpstring, CheckedHrpstringError},
};

use super::{AddressError, segwit, utxo};

const PREFIX: &str = "thor";

pub(super) fn address(key: &k256::PublicKey) -> String {
    let prefix = Hrp::parse(PREFIX).expect("the prefix is four lower-case letters");
    bech32::encode::<Bech32>(prefix, &utxo::key_hash(key))
        .expect("20 bytes are far below the length limit of bech32")
}

/// Contracts have 32 bytes; only accounts, with 20, are taken.
pub(super) fn validate(text: &str) -> Result<String, AddressError> {
    if segwit::has_mixed_case(text) {
        return Err(AddressError::MixedCase);
    }
    let address = CheckedHrpstring::new::<Bech32>(text).map_err(|error| {
        if matches!(error, CheckedHrpstringError::Checksum(_)) {
            AddressError::Checksum
        } else {
            AddressError::Malformed
        }
    })?;
    if address.hrp().to_lowercase() != PREFIX {
        return Err(AddressError::OtherNetwork);
    }
    let is_account = address.validate_segwit_padding().is_ok() && address.byte_iter().len() == 20;
    if is_account { Ok(text.to_ascii_lowercase()) } else { Err(AddressError::Malformed) }
}
