//! Signatures of wallets that may have no code yet (EIP-6492): the signature for the wallet's own
//! contract, behind the call by which a factory would make that contract.
//!
//! We make no wallets. Of one that has its code the factory is of no interest, and its contract
//! is asked about the signature inside (EIP-1271), which is all that the token takes.

use super::authorization::{self, SIGNATURE_BYTES_MAX};

/// The end of every wrapped signature.
const MAGIC: [u8; WORD] = [
    0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92,
    0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92, 0x64, 0x92,
];
const WORD: usize = 32;
/// Before the end: a factory's address, and where its call and the signature begin.
const HEAD: usize = 3 * WORD;
/// More than the longest signature beside the calls of the factories in use, which name the owners
/// of a wallet. All of it fits into a header.
const BYTES_MAX: usize = 4_096;

/// A payer's signature as it is handed to the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    pub bytes: Vec<u8>,
    /// It came in a wrapper, so it is a contract's, whatever it looks like.
    pub is_wrapped: bool,
}

impl Signature {
    /// Reads a signature, wrapped or not; `None` for one that is too long, and for a wrapper that
    /// cannot be opened. That is refused here: a contract would be asked about other bytes than
    /// its owner signed.
    pub fn read(text: &str) -> Option<Self> {
        let bytes = authorization::signature(text, BYTES_MAX)?;
        let (bytes, is_wrapped) = match bytes.strip_suffix(&MAGIC) {
            Some(wrapper) => (opened(wrapper)?.to_vec(), true),
            None => (bytes, false),
        };
        let is_nested = bytes.ends_with(&MAGIC);
        (bytes.len() <= SIGNATURE_BYTES_MAX && !is_nested).then_some(Self { bytes, is_wrapped })
    }
}

/// The signature in `abi.encode(address factory, bytes call, bytes signature)`.
fn opened(wrapper: &[u8]) -> Option<&[u8]> {
    let is_address = wrapper.get(..12)?.iter().all(|byte| *byte == 0);
    let part = |n: usize| {
        let at = number(wrapper, n * WORD)?;
        let from = at.checked_add(WORD).filter(|_| at >= HEAD)?;
        wrapper.get(from..from.checked_add(number(wrapper, at)?)?)
    };
    let (_call, signature) = part(1).zip(part(2)).filter(|_| is_address)?;
    Some(signature)
}

/// The word at `at`, where it is no more than a length can be.
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let word: [u8; WORD] = bytes.get(at..at.checked_add(WORD)?)?.try_into().ok()?;
    usize::try_from(super::Word::new(word).to_u128()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As viem 2.45 wraps 70 bytes of 1, for the factory of Coinbase's wallets.
    const BY_VIEM: &str = "0x000000000000000000000000ba5ed110efdba3d005bfc882d75358acbbb85842000000000000000000000000000000000000000000000000000000000000006000000000000000000000000000000000000000000000000000000000000000c000000000000000000000000000000000000000000000000000000000000000233ffba36f000000000000000000000000000000000000000000000000000000000000aa000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000460101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010101010100000000000000000000000000000000000000000000000000006492649264926492649264926492649264926492649264926492649264926492";

    fn word(n: usize) -> [u8; WORD] {
        *super::super::Word::from(u128::try_from(n).unwrap()).bytes()
    }

    /// A wrapper around `inner`, with a factory's call of `call_bytes` bytes.
    fn wrapped(call_bytes: usize, inner: &[u8]) -> Vec<u8> {
        let padded = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            bytes.resize(bytes.len().next_multiple_of(WORD), 0);
            bytes
        };
        let call = padded(&[7; BYTES_MAX][..call_bytes]);
        let (at_call, at_inner) = (HEAD, HEAD + WORD + call.len());
        let head = [word(9), word(at_call), word(at_inner), word(call_bytes)].concat();
        [&head[..], &call, &word(inner.len()), &padded(inner), &MAGIC].concat()
    }

    fn read(bytes: &[u8]) -> Option<(Vec<u8>, bool)> {
        let read = Signature::read(&format!("0x{}", hex::encode(bytes)))?;
        Some((read.bytes, read.is_wrapped))
    }

    #[test]
    fn the_signature_inside_is_read_as_another_library_wrapped_it() {
        let read = Signature::read(BY_VIEM).unwrap();
        assert_eq!(read, Signature { bytes: vec![1; 70], is_wrapped: true });
        assert_eq!(self::read(&wrapped(35, &[1; 65])), Some((vec![1; 65], true)));
        assert_eq!(self::read(&wrapped(0, &[])), Some((vec![], true)));
    }

    #[test]
    fn bytes_without_the_end_are_a_signature_as_they_are() {
        let mut open = wrapped(35, &[1; 65]);
        open.pop();
        assert_eq!(read(&open), Some((open.clone(), false)));
        assert_eq!(read(&[]), Some((vec![], false)));
        assert_eq!(Signature::read("0xzz"), None);
    }

    #[test]
    fn a_wrapper_that_cannot_be_opened_is_no_signature() {
        let good = wrapped(35, &[1; 65]);
        // No more than its end, and without its last words.
        assert_eq!(read(&MAGIC), None);
        let short = [&good[..good.len() - 5 * WORD], &MAGIC].concat();
        assert_eq!(read(&short), None);
        for (place, n) in [(1, 0), (1, usize::MAX), (2, HEAD - WORD), (2, 4_000), (3, 4_000)] {
            let mut broken = good.clone();
            broken[place * WORD..(place + 1) * WORD].copy_from_slice(&word(n));
            assert_eq!(read(&broken), None, "{place} {n}");
        }
        let mut no_address = good;
        no_address[0] = 1;
        assert_eq!(read(&no_address), None);
        assert_eq!(read(&wrapped(35, &wrapped(35, &[1; 65]))), None);
    }

    #[test]
    fn the_signature_inside_is_no_longer_than_one_without_a_wrapper() {
        assert!(read(&wrapped(1_500, &[1; SIGNATURE_BYTES_MAX])).is_some());
        assert_eq!(read(&wrapped(35, &[1; SIGNATURE_BYTES_MAX + 1])), None);
        assert_eq!(read(&[1; SIGNATURE_BYTES_MAX + 1]), None);
        assert_eq!(read(&wrapped(BYTES_MAX, &[1; 65])), None);
    }

    proptest! {
        /// Whoever pays writes these bytes.
        #[test]
        fn no_bytes_cause_a_panic(bytes: Vec<u8>, place in 0_usize..12, byte: u8) {
            let _read = read(&[&bytes[..], &MAGIC].concat());
            let mut changed = wrapped(35, &[1; 65]);
            let at = (place * WORD + usize::from(byte)) % changed.len();
            changed[at] = byte;
            let _read = read(&changed);
        }
    }
}
