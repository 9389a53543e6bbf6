//! Files of pool addresses: written on the machine with the seed, read on machines that cannot
//! sign.
//!
//! ```text
//! gateway address pool 1
//! network solana
//! first 1000
//! count 2
//! <address>
//! <address>
//! signature <128 hex digits>
//! ```
//!
//! The signature is ed25519 over every byte before its line. Its key comes from the same seed, by a
//! derivation step that no wallet uses, and its public half is in the configuration: an attacker
//! with write access to the file in transit, or to the import, still cannot make the gateway give
//! out an address of their own.

use std::fmt::Write as _;

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use thiserror::Error;

use super::{AddressError, Family, near, slip10, solana, validate};
use crate::asset::Network;

const TITLE: &str = "gateway address pool 1";
/// "pool" in ASCII, as the one hardened step from the seed to the signing key.
const SIGNER_STEP: u32 = 0x706f_6f6c;
/// Addresses in one file; a larger pool needs several files.
pub const COUNT_MAX: u32 = 200_000;
/// One past the last index that has a hardened number.
const INDEX_END: u32 = 1 << 31;

/// Reason why an export failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ExportError {
    #[error("addresses of {0} are derived from its public key; it needs no pool")]
    NoPool(Network),
    #[error("a file holds 1 to {COUNT_MAX} addresses")]
    Count,
    #[error("the indices end at {}", INDEX_END - 1)]
    Index,
    #[error("there is no address at index {0}")]
    NoAddress(u32),
}

/// Reason why a file is refused.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PoolFileError {
    #[error("line {line} should be {wanted}")]
    Line { line: usize, wanted: String },
    #[error(
        "the signature is not by the key that addresses.pool_signer names: the file was changed, or made from another seed"
    )]
    Signature,
    #[error("addresses of {0} are derived from its public key; it needs no pool")]
    NoPool(Network),
    #[error("the file states {said} addresses and holds {held}")]
    Count { said: u32, held: usize },
    #[error("the address at index {index} {reason}")]
    Address { index: u64, reason: AddressError },
    #[error("the address at index {index} is not in canonical form")]
    Spelling { index: u64 },
    #[error("index {index} has the same address as index {before}")]
    Twice { index: u64, before: u64 },
}

/// Verified addresses of consecutive indices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolFile {
    pub network: Network,
    pub first: u32,
    pub addresses: Vec<String>,
}

/// Public key that must have signed the files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolSigner(VerifyingKey);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("is not an ed25519 public key of 64 hex digits")]
pub struct NotASigner;

impl PoolSigner {
    pub fn parse(text: &str) -> Result<Self, NotASigner> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text.trim(), &mut bytes).map_err(|_| NotASigner)?;
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| NotASigner)?;
        if key.is_weak() { Err(NotASigner) } else { Ok(Self(key)) }
    }

    /// Returns the signer of a seed's files; `None` for a seed without one, which has a negligible
    /// probability.
    pub fn of_seed(seed: &[u8]) -> Option<Self> {
        Some(Self(signing_key(seed)?.verifying_key()))
    }

    /// Format of `addresses.pool_signer`.
    pub fn to_hex(&self) -> String {
        hex::encode(self.0.as_bytes())
    }
}

fn signing_key(seed: &[u8]) -> Option<SigningKey> {
    slip10::signing_key(seed, &[SIGNER_STEP])
}

/// Returns deposit address number `index`, for Solana (`m/44'/501'/index'/0'`) and NEAR
/// (`m/44'/397'/index'`); `None` for the other families and beyond the last index.
pub fn address(seed: &[u8], family: Family, index: u32) -> Option<String> {
    match family {
        Family::Solana => solana::encode(&slip10::public_key(seed, &[44, 501, index, 0])?).ok(),
        Family::Near => near::encode(&slip10::public_key(seed, &[44, 397, index])?).ok(),
        Family::Bitcoin
        | Family::Litecoin
        | Family::Dogecoin
        | Family::Evm
        | Family::Tron
        | Family::Ton
        | Family::Thorchain => None,
    }
}

