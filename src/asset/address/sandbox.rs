//! Publicly known keys: the sandbox uses them by default, and production refuses them.
//!
//! They come from two phrases that countless test suites use. Funds sent to their addresses on a
//! real network are stolen within seconds.

use std::{collections::HashSet, sync::LazyLock};

use super::{
    Account, Family, Realm,
    pool::{self, PoolSigner},
};

const JUNK_PHRASE: &str = "test test test test test test test test test test test junk";
const ABANDON_PHRASE: &str = "abandon abandon abandon abandon abandon abandon abandon abandon \
     abandon abandon abandon about";

// BIP-39 of the phrases, without a passphrase.
const JUNK_SEED: &str = "9dfc3c64c2f8bede1533b6a79f8570e5943e0b8fd1cf77107adf7b72cef42185\
     d564a3aee24cab43f80e3c4538087d70fc824eabbad596a23c97b6ee8322ccc0";
const ABANDON_SEED: &str = "5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc1\
     9a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4";

/// Account keys of the junk phrase, the sandbox's default for deposit addresses.
const JUNK_KEYS: [(Family, Realm, &str); 10] = [
    (
        Family::Bitcoin,
        Realm::Main,
        "xpub6C4SXHaqSMPK8MGL7bWjvS8WQnhoadsaXv2mnBcjAv142P2TivoC7s7ukNRYxETJZGc3JNzDKHQAGH5N3oQhQgkpwk6WrMtJB4eG2fpRAsV",
    ),
    (
        Family::Litecoin,
        Realm::Main,
        "xpub6C5Bi8NcXLPPwPqkT65jhUNLvZQvfRPun9VVsqCMZptjgyXk4fVCyESt5Jqt8MvtguHbwt8v4pn6JvAi3gBoyrM1ZsWFQ1oN2aubj2RhmhG",
    ),
    (
        Family::Dogecoin,
        Realm::Main,
        "xpub6DEKda2BGfKebpwLtYBrvunPCMUnQqm33X3eyaDqtMvGiRpT2pJofeo4CHfFiwwfc7Zwscg2YKc2ohFJvGwon2FPS3oGGtX3FH6h1Usmrm4",
    ),
    (
        Family::Evm,
        Realm::Main,
        "xpub6Ce9NcJvTk36xtLSrJLZqE7wtgA5deCeYs7rSQtreh4cj6ByPtrg9sD7V2FNFLPnf8heNP3FGkeV9qwfzvZNSd54JoNXVsXFYSYwHsnJxqP",
    ),
    (
        Family::Tron,
        Realm::Main,
        "xpub6BuRy7ZmkGfP2RWhoor1kWB1w9DvrtmJbFBvnC1bQ4SB5NbCHTyQYCJSXZtxDbFyHTmC7wkU2he3nYYdpZ3Vf6qUAkXSnL6RPif4BDtDEKr",
    ),
    (
        Family::Thorchain,
        Realm::Main,
        "xpub6Co7MxrruCdTf3yBAMazG9jjfuZqeiwJenk2HZWkWXkS37CSpa9heY8nCv7N55DesHPS6vVVB3GaZJMC5uETSZ55wbgfKCYwvVQhUicNR9m",
    ),
    (
        Family::Bitcoin,
        Realm::Regtest,
        "tpubDCTawRj1voCsGHoKQopGdxi1UXEfy8eeogsbA7SxDL1j7tvTfwdF6jQNSneAQw5a2x29XY6PWbnKMx68oM7BYoew8eRySvVaLZxkrBzWr4A",
    ),
    (
        Family::Litecoin,
        Realm::Regtest,
        "tpubDCTawRj1voCsGHoKQopGdxi1UXEfy8eeogsbA7SxDL1j7tvTfwdF6jQNSneAQw5a2x29XY6PWbnKMx68oM7BYoew8eRySvVaLZxkrBzWr4A",
    ),
    (
        Family::Dogecoin,
        Realm::Regtest,
        "tpubDCxfYwmzJPiUsqJ7KgLWNTr1X3wc1Jm84rbCorAF6o4mhVFMkKKJKMwji1ktUxNcaoMvYiMMmvBkptVp2Yj5KbYJ5M6emVvDnmt6hUFVsmE",
    ),
    (Family::Ton, Realm::Main, "c7ead976255c7200c7a161675cc41caa71d08e6211f9e110cc699f65507b9358"),
];

