//! Witness addresses (BIP-173, BIP-350) under any human-readable prefix.

use bech32::{
    Fe32, Hrp,
    primitives::decode::{SegwitHrpstring, SegwitHrpstringError},
};

use super::AddressError;

/// `None` only for a prefix that bech32 forbids; ours are constants.
pub(super) fn pay_to_key(prefix: &str, hash: &[u8; 20]) -> Option<String> {
    bech32::segwit::encode_v0(Hrp::parse(prefix).ok()?, hash).ok()
}

/// The address of a witness program of a version that is in use, `None` for others.
pub(super) fn of_program(prefix: &str, version: u8, program: &[u8]) -> Option<String> {
    let prefix = Hrp::parse(prefix).ok()?;
    match (version, program.len()) {
        (0, 20 | 32) => bech32::segwit::encode_v0(prefix, program).ok(),
        (1, 32) => bech32::segwit::encode_v1(prefix, program).ok(),
        _ => None,
    }
}

/// Returns true if the text starts like an address with this prefix.
pub(super) fn has_prefix(prefix: &str, text: &str) -> bool {
    text.rsplit_once('1').is_some_and(|(head, _)| head.eq_ignore_ascii_case(prefix))
}

/// Bech32 forbids it: one case only, so that an address can be read aloud.
pub(super) fn has_mixed_case(text: &str) -> bool {
    text.bytes().any(|b| b.is_ascii_lowercase()) && text.bytes().any(|b| b.is_ascii_uppercase())
}

/// Checks everything but the prefix and returns the address in lower case.
pub(super) fn validate(text: &str) -> Result<String, AddressError> {
    if has_mixed_case(text) {
        return Err(AddressError::MixedCase);
    }
    let address = SegwitHrpstring::new(text).map_err(|error| {
        if matches!(error, SegwitHrpstringError::Checksum(_)) {
            AddressError::Checksum
        } else {
            AddressError::Malformed
        }
    })?;
    let program_bytes = address.byte_iter().len();
    // Later versions have no meaning yet; outputs to them can be spent by anyone today.
    let known = address.witness_version() == Fe32::Q
        || (address.witness_version() == Fe32::P && program_bytes == 32);
    if known { Ok(text.to_ascii_lowercase()) } else { Err(AddressError::UnknownVersion) }
}

/// The version and the program of a witness address that [`validate`] lets through.
pub(super) fn program(text: &str) -> Option<(u8, Vec<u8>)> {
    validate(text).ok()?;
    let address = SegwitHrpstring::new(text).ok()?;
    Some((address.witness_version().to_u8(), address.byte_iter().collect()))
}

/// The lower-case spelling of a valid witness address, `None` for any other text.
pub(super) fn lower_case(text: &str) -> Option<String> {
    SegwitHrpstring::new(text).is_ok().then(|| text.to_ascii_lowercase())
}
