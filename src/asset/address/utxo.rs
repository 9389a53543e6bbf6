//! Bitcoin, litecoin and dogecoin addresses. They differ in data only.

use k256::elliptic_curve::sec1::ToSec1Point;
use ripemd::Ripemd160;
use sha2::{Digest, Sha256};

use super::{AddressError, Realm, base58, segwit};

/// Address formats of one chain, in both realms.
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

// Litecoin once wrote its scripts with bitcoin's version bytes, and its nodes still read them. We
// refuse them: such a text is far more often a bitcoin address in the wrong field.
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

const OP_0: u8 = 0;
const OP_1: u8 = 0x51;
const OP_DUP: u8 = 0x76;
const OP_EQUAL: u8 = 0x87;
const OP_EQUALVERIFY: u8 = 0x88;
const OP_HASH160: u8 = 0xa9;
const OP_CHECKSIG: u8 = 0xac;

/// The script that pays an address: the inverse of [`of_script`].
pub(super) fn script(chain: &Chain, realm: Realm, text: &str) -> Option<Vec<u8>> {
    let spelling = chain.spelling(realm);
    let own = validate(chain, realm, text).ok()?;
    if spelling.witness_prefix.is_some_and(|prefix| segwit::has_prefix(prefix, &own)) {
        let (version, program) = segwit::program(&own)?;
        let opcode = if version == 0 { OP_0 } else { OP_1 };
        return Some([&[opcode, u8::try_from(program.len()).ok()?], &*program].concat());
    }
    let (version, hash) = base58::decode(&own).ok()?;
    Some(if version == spelling.pay_to_key {
        [&[OP_DUP, OP_HASH160, 20], &hash[..], &[OP_EQUALVERIFY, OP_CHECKSIG]].concat()
    } else {
        [&[OP_HASH160, 20], &hash[..], &[OP_EQUAL]].concat()
    })
}

/// The address that an output script pays to: by key hash, script hash, or witness program.
pub(super) fn of_script(chain: &Chain, realm: Realm, script: &[u8]) -> Option<String> {
    let spelling = chain.spelling(realm);
    match script {
        [OP_DUP, OP_HASH160, 20, hash @ .., OP_EQUALVERIFY, OP_CHECKSIG] => {
            Some(base58::encode(spelling.pay_to_key, hash.try_into().ok()?))
        }
        [OP_HASH160, 20, hash @ .., OP_EQUAL] => {
            Some(base58::encode(spelling.pay_to_script, hash.try_into().ok()?))
        }
        [version @ (OP_0 | OP_1), length, program @ ..]
            if usize::from(*length) == program.len() =>
        {
            segwit::of_program(spelling.witness_prefix?, u8::from(*version == OP_1), program)
        }
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "751e76e8199196d454941c45d1b3a323f1433bd6";

    #[track_caller]
    fn check(chain: &Chain, realm: Realm, hex: &str, expected: Option<&str>) {
        let bytes = hex::decode(hex.replace("HASH", HASH)).unwrap();
        let address = of_script(chain, realm, &bytes);
        assert_eq!(address.as_deref(), expected);
        if let Some(address) = address {
            assert_eq!(validate(chain, realm, &address).as_deref(), Ok(address.as_str()));
            assert_eq!(script(chain, realm, &address), Some(bytes));
        }
    }

    #[test]
    fn an_address_of_another_chain_has_no_script_here() {
        let witness = "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9";
        assert!(script(&LITECOIN, Realm::Main, witness).is_some());
        for (chain, text) in [
            (&BITCOIN, witness),
            (&DOGECOIN, witness),
            (&LITECOIN, "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"),
            (&BITCOIN, "DFpN6QqFfUm3gKNaxN6tNcab1FArL9cZLE"),
        ] {
            assert_eq!(script(chain, Realm::Main, text), None, "{text}");
        }
    }

    #[test]
    fn every_kind_of_script_is_spelt_as_its_chain_does() {
        use Realm::{Main, Regtest};
        // The address of the key 1, and the examples of BIP-173 and BIP-350.
        let to_key = "76a914HASH88ac";
        check(&BITCOIN, Main, to_key, Some("1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH"));
        check(&BITCOIN, Regtest, to_key, Some("mrCDrCybB6J1vRfbwM5hemdJz73FwDBC8r"));
        check(&DOGECOIN, Main, to_key, Some("DFpN6QqFfUm3gKNaxN6tNcab1FArL9cZLE"));
        check(&DOGECOIN, Regtest, to_key, Some("mrCDrCybB6J1vRfbwM5hemdJz73FwDBC8r"));
        check(&LITECOIN, Main, to_key, Some("LVuDpNCSSj6pQ7t9Pv6d6sUkLKoqDEVUnJ"));
        let witness = "0014HASH";
        check(&BITCOIN, Main, witness, Some("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"));
        check(&LITECOIN, Main, witness, Some("ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9"));
        check(&DOGECOIN, Main, witness, None);
        let program = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
        check(
            &BITCOIN,
            Main,
            &format!("5120{program}"),
            Some("bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0"),
        );
        check(&BITCOIN, Main, "a914HASH87", Some("3CNHUhP3uyB9EUtRLsmvFUmvGdjGdkTxJw"));
        check(&LITECOIN, Main, "a914HASH87", Some("MJaRnao1s62a2zAKSkmG582KbLKianqb7v"));
    }

    #[test]
    fn a_script_of_another_form_pays_no_address() {
        for script in [
            "",
            "6a0568656c6c6f",
            "76a914HASH88",
            "76a914HASH88acac",
            "76a913HASH88ac",
            "a914HASH8787",
            "0014HASH00",
            "0013HASH",
            "5114HASH",
            "5220HASHHASHHASH",
            "2103HASHHASHac",
        ] {
            check(&BITCOIN, Realm::Main, script, None);
        }
    }
}
