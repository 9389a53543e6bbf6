//! Texts that are not addresses, and the reason: one table per network.

use proptest::prelude::*;

use super::{
    AccountKey,
    AddressError::{self, *},
    DeriveError, KeyError, Realm, match_key, sandbox, validate, validate_in,
};
use crate::asset::{Family, Network};

fn check(network: Network, cases: &[(&str, Result<&str, AddressError>)]) {
    for (text, expected) in cases {
        assert_eq!(validate(network, text).as_deref().map_err(|e| *e), *expected, "{text}");
    }
}

#[test]
fn bitcoin_takes_sound_mainnet_addresses_only() {
    let taproot = "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0";
    let script = "bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3";
    check(
        Network::Bitcoin,
        &[
            (
                "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4",
                Ok("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"),
            ),
            (taproot, Ok(taproot)),
            (script, Ok(script)),
            ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", Ok("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")),
            ("3P14159f73E4gFr7JterCCQh9QjiTjiZrG", Ok("3P14159f73E4gFr7JterCCQh9QjiTjiZrG")),
            ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5", Err(Checksum)),
            ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t", Err(Checksum)),
            ("bc1Qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", Err(MixedCase)),
            ("bcrt1qquv9lg5g2r4jkr0ahun0ddfg5xntxjelwjpnuw", Err(OtherNetwork)),
            ("tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx", Err(OtherNetwork)),
            ("ltc1q9kptqash0ft2jf6vrpwgj0c3lwldx6akpmw5t8", Err(OtherNetwork)),
            // BIP-350: version 0 with the newer checksum, and version 16.
            ("BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4P", Err(Checksum)),
            ("BC1SW50QGDZ25J", Err(UnknownVersion)),
            ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", Err(Checksum)),
            ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfN", Err(Checksum)),
            ("DT6SkrdLDPUAhjV8gbEJFouEMM9vZx686g", Err(OtherNetwork)),
            ("mkpZhYtJu2r87Js3pDiWJDmPte2NRZ8bJV", Err(OtherNetwork)),
            ("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", Err(Malformed)),
            ("bc1", Err(Malformed)),
            ("", Err(Malformed)),
            ("1А1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", Err(Malformed)), // a cyrillic A
        ],
    );
}

#[test]
fn litecoin_and_dogecoin_take_no_address_of_bitcoin() {
    check(
        Network::Litecoin,
        &[
            (
                "LTC1Q9KPTQASH0FT2JF6VRPWGJ0C3LWLDX6AKPMW5T8",
                Ok("ltc1q9kptqash0ft2jf6vrpwgj0c3lwldx6akpmw5t8"),
            ),
            ("ltc1q9kptqash0ft2jf6vrpwgj0c3lwldx6akpmw5t9", Err(Checksum)),
            ("rltc1qquv9lg5g2r4jkr0ahun0ddfg5xntxjelslm6ts", Err(OtherNetwork)),
            ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", Err(OtherNetwork)),
            ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", Err(OtherNetwork)),
            ("3P14159f73E4gFr7JterCCQh9QjiTjiZrG", Err(OtherNetwork)),
        ],
    );
    check(
        Network::Dogecoin,
        &[
            ("DT6SkrdLDPUAhjV8gbEJFouEMM9vZx686g", Ok("DT6SkrdLDPUAhjV8gbEJFouEMM9vZx686g")),
            ("DT6SkrdLDPUAhjV8gbEJFouEMM9vZx686h", Err(Checksum)),
            ("DT6SkrdLDPUAhjV8gbEJFouEMM9vZx686", Err(Checksum)),
            ("n118YqfT1hk8uvXcqcy4fwLDfVQfJpQTaS", Err(OtherNetwork)),
            ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", Err(OtherNetwork)),
            ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", Err(OtherNetwork)),
        ],
    );
}

#[test]
fn the_realms_of_bitcoin_like_chains_never_mix() {
    let rows = [
        (Network::Bitcoin, "bcrt1qquv9lg5g2r4jkr0ahun0ddfg5xntxjelwjpnuw"),
        (Network::Litecoin, "rltc1qquv9lg5g2r4jkr0ahun0ddfg5xntxjelslm6ts"),
        (Network::Dogecoin, "n118YqfT1hk8uvXcqcy4fwLDfVQfJpQTaS"),
    ];
    for (network, regtest) in rows {
        assert_eq!(validate_in(Realm::Regtest, network, regtest).as_deref(), Ok(regtest));
        assert_eq!(validate_in(Realm::Main, network, regtest), Err(OtherNetwork));
        let main = sandbox::account_key(Realm::Main, network.family()).unwrap();
        let main = AccountKey::parse(network.family(), main).unwrap().address(0).unwrap();
        assert_eq!(validate_in(Realm::Regtest, network, &main), Err(OtherNetwork));
    }
}

