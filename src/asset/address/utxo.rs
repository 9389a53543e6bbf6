//! Bitcoin, litecoin and dogecoin. They differ in data only.

use k256::elliptic_curve::sec1::ToSec1Point;
use ripemd::Ripemd160;
use sha2::{Digest, Sha256};

use super::{AddressError, Realm, base58, segwit};

/// How one chain spells its addresses, in both realms.
pub(super) struct Chain {
    main: Spelling,
    regtest: Spelling,
}

struct Spelling {
    /// Deposit addresses are witness addresses where the chain has them.
    witness_prefix: Option<&'static str>,
    pay_to_key: u8,
    pay_to_script: u8,
}

pub(super) const BITCOIN: Chain = Chain {
    main: Spelling { witness_prefix: Some("bc"), pay_to_key: 0x00, pay_to_script: 0x05 },
    regtest: Spelling { witness_prefix: Some("bcrt"), pay_to_key: 0x6f, pay_to_script: 0xc4 },
};

// Litecoin once wrote its scripts with bitcoin's version bytes, and its nodes still read them. We do not: such a text
// is far more often a bitcoin address in the wrong field.
pub(super) const LITECOIN: Chain = Chain {
    main: Spelling { witness_prefix: Some("ltc"), pay_to_key: 0x30, pay_to_script: 0x32 },
    regtest: Spelling { witness_prefix: Some("rltc"), pay_to_key: 0x6f, pay_to_script: 0x3a },
};

pub(super) const DOGECOIN: Chain = Chain {
    main: Spelling { witness_prefix: None, pay_to_key: 0x1e, pay_to_script: 0x16 },
    regtest: Spelling { witness_prefix: None, pay_to_key: 0x6f, pay_to_script: 0xc4 },
};

impl Chain {
    const fn spelling(&self, realm: Realm) -> &Spelling {
        match realm {
            Realm::Main => &self.main,
            Realm::Regtest => &self.regtest,
        }
    }
}

pub(super) fn bitcoin(realm: Realm, key: &k256::PublicKey) -> String {
    address(&BITCOIN, realm, key)
}

pub(super) fn litecoin(realm: Realm, key: &k256::PublicKey) -> String {
    address(&LITECOIN, realm, key)
}

pub(super) fn dogecoin(realm: Realm, key: &k256::PublicKey) -> String {
    address(&DOGECOIN, realm, key)
}

/// The deposit address of a public key: P2WPKH, or P2PKH on a chain without witnesses.
fn address(chain: &Chain, realm: Realm, key: &k256::PublicKey) -> String {
    let spelling = chain.spelling(realm);
    let hash = key_hash(key);
    spelling
        .witness_prefix
        .and_then(|prefix| segwit::pay_to_key(prefix, &hash))
        .unwrap_or_else(|| base58::encode(spelling.pay_to_key, &hash))
}

/// RIPEMD-160 of SHA-256 of the compressed key. Cosmos chains hash their keys in the same way.
pub(super) fn key_hash(key: &k256::PublicKey) -> [u8; 20] {
    Ripemd160::digest(Sha256::digest(key.to_sec1_point(true).as_bytes())).into()
}

pub(super) fn validate(chain: &Chain, realm: Realm, text: &str) -> Result<String, AddressError> {
    let spelling = chain.spelling(realm);
    if spelling.witness_prefix.is_some_and(|prefix| segwit::has_prefix(prefix, text)) {
        return segwit::validate(text);
    }
    let (version, _) = base58::decode(text).map_err(|error| {
        // A sound witness address under a foreign prefix deserves the more helpful answer.
        if segwit::lower_case(text).is_some() { AddressError::OtherNetwork } else { error }
    })?;
    if version == spelling.pay_to_key || version == spelling.pay_to_script {
        Ok(text.to_owned())
    } else {
        Err(AddressError::OtherNetwork)
    }
}
