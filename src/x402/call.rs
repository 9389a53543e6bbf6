//! The token's call that carries an authorization out. Anybody may send it; we do, and pay the gas.

use super::{
    Word,
    authorization::Authorization,
    check::Signer,
    eip712::{KeySignature, of_address},
};
use crate::payout::eip1559::Transaction;

/// `transferWithAuthorization` of EIP-3009, with the signature of a key in three arguments.
const BY_KEY: [u8; 4] = [0xe3, 0xee, 0x16, 0x0e];
/// The same with the signature as `bytes`, by which wallets that are contracts pay (EIP-1271).
const BY_CONTRACT: [u8; 4] = [0xcf, 0x09, 0x29, 0x95];
/// `authorizationState(address,bytes32)` of EIP-3009.
const STATE: [u8; 4] = [0xe9, 0x4a, 0x01, 0x02];
/// `balanceOf(address)` of ERC-20.
const BALANCE: [u8; 4] = [0x70, 0xa0, 0x82, 0x31];
/// `isValidSignature(bytes32,bytes)` of EIP-1271, which is what a contract answers for yes, too.
const IS_VALID: [u8; 4] = [0x16, 0x26, 0xba, 0x7e];
/// `name()` and `version()`.
pub const NAME: [u8; 4] = [0x06, 0xfd, 0xde, 0x03];
pub const VERSION: [u8; 4] = [0x54, 0xfd, 0x4d, 0x50];

const WORD: usize = 32;
/// Words before the signature.
const FIELDS: usize = 6;

/// Bytes of data with the signature of a key.
pub const BY_KEY_BYTES: usize = 4 + (FIELDS + 3) * WORD;

/// The most gas of a settlement. A token that asks for more is not the one that we know.
pub const GAS_MAX: u64 = 200_000;

fn fields(authorization: &Authorization) -> Vec<u8> {
    let Authorization { from, to, value, valid_after, valid_before, nonce } = authorization;
    [
        of_address(from),
        of_address(to),
        *value.bytes(),
        *valid_after.bytes(),
        *valid_before.bytes(),
        *nonce.bytes(),
    ]
    .concat()
}

/// Data of the token's call. A signature that is not the payer's key's is passed on as it is: the
/// token asks the payer's contract about it.
pub fn data(authorization: &Authorization, signature: &[u8], signer: Signer) -> Vec<u8> {
    let fields = fields(authorization);
    match KeySignature::read(signature).filter(|_| matches!(signer, Signer::Key)) {
        Some(KeySignature { v, r, s }) => {
            let v = Word::from(u64::from(v));
            [&BY_KEY[..], &fields, v.bytes(), r.bytes(), s.bytes()].concat()
        }
        None => with_bytes(&[&BY_CONTRACT[..], &fields].concat(), FIELDS, signature),
    }
}

/// A call of `words` words whose last argument is `bytes`.
fn with_bytes(call: &[u8], words: usize, bytes: &[u8]) -> Vec<u8> {
    let count = |n: usize| Word::from(u128::try_from(n).unwrap_or(u128::MAX));
    let (offset, length) = (count((words + 1) * WORD), count(bytes.len()));
    let padding = vec![0; bytes.len().next_multiple_of(WORD) - bytes.len()];
    [call, offset.bytes(), length.bytes(), bytes, &padding].concat()
}

/// The token and the authorization of a transaction that [`data`] made; `None` for any other.
///
/// The signature is not verified: it is asked about bytes that we signed ourselves.
pub fn read(transaction: &Transaction) -> Option<([u8; 20], Authorization)> {
    if transaction.value != 0 {
        return None;
    }
    let data = transaction.data.as_slice();
    let words = data.strip_prefix(&BY_KEY).or_else(|| data.strip_prefix(&BY_CONTRACT))?;
    let word = |n: usize| words.get(n * WORD..(n + 1) * WORD)?.try_into().ok();
    let address = |n: usize| {
        let word: [u8; WORD] = word(n)?;
        let (padding, address) = word.split_first_chunk::<12>()?;
        (*padding == [0; 12]).then(|| address.try_into().ok())?
    };
    let authorization = Authorization {
        from: address(0)?,
        to: address(1)?,
        value: Word::new(word(2)?),
        valid_after: Word::new(word(3)?),
        valid_before: Word::new(word(4)?),
        nonce: Word::new(word(5)?),
    };
    Some((transaction.to, authorization))
}