/// Account keys of the abandon phrase. They are never used, only recognised.
const ABANDON_KEYS: [(Family, Realm, &str); 10] = [
    (
        Family::Bitcoin,
        Realm::Main,
        "xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V",
    ),
    (
        Family::Litecoin,
        Realm::Main,
        "xpub6CjGURuDpczf6uNrCCwfhVizn5J3hsWcvZ2m6GAdmAjZnoWJPrx6TFPjGSftc2o5fvox6ubQjSXmjjaHZjwYMH7SGFpHHb9Jg24zBf66mbE",
    ),
    (
        Family::Dogecoin,
        Realm::Main,
        "xpub6Bxse8AT19u9HExKtP1EAudLi9CpLxPpxDvanL2fFtM7UFE2Q7TTWRg4bnMnmT4KcyN6GQkSgZmPWDtyUywSii3MDpMNfXSTuzH7gvZywLU",
    ),
    (
        Family::Evm,
        Realm::Main,
        "xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt",
    ),
    (
        Family::Tron,
        Realm::Main,
        "xpub6D1AabNHCupeiLM65ZR9UStMhJ1vCpyV4XbZdyhMZBiJXALQtmn9p42VTQckoHVn8WNqS7dqnJokZHAHcHGoaQgmv8D45oNUKx6DZMNZBCd",
    ),
    (
        Family::Thorchain,
        Realm::Main,
        "xpub6CNbXkRDJeLqYYFLjWn2t7ytehsjN5uUJMAfjMHRPVgn3jk5Xxzv2dmW8jc6ymknW3DzbvBPwontsoJkvgRuV8dELWCkmqkShd2ECfoFV3j",
    ),
    (
        Family::Bitcoin,
        Realm::Regtest,
        "tpubDC8msFGeGuwnKG9Upg7DM2b4DaRqg3CUZa5g8v2SRQ6K4NSkxUgd7HsL2XVWbVm39yBA4LAxysQAm397zwQSQoQgewGiYZqrA9DsP4zbQ1M",
    ),
    (
        Family::Litecoin,
        Realm::Regtest,
        "tpubDC8msFGeGuwnKG9Upg7DM2b4DaRqg3CUZa5g8v2SRQ6K4NSkxUgd7HsL2XVWbVm39yBA4LAxysQAm397zwQSQoQgewGiYZqrA9DsP4zbQ1M",
    ),
    (
        Family::Dogecoin,
        Realm::Regtest,
        "tpubDC5FSnBiZDMmhiuCmWAYsLwgLYrrT9rAqvTySfuCCrgsWz8wxMXUS9Tb9iVMvcRbvFcAHGkMD5Kx8koh4GquNGNTfohfk7pgjhaPCdXpoba",
    ),
    (Family::Ton, Realm::Main, "7952e94118f34607c75e23258dd9220d66ccac5a3ee074125c25068e8107bfbf"),
];

/// The sandbox's default for `AccountKey::parse_in`; `None` for the families that draw from a pool.
pub fn account_key(realm: Realm, family: Family) -> Option<&'static str> {
    let row = |realm| JUNK_KEYS.iter().find(move |row| row.0 == family && row.1 == realm);
    row(realm).or_else(|| row(Realm::Main)).map(|row| row.2)
}

/// The account that pays, for which [`account_key`] has no text: each use has its own, also in the
/// sandbox.
pub fn spending_key(account: Account, realm: Realm, family: Family) -> Option<&'static str> {
    let keys = SPENDING_KEYS.iter().find(|row| (row.0, row.1, row.2) == (account, family, realm));
    keys.map(|row| row.3.as_str())
}