#[test]
fn evm_mixed_case_must_carry_the_right_checksum() {
    let canonical = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
    check(
        Network::Polygon,
        &[
            (canonical, Ok(canonical)),
            ("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", Ok(canonical)),
            ("0xF39FD6E51AAD88F6F4CE6AB8827279CFFFB92266", Ok(canonical)),
            ("0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266", Err(Checksum)),
            ("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92267", Err(Checksum)),
            ("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb9226", Err(Malformed)),
            ("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb9226g", Err(Malformed)),
            ("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266", Err(Malformed)),
            ("0x0000000000000000000000000000000000000000", Err(Unspendable)),
            ("TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6", Err(Malformed)),
        ],
    );
}

#[test]
fn tron_and_thorchain_check_version_and_checksum() {
    check(
        Network::Tron,
        &[
            ("TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6", Ok("TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6")),
            ("TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL7", Err(Checksum)),
            ("TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL", Err(Checksum)),
            ("tWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6", Err(Checksum)),
            ("T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb", Err(Unspendable)),
            ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", Err(OtherNetwork)),
            ("41e2e1a54926527fbb4e4420de4c6bab82beaee24d", Err(Malformed)),
        ],
    );
    let canonical = "thor1jxfgktmhe25dv3plkrmcvqdknkkzk9kxsaml5y";
    check(
        Network::Thorchain,
        &[
            (canonical, Ok(canonical)),
            ("THOR1JXFGKTMHE25DV3PLKRMCVQDKNKKZK9KXSAML5Y", Ok(canonical)),
            ("Thor1jxfgktmhe25dv3plkrmcvqdknkkzk9kxsaml5y", Err(MixedCase)),
            ("thor1jxfgktmhe25dv3plkrmcvqdknkkzk9kxsaml5x", Err(Checksum)),
            ("thor1jxfgktmhe25dv3plkrmcvqdknkkzk9kxsaml5", Err(Checksum)),
            ("cosmos1fl48vsnmsdzcv85q5d2q4z5ajdha8yu34mf0eh", Err(OtherNetwork)),
            ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", Err(OtherNetwork)),
        ],
    );
}

#[test]
fn solana_takes_keys_that_someone_can_hold() {
    check(
        Network::Solana,
        &[
            (
                "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96",
                Ok("oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96"),
            ),
            ("oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq9", Err(Malformed)),
            ("oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq960", Err(Malformed)), // 0 is not base58
            ("11111111111111111111111111111111", Err(Unspendable)),
            ("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", Err(Malformed)),
            // The lending program's authority: derived by a program, off the curve.
            ("DdZR6zRFiUt4S5mg7AV1uKB2z1f1WzcNYCaTEEWPAuby", Err(Malformed)),
        ],
    );
}

#[test]
fn near_takes_implicit_accounts_and_dotted_names() {
    let implicit = "82b08c7cedd90d57506d15f600a268adfb5b4122fd9380b2f7714f7291d86133";
    check(
        Network::Near,
        &[
            (implicit, Ok(implicit)),
            ("alice.near", Ok("alice.near")),
            ("usdt.tether-token.near", Ok("usdt.tether-token.near")),
            (
                "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
                Ok("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"),
            ),
            (&implicit[..63], Err(Malformed)),
            (&implicit.to_uppercase(), Err(MixedCase)),
            ("Alice.near", Err(MixedCase)),
            ("alice", Err(Malformed)),
            ("alice..near", Err(Malformed)),
            ("-alice.near", Err(Malformed)),
            ("alice.testnet", Err(OtherNetwork)),
        ],
    );
}

#[test]
fn ton_is_shown_as_a_wallet_address_whatever_was_typed() {
    let canonical = "UQAtUn6khf4MxnAB4aQNcDlUPNOsLtU8IOVZbIabFzw9Ketu";
    check(
        Network::Ton,
        &[
            (canonical, Ok(canonical)),
            ("EQAtUn6khf4MxnAB4aQNcDlUPNOsLtU8IOVZbIabFzw9Kbar", Ok(canonical)),
            ("0:2d527ea485fe0cc67001e1a40d7039543cd3ac2ed53c20e5596c869b173c3d29", Ok(canonical)),
            ("UQAtUn6khf4MxnAB4aQNcDlUPNOsLtU8IOVZbIabFzw9Ketv", Err(Checksum)),
            ("UQAtUn6khf4MxnAB4aQNcDlUPNOsLtU8IOVZbIabFzw9ketu", Err(Checksum)),
            ("UQAtUn6khf4MxnAB4aQNcDlUPNOsLtU8IOVZbIabFzw9Ket", Err(Malformed)),
            // The same account with the flag "test networks only".
            ("0QAtUn6khf4MxnAB4aQNcDlUPNOsLtU8IOVZbIabFzw9KVDk", Err(OtherNetwork)),
            ("1:2d527ea485fe0cc67001e1a40d7039543cd3ac2ed53c20e5596c869b173c3d29", Err(Malformed)),
            ("0:2d527ea485fe0cc67001e1a40d7039543cd3ac2ed53c20e5596c869b173c3d", Err(Malformed)),
            ("EQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAM9c", Err(Unspendable)),
        ],
    );
}