/// The signature in data that [`data`] made of an authorization, and whose it is said to be; `None`
/// for data with one byte more, less or other than it makes.
pub fn signature(data: &[u8], authorization: &Authorization) -> Option<(Signer, Vec<u8>)> {
    let words = |selector: &[u8; 4]| data.strip_prefix(selector)?.get(FIELDS * WORD..);
    let (signer, signature) = if let Some(words) = words(&BY_KEY) {
        let (v, rest) = words.split_first_chunk::<WORD>()?;
        (Signer::Key, [rest, &v[WORD - 1..]].concat())
    } else {
        let (_, rest) = words(&BY_CONTRACT)?.split_first_chunk::<WORD>()?;
        let (length, rest) = rest.split_first_chunk::<WORD>()?;
        let length = usize::try_from(Word::new(*length).to_u128()?).ok()?;
        (Signer::Contract, rest.get(..length)?.to_vec())
    };
    let again = self::data(authorization, &signature, signer);
    let is_exact = again == data;
    is_exact.then_some((signer, signature))
}

/// Returns whether data that [`data`] made has the token ask the payer's contract.
pub fn is_by_contract(data: &[u8]) -> bool {
    data.starts_with(&BY_CONTRACT)
}

/// Data of the question whether a payer has used a nonce.
pub fn state_data(payer: &[u8; 20], nonce: &Word) -> Vec<u8> {
    [&STATE[..], &of_address(payer), nonce.bytes()].concat()
}

/// Data of the question whether a payer's contract takes a signature of a digest for his.
pub fn is_valid_signature(digest: &[u8; WORD], signature: &[u8]) -> Vec<u8> {
    with_bytes(&[&IS_VALID[..], digest].concat(), 1, signature)
}