static SPENDING_KEYS: LazyLock<Vec<(Account, Family, Realm, String)>> = LazyLock::new(|| {
    let seed = hex::decode(JUNK_SEED).unwrap_or_default();
    let mut keys = Vec::new();
    for account in [Account::Payouts, Account::Gas, Account::X402] {
        for family in Family::ALL {
            for realm in [Realm::Main, Realm::Regtest] {
                let key = account.xpub(&seed, family, realm);
                keys.extend(key.map(|key| (account, family, realm, key)));
            }
        }
    }
    keys
});

/// Seed behind [`account_key`]; it is public. The sandbox pays out with it.
pub const fn seed() -> &'static str {
    JUNK_SEED
}

/// Returns deposit address number `index` of the sandbox's pool; `None` for the other families and
/// beyond the last index.
///
/// `gatewayctl addresses fill` uses it in the sandbox. A production pool is filled with addresses
/// that were exported from a seed of its own (see [`pool`]); this function must never be given that
/// seed.
pub fn pool_address(family: Family, index: u32) -> Option<String> {
    pool::address(&hex::decode(JUNK_SEED).ok()?, family, index)
}

/// Signer of the sandbox's pool files. Production refuses it.
pub fn pool_signer() -> Option<PoolSigner> {
    PoolSigner::of_seed(&hex::decode(JUNK_SEED).ok()?)
}

/// The parts of an extended key that identify its owner, independent of its spelling.
struct Lineage {
    chain_code: [u8; 32],
    parent: [u8; 4],
}

impl Lineage {
    /// Reads only the bytes, so that an unusual prefix, a private key or a wrong depth hides
    /// nothing.
    fn of(text: &str) -> Option<Self> {
        let bytes = bs58::decode(text).with_check(None).into_vec().ok()?;
        let chain_code = bytes.get(13..45)?.try_into().ok()?;
        let parent = bytes.get(5..9)?.try_into().ok()?;
        Some(Self { chain_code, parent })
    }
}

struct Known {
    chain_codes: HashSet<[u8; 32]>,
    parents: HashSet<[u8; 4]>,
    texts: HashSet<String>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let keys = || JUNK_KEYS.iter().chain(&ABANDON_KEYS).map(|row| row.2);
    let texts = [JUNK_PHRASE, ABANDON_PHRASE, JUNK_SEED, ABANDON_SEED].into_iter().chain(keys());
    let signer = |seed: &str| PoolSigner::of_seed(&hex::decode(seed).ok()?).map(|key| key.to_hex());
    let signers = [JUNK_SEED, ABANDON_SEED].into_iter().filter_map(signer);
    Known {
        chain_codes: keys().filter_map(Lineage::of).map(|lineage| lineage.chain_code).collect(),
        parents: keys().filter_map(Lineage::of).map(|lineage| lineage.parent).collect(),
        texts: texts.map(plain).chain(signers).collect(),
    }
});

/// Extended keys have 111 characters, phrases of 24 words up to 215.
const KEY_BYTES_MAX: usize = 512;

/// Returns true for a publicly known key, phrase or seed, in any spelling.
///
/// Also recognises the other accounts of the two phrases on the same coins, by the fingerprint of
/// their common parent. Does not recognise single addresses of a pool.
pub fn is_public_test_key(text: &str) -> bool {
    if text.len() > KEY_BYTES_MAX {
        return false;
    }
    if KNOWN.texts.contains(&plain(text)) {
        return true;
    }
    Lineage::of(text.trim()).is_some_and(|lineage| {
        KNOWN.chain_codes.contains(&lineage.chain_code) || KNOWN.parents.contains(&lineage.parent)
    })
}