#[test]
fn only_the_account_key_of_the_right_chain_is_taken() {
    use KeyError::*;
    let xpub = sandbox::account_key(Realm::Main, Family::Evm).unwrap();
    let tpub = sandbox::account_key(Realm::Regtest, Family::Bitcoin).unwrap();
    let ton = sandbox::account_key(Realm::Main, Family::Ton).unwrap();
    // BIP-32's first test vector.
    let root = "xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8";
    let private = "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi";
    let zpub = "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs";
    let wrong = xpub.replacen('J', "K", 1);
    let cases = [
        (Family::Evm, xpub, None),
        (Family::Evm, tpub, Some(OtherNetwork)),
        (Family::Evm, zpub, Some(OtherNetwork)),
        (Family::Bitcoin, zpub, None),
        (Family::Dogecoin, zpub, Some(OtherNetwork)),
        (Family::Bitcoin, tpub, Some(OtherNetwork)),
        (Family::Evm, root, Some(NotAnAccount)),
        (Family::Evm, private, Some(Private)),
        (Family::Evm, &wrong, Some(Malformed)),
        (Family::Evm, &xpub[..110], Some(Malformed)),
        (Family::Evm, ton, Some(Malformed)),
        (Family::Evm, "", Some(Malformed)),
        (Family::Ton, xpub, Some(NotEd25519)),
        (Family::Ton, &ton[..62], Some(NotEd25519)),
        (
            Family::Ton,
            "0000000000000000000000000000000000000000000000000000000000000000",
            Some(NotEd25519),
        ),
        (Family::Solana, xpub, Some(PoolOnly)),
        (Family::Near, ton, Some(PoolOnly)),
    ];
    for (family, text, expected) in cases {
        assert_eq!(AccountKey::parse(family, text).err(), expected, "{family:?} {text}");
    }
}

#[test]
fn an_index_beyond_the_last_address_is_refused() {
    let key = |family| {
        AccountKey::parse(family, sandbox::account_key(Realm::Main, family).unwrap()).unwrap()
    };
    let last = (1 << 31) - 1;
    assert!(key(Family::Evm).address(last).is_ok());
    assert_eq!(key(Family::Evm).address(last + 1), Err(DeriveError::IndexTooLarge));
    let last = u32::MAX - super::ton::SUBWALLET_BASE;
    assert!(key(Family::Ton).address(last).is_ok());
    assert_eq!(key(Family::Ton).address(last + 1), Err(DeriveError::IndexTooLarge));
    assert_eq!(sandbox::pool_address(Family::Near, 1 << 31), None);
}

#[test]
fn the_debug_text_of_a_key_does_not_show_the_key() {
    let text = sandbox::account_key(Realm::Main, Family::Ton).unwrap();
    let shown = format!("{:?}", AccountKey::parse(Family::Ton, text).unwrap());
    assert_eq!(shown, "AccountKey { family: Ton, realm: Main, .. }");
}

fn address_of_any_network() -> impl Strategy<Value = (Network, String)> {
    (0..Network::ALL.len(), 0_u32..1 << 31).prop_map(|(network, index)| {
        let network = Network::ALL[network];
        let family = network.family();
        let address = match sandbox::account_key(Realm::Main, family) {
            Some(text) => AccountKey::parse(family, text).unwrap().address(index).unwrap(),
            None => sandbox::pool_address(family, index).unwrap(),
        };
        (network, address)
    })
}

/// Arbitrary text, and texts that get far into the parsers before they fail.
fn hostile_text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,200}",
        "[0-9a-zA-Z:+/_.-]{0,130}",
        "(bc|ltc|rltc|thor|BC)1[02-9ac-hj-np-z]{0,90}",
        "0x[0-9a-fA-F]{38,42}",
        "[1-9A-HJ-NP-Za-km-z]{25,60}",
        "(-1|0):[0-9a-fA-F]{62,66}",
        "[EU]Q[0-9a-zA-Z_-]{46}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_accepted_or_refused_and_a_canonical_address_is_unchanged(text in hostile_text()) {
        for network in Network::ALL {
            let family = network.family();
            let key = match_key(family, &text);
            prop_assert_eq!(&match_key(family, &key), &key);
            for realm in [Realm::Main, Realm::Regtest] {
                if let Ok(canonical) = validate_in(realm, network, &text) {
                    prop_assert_eq!(validate_in(realm, network, &canonical), Ok(canonical.clone()));
                    prop_assert_eq!(match_key(family, &canonical), key.clone());
                }
            }
            let _ = AccountKey::parse(family, &text);
        }
        let _ = sandbox::is_public_test_key(&text);
    }

    #[test]
    fn every_derived_address_is_canonical_and_a_changed_character_never_means_another(
        (network, address) in address_of_any_network(),
        position in any::<prop::sample::Index>(),
        letter in "[0-9a-zA-Z]",
    ) {
        let canonical = validate(network, &address);
        prop_assert_eq!(canonical.as_ref(), Ok(&address));
        let position = position.index(address.len());
        let mut typo = address.clone();
        typo.replace_range(position..=position, &letter);
        // Solana and NEAR have no checksum, and the one of EVM misses one typing error in some
        // thousands.
        let is_checked =
            !matches!(network.family(), Family::Solana | Family::Near | Family::Evm);
        if is_checked && typo != address {
            prop_assert!(validate(network, &typo).is_err(), "{typo}");
        }
    }
}