/// Returns whether a contract answered yes to that. The token compares the whole word.
pub fn says_valid(returned: &[u8]) -> bool {
    returned.get(..WORD).and_then(|word| word.strip_prefix(&IS_VALID)).is_some_and(is_zero)
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// Data of the question for a payer's balance.
pub fn balance_data(payer: &[u8; 20]) -> Vec<u8> {
    [&BALANCE[..], &of_address(payer)].concat()
}

/// A `string` that a call returned: an offset, a length and the text, or one word of text as
/// old tokens return.
pub fn text(returned: &[u8]) -> Option<String> {
    let number = |at: usize| {
        let word: [u8; WORD] = returned.get(at..at + WORD)?.try_into().ok()?;
        usize::try_from(Word::new(word).to_u128()?).ok()
    };
    let bytes = if returned.len() == WORD {
        let end = returned.iter().position(|byte| *byte == 0).unwrap_or(WORD);
        &returned[..end]
    } else {
        let at = number(0)?;
        let from = at.checked_add(WORD)?;
        returned.get(from..from.checked_add(number(at)?)?)?
    };
    String::from_utf8(bytes.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use sha3::{Digest, Keccak256};

    use super::{
        super::{authorization::tests::example, eip712::tests::SIGNED},
        *,
    };

    fn transaction(to: [u8; 20], value: u128, data: Vec<u8>) -> Transaction {
        let (chain_id, nonce, priority_fee, max_fee, gas_limit) = (1, 0, 0, 0, 0);
        Transaction { chain_id, nonce, priority_fee, max_fee, gas_limit, to, value, data }
    }

    #[test]
    fn the_selectors_are_those_of_the_standards() {
        let fields = "address,address,uint256,uint256,uint256,bytes32";
        for (name, selector) in [
            (format!("transferWithAuthorization({fields},uint8,bytes32,bytes32)"), BY_KEY),
            (format!("transferWithAuthorization({fields},bytes)"), BY_CONTRACT),
            ("authorizationState(address,bytes32)".to_owned(), STATE),
            ("balanceOf(address)".to_owned(), BALANCE),
            ("isValidSignature(bytes32,bytes)".to_owned(), IS_VALID),
            ("name()".to_owned(), NAME),
            ("version()".to_owned(), VERSION),
        ] {
            assert_eq!(Keccak256::digest(&name)[..4], selector, "{name}");
        }
    }

    /// The same bytes as viem 2.45 makes of them.
    #[test]
    fn the_call_is_the_one_that_other_libraries_make() {
        let signature = hex::decode(SIGNED).unwrap();
        let words = "000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb92266000000000000000000000000209693bc6afc0c5328ba36faf03c514ef312287c00000000000000000000000000000000000000000000000000000000000027100000000000000000000000000000000000000000000000000000000067c08c590000000000000000000000000000000000000000000000000000000067c08c9af3746613c2d920b5fdabc0856f2aeb2d4f88ee6037b8cc5d04a71a4462f13480";
        let of_key = format!(
            "e3ee160e{words}{:0>64}{}{}",
            "1c",
            hex::encode(&signature[..32]),
            hex::encode(&signature[32..64])
        );
        assert_eq!(hex::encode(data(&example(), &signature, Signer::Key)), of_key);
        assert_eq!(of_key.len(), 2 * BY_KEY_BYTES);
        // One byte more is no key's signature.
        let longer = [signature.as_slice(), &[7]].concat();
        let of_contract =
            format!("cf092995{words}{:0>64}{:0>64}{SIGNED}07{}", "e0", "42", "00".repeat(30));
        assert_eq!(hex::encode(data(&example(), &longer, Signer::Contract)), of_contract);
    }

    #[test]
    fn a_settlement_is_read_back_and_nothing_else_is_read_as_one() {
        let signed = hex::decode(SIGNED).unwrap();
        for (signature, signer) in [
            (signed.clone(), Signer::Key),
            (signed, Signer::Contract),
            (vec![1; 70], Signer::Contract),
        ] {
            let data = data(&example(), &signature, signer);
            let read_back = read(&transaction([9; 20], 0, data.clone()));
            assert_eq!(read_back, Some(([9; 20], example())));
            assert_eq!(read(&transaction([9; 20], 1, data.clone())), None);
            let mut dirty = data.clone();
            dirty[4] = 1;
            assert_eq!(read(&transaction([9; 20], 0, dirty)), None);
            assert_eq!(read(&transaction([9; 20], 0, data[..100].to_vec())), None);
        }
        assert_eq!(read(&transaction([9; 20], 0, vec![])), None);
    }

    #[test]
    fn a_signature_is_read_back_from_exactly_the_bytes_that_are_sent() {
        let signed = hex::decode(SIGNED).unwrap();
        for (bytes, signer) in [
            (signed.clone(), Signer::Key),
            (signed.clone(), Signer::Contract),
            (vec![1; 70], Signer::Contract),
            (vec![], Signer::Contract),
        ] {
            let sent = data(&example(), &bytes, signer);
            assert_eq!(signature(&sent, &example()), Some((signer, bytes)));
            let longer = [sent.as_slice(), &[0; 32]].concat();
            let shorter = &sent[..sent.len() - 1];
            for other in [longer.as_slice(), shorter, &sent[..100], &[]] {
                assert_eq!(signature(other, &example()), None);
            }
            let another = Authorization { nonce: 7_u64.into(), ..example() };
            assert_eq!(signature(&sent, &another), None);
        }
        let mut by_contract = data(&example(), &[1; 70], Signer::Contract);
        // The bytes that fill the last word.
        *by_contract.last_mut().unwrap() = 1;
        assert_eq!(signature(&by_contract, &example()), None);
        let mut by_key = data(&example(), &signed, Signer::Key);
        // A parity in another spelling than the token's.
        by_key[4 + 7 * WORD - 1] = 1;
        assert_eq!(signature(&by_key, &example()), None);
    }

    /// The same bytes as viem 2.45 makes of them.
    #[test]
    fn a_contract_is_asked_as_other_libraries_ask_it_and_says_yes_with_a_whole_word() {
        let asked = "1626ba7e070707070707070707070707070707070707070707070707070707070707070700000000000000000000000000000000000000000000000000000000000000400000000000000000000000000000000000000000000000000000000000000046010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010000000000000000000000000000000000000000000000000000";
        assert_eq!(hex::encode(is_valid_signature(&[7; 32], &[1; 70])), asked);
        let yes = [&IS_VALID[..], &[0; 28]].concat();
        assert!(says_valid(&yes) && says_valid(&[&yes[..], &[9; 32]].concat()));
        let other_end = [&IS_VALID[..], &[0; 27], &[1]].concat();
        for no in [&[][..], &IS_VALID, &yes[..31], &[0; 32], &other_end] {
            assert!(!says_valid(no), "{no:?}");
        }
    }

    #[test]
    fn texts_of_tokens_are_read_in_both_forms() {
        let word = |n: u64| *Word::from(n).bytes();
        let mut told = b"USD Coin".to_vec();
        told.resize(WORD, 0);
        let returned = [&word(32)[..], &word(8), &told].concat();
        assert_eq!(text(&returned).as_deref(), Some("USD Coin"));
        assert_eq!(text(&told).as_deref(), Some("USD Coin"));
        let endless = [&word(32)[..], &word(900), &told].concat();
        for bytes in [&[][..], &word(1)[..31], &endless, &[0xff; 96]] {
            assert_eq!(text(bytes), None);
        }
    }
}