fn plain(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().map(str::to_ascii_lowercase).collect();
    let joined = words.join(" ");
    joined.strip_prefix("0x").map(str::to_owned).unwrap_or(joined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asset::AccountKey;

    #[test]
    fn the_sandbox_has_a_default_for_every_family() {
        for realm in [Realm::Main, Realm::Regtest] {
            for family in Family::ALL {
                match account_key(realm, family) {
                    Some(text) => {
                        AccountKey::parse_in(realm, family, text).unwrap().address(0).unwrap();
                    }
                    None => {
                        pool_address(family, 0).unwrap();
                    }
                }
            }
        }
    }

    /// A buyer can pay one of our addresses by mistake only on the networks that watch for it.
    #[test]
    fn an_address_can_be_named_on_the_networks_that_watch_for_it_and_on_no_others() {
        use crate::asset::{Network, address::validate};
        let of = |family, index| match account_key(Realm::Main, family) {
            Some(key) => AccountKey::parse(family, key).unwrap().address(index).unwrap(),
            None => pool_address(family, index).unwrap(),
        };
        for (family, index) in Family::ALL.into_iter().flat_map(|f| (0..5).map(move |n| (f, n))) {
            let address = of(family, index);
            for network in Network::ALL {
                let named = [address.clone(), address.to_lowercase()]
                    .iter()
                    .any(|text| validate(network, text).is_ok());
                let watched = network.address_families().contains(&family);
                assert_eq!(named, watched, "{address} of {family:?} on {network}");
            }
        }
    }

    #[test]
    fn the_payout_accounts_of_the_test_phrases_are_recognised_as_public() {
        assert_eq!(SPENDING_KEYS.len(), 24);
        for (account, family, _, text) in SPENDING_KEYS.iter() {
            assert!(is_public_test_key(text), "{account:?} of {family:?}");
        }
    }

    #[test]
    fn a_key_that_everyone_knows_is_recognised_in_every_spelling() {
        for (family, _, text) in JUNK_KEYS.iter().chain(&ABANDON_KEYS) {
            assert!(is_public_test_key(text), "{family:?}");
            assert!(is_public_test_key(&format!("  {text}\n")), "{family:?} with blanks");
        }
        let cases = [
            ("phrase", "Test  test test test test test test test test test test JUNK".to_owned()),
            ("seed", format!("0x{}", JUNK_SEED.to_uppercase())),
            ("ton key in capitals", account_key(Realm::Main, Family::Ton).unwrap().to_uppercase()),
            // Bitcoin account of the abandon phrase as a zpub, and as the private key that BIP-84
            // publishes.
            ("zpub", "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs".to_owned()),
            ("zprv", "zprvAdG4iTXWBoARxkkzNpNh8r6Qag3irQB8PzEMkAFeTRXxHpbF9z4QgEvBRmfvqWvGp42t42nvgGpNgYSJA9iefm1yYNZKEm7z6qUWCroSQnE".to_owned()),
        ];
        for (name, text) in cases {
            assert!(is_public_test_key(&text), "{name}");
        }
    }

    #[test]
    fn an_ordinary_key_is_not_taken_for_a_published_test_key() {
        // BIP-32's first test vector at m/0'/1, and SLIP-10's.
        let cases = [
            "xpub6ASuArnXKPbfEwhqN6e3mwBcDTgzisQN1wXN9BJcM47sSikHjJf3UFHKkNAWbWMiGj7Wf5uMash7SyYq527Hqck2AxYysAA7xmALppuCkwQ",
            "a4b2856bfec510abab89753fac1ac0e1112364e7d250545963f135f2a33188ed",
            "",
            "test",
        ];
        for text in cases {
            assert!(!is_public_test_key(text), "{text}");
        }
    }

    #[test]
    fn the_seeds_belong_to_the_phrases() {
        // PBKDF2 with one block, as BIP-39 asks for.
        use hmac::{Hmac, KeyInit, Mac};
        let prf = |phrase: &str, parts: &[&[u8]]| -> [u8; 64] {
            let mut mac = Hmac::<sha2::Sha512>::new_from_slice(phrase.as_bytes()).unwrap();
            parts.iter().for_each(|part| mac.update(part));
            mac.finalize().into_bytes().into()
        };
        for (phrase, seed) in [(JUNK_PHRASE, JUNK_SEED), (ABANDON_PHRASE, ABANDON_SEED)] {
            let mut block = prf(phrase, &[b"mnemonic", &1_u32.to_be_bytes()]);
            let mut sum = block;
            for _ in 1..2048 {
                block = prf(phrase, &[&block]);
                sum.iter_mut().zip(block).for_each(|(sum, byte)| *sum ^= byte);
            }
            assert_eq!(hex::encode(sum), seed, "{phrase}");
        }
    }
}