/// The signed file of `count` addresses of `seed` from index `first` on.
pub fn export(
    seed: &[u8],
    network: Network,
    first: u32,
    count: u32,
) -> Result<String, ExportError> {
    let family = network.family();
    if !family.has_pool() {
        return Err(ExportError::NoPool(network));
    }
    if !(1..=COUNT_MAX).contains(&count) {
        return Err(ExportError::Count);
    }
    let end = first.checked_add(count).filter(|end| *end <= INDEX_END).ok_or(ExportError::Index)?;
    let mut text = format!("{TITLE}\nnetwork {network}\nfirst {first}\ncount {count}\n");
    for index in first..end {
        let address = address(seed, family, index).ok_or(ExportError::NoAddress(index))?;
        text.push_str(&address);
        text.push('\n');
    }
    let key = signing_key(seed).ok_or(ExportError::NoAddress(first))?;
    let signature = key.sign(text.as_bytes());
    // Writing to a String cannot fail.
    let _ = writeln!(text, "signature {}", hex::encode(signature.to_bytes()));
    Ok(text)
}

impl PoolFile {
    /// Reads a file; nothing in it is trusted before its signature is verified.
    pub fn read(text: &str, signer: &PoolSigner) -> Result<Self, PoolFileError> {
        let lines: Vec<_> = text.lines().collect();
        let wrong =
            |line: usize, wanted: &str| PoolFileError::Line { line, wanted: wanted.to_owned() };
        if lines.first() != Some(&TITLE) {
            return Err(wrong(1, &format!("\"{TITLE}\"")));
        }
        let is_signed = |line: &&&str| line.starts_with("signature ");
        let last = lines.last().filter(is_signed).ok_or_else(|| {
            wrong(lines.len(), "\"signature \" and 128 hex digits: the end is missing")
        })?;
        check_signature(text, last, signer)?;

        let value = |line: usize, name: &str| {
            let found =
                lines.get(line - 1).and_then(|text| text.strip_prefix(name)?.strip_prefix(' '));
            found.ok_or_else(|| wrong(line, &format!("\"{name} …\"")))
        };
        let network: Network =
            value(2, "network")?.parse().map_err(|_| wrong(2, "\"network\" and one of ours"))?;
        if !network.family().has_pool() {
            return Err(PoolFileError::NoPool(network));
        }
        let number = |line: usize, name: &str| -> Result<u32, PoolFileError> {
            let unreadable = || wrong(line, &format!("\"{name}\" and a number below {INDEX_END}"));
            value(line, name)?.parse().map_err(|_| unreadable())
        };
        let (first, said) = (number(3, "first")?, number(4, "count")?);
        let addresses: Vec<_> =
            lines[4..lines.len() - 1].iter().map(|line| (*line).to_owned()).collect();
        if u32::try_from(addresses.len()) != Ok(said) || said == 0 {
            return Err(PoolFileError::Count { said, held: addresses.len() });
        }
        if first.checked_add(said).is_none_or(|end| end > INDEX_END) {
            return Err(wrong(
                3,
                &format!("\"first\" and a number, all indices below {INDEX_END}"),
            ));
        }
        check_addresses(network, first, &addresses)?;
        Ok(Self { network, first, addresses })
    }
}

fn check_signature(text: &str, last: &str, signer: &PoolSigner) -> Result<(), PoolFileError> {
    let signed = text.rfind(last).map_or("", |at| &text[..at]);
    let mut bytes = [0; 64];
    let digits = last.strip_prefix("signature ").unwrap_or_default();
    hex::decode_to_slice(digits, &mut bytes).map_err(|_| PoolFileError::Signature)?;
    let signature = Signature::from_bytes(&bytes);
    signer.0.verify_strict(signed.as_bytes(), &signature).map_err(|_| PoolFileError::Signature)
}

/// Checks the addresses although the file is signed: the program that wrote it may have been wrong.
fn check_addresses(
    network: Network,
    first: u32,
    addresses: &[String],
) -> Result<(), PoolFileError> {
    let mut seen = std::collections::HashMap::with_capacity(addresses.len());
    for (index, text) in (u64::from(first)..).zip(addresses) {
        let valid =
            check(network, text).map_err(|reason| PoolFileError::Address { index, reason })?;
        if valid != *text {
            return Err(PoolFileError::Spelling { index });
        }
        if let Some(before) = seen.insert(text.as_str(), index) {
            return Err(PoolFileError::Twice { index, before });
        }
    }
    Ok(())
}

/// Checks one pool address. Neither network has checksums, so the check is that the text is a
/// public key: NEAR names would pass for addresses otherwise.
fn check(network: Network, text: &str) -> Result<String, AddressError> {
    if network.family() != Family::Near {
        return validate(network, text);
    }
    let mut public_key = [0; 32];
    hex::decode_to_slice(text, &mut public_key).map_err(|_| AddressError::Malformed)?;
    near::encode(&public_key)
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
