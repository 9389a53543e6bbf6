//! Every address of `vectors.json` against our own derivation.

use std::collections::BTreeMap;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::{
    AccountKey, Family, Realm, match_key, pool, sandbox, slip10, ton::TonAddress, validate_in,
};
use crate::asset::Network;

#[derive(Deserialize)]
struct File {
    phrases: BTreeMap<String, Phrase>,
    slip10: Slip10,
    sets: BTreeMap<String, BTreeMap<String, Rows>>,
}

#[derive(Deserialize)]
struct Phrase {
    phrase: String,
    seed: String,
}

#[derive(Deserialize)]
struct Slip10 {
    seed: String,
    rows: Vec<Slip10Row>,
}

#[derive(Deserialize)]
struct Slip10Row {
    path: String,
    public_key: String,
}

#[derive(Deserialize)]
struct Rows {
    account_xpub: Option<String>,
    account_xpub_slip132: Option<String>,
    public_key: Option<String>,
    addresses: BTreeMap<u32, String>,
    #[serde(default)]
    raw: BTreeMap<u32, String>,
    #[serde(default)]
    hex: BTreeMap<u32, String>,
}

fn file() -> File {
    serde_json::from_str(include_str!("vectors.json")).unwrap()
}

fn place(name: &str) -> (Realm, Network) {
    let (name, realm) = match name.strip_suffix("_regtest") {
        Some(name) => (name, Realm::Regtest),
        None => (name, Realm::Main),
    };
    let network = match name {
        "evm" => Network::Ethereum,
        "ton_v4r2" | "ton_v5r1" | "ton_v4r2_subwallet" => Network::Ton,
        other => other.parse().unwrap(),
    };
    (realm, network)
}

/// The address of row `index`, from the key material of its rows.
fn derive(name: &str, seed: &[u8], rows: &Rows, index: u32) -> Vec<String> {
    let (realm, network) = place(name);
    let family = network.family();
    let from_key =
        |text: &String| AccountKey::parse_in(realm, family, text).unwrap().address(index).unwrap();
    let ton_key = || slip10::public_key(seed, &[44, 607, index]).unwrap();
    match name {
        "solana" | "near" => vec![pool::address(seed, family, index).unwrap()],
        "ton_v4r2" => {
            let key = AccountKey::parse(family, &hex::encode(ton_key())).unwrap();
            vec![key.address(0).unwrap()]
        }
        "ton_v5r1" => vec![wallet_v5r1(&ton_key()).not_bounceable()],
        _ => [&rows.account_xpub, &rows.account_xpub_slip132, &rows.public_key]
            .into_iter()
            .flatten()
            .map(from_key)
            .collect(),
    }
}

/// The newest wallet contract. We derive none, but many buyers pay from one.
fn wallet_v5r1(public_key: &[u8; 32]) -> TonAddress {
    let code = "20834b7b72b112147e1b2fb457b84e74d1a30f04f737d4f62a668e9552d2b72f";
    let wallet_id = 0x7fff_ff11_u32; // mainnet, workchain 0, subwallet 0
    // 322 bits: one for "signatures are allowed", so all that follows is shifted by one.
    let bytes = [&[0; 4][..], &wallet_id.to_be_bytes(), public_key].concat();
    let mut shifted = vec![0x80 | (bytes[0] >> 1)];
    shifted.extend(bytes.windows(2).map(|pair| (pair[0] << 7) | (pair[1] >> 1)));
    shifted.push((bytes[39] << 7) | 0x20); // no extensions, then the closing mark
    let data = Sha256::digest([&[0x00, 0x51][..], &shifted].concat());
    let code = hex::decode(code).unwrap();
    let head = [0x02, 0x01, 0x34, 0x00, 0x06, 0x00, 0x00];
    let hash = Sha256::digest([&head[..], &code, &data].concat());
    TonAddress::parse(&format!("0:{}", hex::encode(hash))).unwrap()
}

#[test]
fn all_168_published_addresses_are_derived() {
    let file = file();
    let mut compared = 0;
    for (set, families) in &file.sets {
        let seed = hex::decode(&file.phrases[set].seed).unwrap();
        for (name, rows) in families {
            for (&index, expected) in &rows.addresses {
                let derived = derive(name, &seed, rows, index);
                assert!(!derived.is_empty(), "{set} {name} {index}");
                for address in derived {
                    assert_eq!(&address, expected, "{set} {name} {index}");
                }
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 168);
}

#[test]
fn every_published_address_is_valid_and_already_canonical() {
    for (name, rows) in file().sets.values().flatten() {
        let (realm, network) = place(name);
        for address in rows.addresses.values() {
            assert_eq!(validate_in(realm, network, address).as_ref(), Ok(address), "{name}");
        }
    }
}

#[test]
fn every_spelling_of_an_address_has_one_match_key() {
    for (name, rows) in file().sets.values().flatten() {
        let family = place(name).1.family();
        let key = |text: &str| match_key(family, text);
        for (index, address) in &rows.addresses {
            match family {
                Family::Evm => assert_eq!(key(address), key(&address.to_uppercase())),
                Family::Ton => {
                    let parsed = TonAddress::parse(address).unwrap();
                    let standard = address.replace('-', "+").replace('_', "/");
                    for other in [parsed.bounceable(), parsed.raw().to_uppercase(), standard] {
                        assert_eq!(key(&other), parsed.raw());
                    }
                    if let Some(raw) = rows.raw.get(index) {
                        assert_eq!(&key(address), raw);
                    }
                }
                Family::Tron => assert_eq!(&key(&rows.hex[index]), address),
                Family::Bitcoin | Family::Litecoin | Family::Thorchain => {
                    assert_eq!(&key(&address.to_uppercase()), address);
                }
                Family::Dogecoin | Family::Solana | Family::Near => {
                    assert_eq!(&key(address), address);
                }
            }
        }
    }
}

#[test]
fn slip_10_gives_the_published_public_keys() {
    let slip10 = file().slip10;
    let seed = hex::decode(slip10.seed).unwrap();
    for row in slip10.rows {
        let path: Vec<u32> = row
            .path
            .split('/')
            .skip(1)
            .map(|n| n.trim_end_matches('\'').parse().unwrap())
            .collect();
        let key = slip10::public_key(&seed, &path).unwrap();
        assert_eq!(hex::encode(key), row.public_key, "{}", row.path);
    }
}

#[test]
fn the_keys_of_both_phrases_are_refused_in_production() {
    let file = file();
    for phrase in file.phrases.values() {
        assert!(sandbox::is_public_test_key(&phrase.phrase));
        assert!(sandbox::is_public_test_key(&phrase.seed));
    }
    for rows in file.sets.values().flat_map(BTreeMap::values) {
        let keys = [&rows.account_xpub, &rows.account_xpub_slip132, &rows.public_key];
        for key in keys.into_iter().flatten() {
            assert!(sandbox::is_public_test_key(key), "{key}");
        }
    }
}
