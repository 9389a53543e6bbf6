use proptest::prelude::*;

use super::*;

/// Seed of SLIP-10's second test vector; it belongs to no wallet.
fn seed() -> Vec<u8> {
    hex::decode(
        "fffcf9f6f3f0edeae7e4e1dedbd8d5d2cfccc9c6c3c0bdbab7b4b1aeaba8a5a2\
         9f9c999693908d8a8784817e7b7875726f6c696663605d5a5754514e4b484542",
    )
    .unwrap()
}

fn signer() -> PoolSigner {
    PoolSigner::of_seed(&seed()).unwrap()
}

/// `content` with a valid signature, which only the seed can make.
fn signed(content: &str) -> String {
    let signature = signing_key(&seed()).unwrap().sign(content.as_bytes());
    format!("{content}signature {}\n", hex::encode(signature.to_bytes()))
}

fn unsigned(file: &str) -> &str {
    &file[..file.rfind("signature ").unwrap()]
}

#[test]
fn an_exported_pool_is_readable_and_holds_the_addresses_of_the_seed() {
    for network in [Network::Solana, Network::Near] {
        let text = export(&seed(), network, 7, 3).unwrap();
        let file = PoolFile::read(&text, &signer()).unwrap();
        assert_eq!((file.network, file.first, file.addresses.len()), (network, 7, 3));
        for (index, given) in (7..).zip(&file.addresses) {
            assert_eq!(address(&seed(), network.family(), index).as_ref(), Some(given));
        }
    }
}

#[test]
fn the_signer_is_spelt_in_hex_and_read_back() {
    assert_eq!(PoolSigner::parse(&signer().to_hex()), Ok(signer()));
    for wrong in ["", "xyz", &"00".repeat(32), &"ff".repeat(31)] {
        assert_eq!(PoolSigner::parse(wrong), Err(NotASigner), "{wrong}");
    }
}

#[test]
fn only_networks_with_pools_and_indices_that_exist_are_exported() {
    let cases = [
        (Network::Bitcoin, 0, 1, ExportError::NoPool(Network::Bitcoin)),
        (Network::Ton, 0, 1, ExportError::NoPool(Network::Ton)),
        (Network::Near, 0, 0, ExportError::Count),
        (Network::Near, 0, COUNT_MAX + 1, ExportError::Count),
        (Network::Near, u32::MAX, 1, ExportError::Index),
        (Network::Near, INDEX_END - 1, 2, ExportError::Index),
    ];
    for (network, first, count, wanted) in cases {
        assert_eq!(export(&seed(), network, first, count), Err(wanted));
    }
    assert!(export(&seed(), Network::Near, INDEX_END - 1, 1).is_ok());
}

#[test]
fn a_file_of_another_seed_or_with_another_signature_is_refused() {
    let other = export(&[7; 64], Network::Near, 0, 2).unwrap();
    assert_eq!(PoolFile::read(&other, &signer()), Err(PoolFileError::Signature));
    let text = export(&seed(), Network::Near, 0, 2).unwrap();
    let moved = format!("{}{}", unsigned(&text), &other[unsigned(&other).len()..]);
    assert_eq!(PoolFile::read(&moved, &signer()), Err(PoolFileError::Signature));
}

#[test]
fn a_signed_pool_file_with_a_wrong_entry_is_refused_with_its_line() {
    let text = export(&seed(), Network::Solana, 5, 2).unwrap();
    let content = unsigned(&text);
    let lines: Vec<_> = content.lines().collect();
    let (one, two) = (lines[4], lines[5]);
    let near = address(&seed(), Family::Near, 0).unwrap();
    let cases = [
        (content.replace("pool 1", "pool 2"), "line 1 should be \"gateway address pool 1\""),
        (content.replace("solana", "solan"), "line 2 should be \"network\" and one of ours"),
        (content.replace("solana", "ton"), "addresses of ton are derived"),
        (content.replace("first 5", "first -5"), "line 3 should be \"first\" and a number"),
        (content.replace("first 5", "first 2147483647"), "all indices below 2147483648"),
        (content.replace("count 2", "count 3"), "the file states 3 addresses and holds 2"),
        (content.replace("count 2", "cound 2"), "line 4 should be \"count …\""),
        (content.replace(two, one), "index 6 has the same address as index 5"),
        (
            content.replace(two, "11111111111111111111111111111111"),
            "the address at index 6 is a burn address",
        ),
        (content.replace(two, &near), "index 6 is not an address"),
        (content.replace(two, &format!("{two} ")), "index 6 is not an address"),
    ];
    for (content, words) in cases {
        let said = PoolFile::read(&signed(&content), &signer()).unwrap_err().to_string();
        assert!(said.contains(words), "no {words:?} in {said:?}");
    }
    let named = signed(&format!("{TITLE}\nnetwork near\nfirst 0\ncount 1\nthief.near\n"));
    let said = PoolFile::read(&named, &signer()).unwrap_err().to_string();
    assert_eq!(said, "the address at index 0 is not an address of this network");
    let upper =
        signed(&format!("{TITLE}\nnetwork near\nfirst 0\ncount 1\n{}\n", near.to_uppercase()));
    assert_eq!(PoolFile::read(&upper, &signer()), Err(PoolFileError::Spelling { index: 0 }));
}

#[test]
fn a_file_that_was_cut_says_so() {
    let text = export(&seed(), Network::Near, 0, 3).unwrap();
    for end in [0, 10, 60, text.len() - 150, text.len() - 2] {
        PoolFile::read(&text[..end], &signer()).unwrap_err();
    }
    let cut = PoolFile::read(unsigned(&text), &signer()).unwrap_err().to_string();
    assert!(cut.contains("the end is missing"), "{cut}");
}

proptest! {
    /// Changing any byte invalidates the whole file.
    #[test]
    fn no_byte_can_be_changed(at in 0_usize..900, flip in 1_u8..=127) {
        let text = export(&seed(), Network::Solana, 1000, 12).unwrap();
        let at = at % (text.len() - 1);
        let mut bytes = text.into_bytes();
        bytes[at] ^= flip;
        if let Ok(text) = String::from_utf8(bytes) {
            // Hex digits have two spellings, and both are the same signature.
            let again = PoolFile::read(&text, &signer());
            prop_assert!(again.is_err() || flip == 32, "byte {} changed by {}", at, flip);
        }
    }
}
