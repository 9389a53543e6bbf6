//! Addresses: derived from public keys, validated when a person enters one, and normalised to one
//! spelling for comparison.
//!
//! Deposit addresses come from public material only ([`AccountKey`]), so that a stolen API server
//! cannot spend. Private keys appear in [`sandbox`], which holds only publicly known keys, in
//! [`pool`], on the machine that exports a pool, and in [`Account`], for the wallet that pays out.

mod accounts;
mod base58;
mod derive;
pub mod evm;
pub mod near;
pub mod pool;
#[cfg(test)]
mod refusals;
pub mod sandbox;
mod segwit;
mod slip10;
pub mod solana;
mod thorchain;
pub mod ton;
pub mod tron;
mod utxo;
#[cfg(test)]
mod vectors;

pub use accounts::Account;
pub use derive::{AccountKey, DeriveError, KeyError};
use thiserror::Error;

use super::{Family, Network};

/// Longer texts are refused unparsed: decoding base58 is quadratic in their length.
const ADDRESS_BYTES_MAX: usize = 128;

/// Main network or test network of an address.
///
/// Only the bitcoin-like chains spell the addresses of their private test networks differently; on
/// all other networks both realms are the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Realm {
    Main,
    Regtest,
}

/// Reason why a text is not an address that can be paid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum AddressError {
    #[error("is not an address of this network")]
    Malformed,
    #[error("has a wrong checksum: a character was mistyped or lost")]
    Checksum,
    #[error("mixes upper and lower case")]
    MixedCase,
    #[error("belongs to another network")]
    OtherNetwork,
    #[error("is of a kind that cannot be spent from yet")]
    UnknownVersion,
    #[error("is a burn address: what is sent there is lost")]
    Unspendable,
}

/// Validates an address of the real network and returns it in the spelling of wallets and
/// explorers.
pub fn validate(network: Network, text: &str) -> Result<String, AddressError> {
    validate_in(Realm::Main, network, text)
}

/// As [`validate`], for an address of either realm.
pub fn validate_in(realm: Realm, network: Network, text: &str) -> Result<String, AddressError> {
    if text.len() > ADDRESS_BYTES_MAX || !text.is_ascii() {
        return Err(AddressError::Malformed);
    }
    match network.family() {
        Family::Bitcoin => utxo::validate(&utxo::BITCOIN, realm, text),
        Family::Litecoin => utxo::validate(&utxo::LITECOIN, realm, text),
        Family::Dogecoin => utxo::validate(&utxo::DOGECOIN, realm, text),
        Family::Evm => evm::validate(text),
        Family::Tron => tron::validate(text),
        Family::Solana => solana::validate(text),
        Family::Near => near::validate(text),
        Family::Ton => ton::validate(text),
        Family::Thorchain => thorchain::validate(text),
    }
}

/// Returns the address that an output script of a bitcoin-like chain pays to, as [`match_key`]
/// spells it; `None` for a script that pays to no address, and on other networks.
pub fn of_script(network: Network, realm: Realm, script: &[u8]) -> Option<String> {
    match network.family() {
        Family::Bitcoin => utxo::of_script(&utxo::BITCOIN, realm, script),
        Family::Litecoin => utxo::of_script(&utxo::LITECOIN, realm, script),
        Family::Dogecoin => utxo::of_script(&utxo::DOGECOIN, realm, script),
        Family::Evm
        | Family::Tron
        | Family::Solana
        | Family::Near
        | Family::Ton
        | Family::Thorchain => None,
    }
}

/// Returns the output script that pays an address of a bitcoin-like chain; `None` for a text that
/// is not such an address.
pub fn script_of(network: Network, realm: Realm, text: &str) -> Option<Vec<u8>> {
    if text.len() > ADDRESS_BYTES_MAX || !text.is_ascii() {
        return None;
    }
    match network.family() {
        Family::Bitcoin => utxo::script(&utxo::BITCOIN, realm, text),
        Family::Litecoin => utxo::script(&utxo::LITECOIN, realm, text),
        Family::Dogecoin => utxo::script(&utxo::DOGECOIN, realm, text),
        Family::Evm
        | Family::Tron
        | Family::Solana
        | Family::Near
        | Family::Ton
        | Family::Thorchain => None,
    }
}

/// Returns the spelling in which addresses and contracts are compared and stored.
///
/// Two spellings of one address have the same key, also where a node and a wallet write it
/// differently: EVM in lower case, TON as `workchain:hash`, TRON in base58 also from the node's
/// hex, bech32 in lower case. A text that is not an address is its own key, so that a comparison
/// with it simply fails.
pub fn match_key(family: Family, text: &str) -> String {
    let key = if text.len() > ADDRESS_BYTES_MAX || !text.is_ascii() {
        None
    } else {
        match family {
            Family::Evm => Some(text.to_ascii_lowercase()),
            Family::Tron => tron::from_node_hex(text),
            Family::Ton => ton::TonAddress::parse(text).ok().map(|address| address.raw()),
            Family::Bitcoin | Family::Litecoin => segwit::lower_case(text),
            Family::Thorchain => thorchain::validate(text).ok(),
            Family::Dogecoin | Family::Solana | Family::Near => None,
        }
    };
    key.unwrap_or_else(|| text.to_owned())
}
