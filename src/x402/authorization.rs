//! An authorization of EIP-3009: whoever has the signature may move the amount, once, within a
//! window of time.

use super::Word;
use crate::payout::transfer::address_bytes;

/// More than wallets that are contracts need: fifteen owners' keys, or a passkey's answer. Rollups
/// charge us for each byte.
pub const SIGNATURE_BYTES_MAX: usize = 1_024;

/// The fields that a payer signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authorization {
    pub from: [u8; 20],
    pub to: [u8; 20],
    pub value: Word,
    /// Unix seconds; it may be used after this.
    pub valid_after: Word,
    /// Unix seconds; it may be used before this.
    pub valid_before: Word,
    pub nonce: Word,
}

/// Reads a nonce: `0x` and 64 hex digits.
pub fn nonce(text: &str) -> Option<Word> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text.strip_prefix("0x")?, &mut bytes).ok()?;
    Some(Word::new(bytes))
}

/// Reads a signature: `0x` and hex digits, of at most `most` bytes. Its length decides nothing
/// here: wallets that are contracts have signatures of their own.
pub(super) fn signature(text: &str, most: usize) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?;
    if digits.len() > 2 * most {
        return None;
    }
    hex::decode(digits).ok()
}

/// An address of an authorization in lower case, as rows and logs spell it.
pub fn spelt(address: &[u8; 20]) -> String {
    format!("0x{}", hex::encode(address))
}

/// The texts of a payload, which are all strings on the wire.
pub struct Texts<'a> {
    pub from: &'a str,
    pub to: &'a str,
    pub value: &'a str,
    pub valid_after: &'a str,
    pub valid_before: &'a str,
    pub nonce: &'a str,
}

impl Authorization {
    /// `None` if any field cannot be read exactly.
    pub fn read(texts: &Texts<'_>) -> Option<Self> {
        Some(Self {
            from: address_bytes(texts.from)?,
            to: address_bytes(texts.to)?,
            value: Word::parse(texts.value)?,
            valid_after: Word::parse(texts.valid_after)?,
            valid_before: Word::parse(texts.valid_before)?,
            nonce: nonce(texts.nonce)?,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Payer of the test vectors: the first account of the phrase that every test suite uses.
    pub const FROM: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
    pub const TO: &str = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
    pub const NONCE: &str = "0xf3746613c2d920b5fdabc0856f2aeb2d4f88ee6037b8cc5d04a71a4462f13480";

    /// The example of the protocol's own specification.
    pub fn texts() -> Texts<'static> {
        Texts {
            from: FROM,
            to: TO,
            value: "10000",
            valid_after: "1740672089",
            valid_before: "1740672154",
            nonce: NONCE,
        }
    }

    pub fn example() -> Authorization {
        Authorization::read(&texts()).unwrap()
    }

    #[test]
    fn an_authorization_is_read_exactly_or_not_at_all() {
        let read = example();
        assert_eq!(spelt(&read.from), FROM.to_lowercase());
        assert_eq!((read.value, read.valid_after), (10_000_u64.into(), 1_740_672_089_u64.into()));
        let refused = |change: fn(&mut Texts<'static>)| {
            let mut texts = texts();
            change(&mut texts);
            assert_eq!(Authorization::read(&texts), None);
        };
        refused(|texts| texts.from = &FROM[2..]);
        refused(|texts| texts.to = &TO[..41]);
        refused(|texts| texts.value = "0x10");
        refused(|texts| texts.value = "-1");
        refused(|texts| texts.valid_after = "1.5");
        refused(|texts| texts.valid_before = "");
        refused(|texts| texts.nonce = &NONCE[..64]);
    }

    #[test]
    fn a_signature_of_any_length_is_read_up_to_a_bound() {
        let signature = |text: &str| signature(text, 1_024);
        assert_eq!(signature("0x"), Some(vec![]));
        assert_eq!(signature("0x00ff"), Some(vec![0, 255]));
        let longest = format!("0x{}", "00".repeat(1_024));
        assert_eq!(signature(&longest), Some(vec![0; 1_024]));
        for text in ["", "00ff", "0x0", "0xzz", &format!("{longest}00")] {
            assert_eq!(signature(text), None);
        }
    }
}
