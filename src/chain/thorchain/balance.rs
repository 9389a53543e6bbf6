//! Balance of an address at a block, read from the bank module through the node's own RPC, with a
//! minimal encoding of protocol buffers.
//!
//! Source: `cosmos/bank/v1beta1/query.proto`. `QueryBalanceRequest` has the address (1) and the
//! denomination (2), `QueryBalanceResponse` a coin (1) of a denomination (1) and an amount in
//! digits (2).

use crate::{chain::amount, money::BaseUnits};

/// Path of the query inside `abci_query`.
pub(super) const PATH: &str = "/cosmos.bank.v1beta1.Query/Balance";

/// Wire type of a field with a length prefix.
const LENGTH_DELIMITED: u8 = 2;

/// The query; `None` if a text is too long to be an address or a denomination.
pub(super) fn question(address: &str, denom: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for (number, text) in [(1, address), (2, denom)] {
        // One byte holds lengths up to 127.
        let length = u8::try_from(text.len()).ok().filter(|length| *length < 128)?;
        bytes.extend([number << 3 | LENGTH_DELIMITED, length]);
        bytes.extend(text.bytes());
    }
    Some(bytes)
}

/// The amount in a response about `denom`; `None` if it is not such a response.
pub(super) fn answer(bytes: &[u8], denom: &str) -> Option<BaseUnits> {
    let coin = field(bytes, 1)?;
    if field(coin, 1)? != denom.as_bytes() {
        return None;
    }
    amount::units(std::str::from_utf8(field(coin, 2)?).ok()?)
}

/// Content of field `number`, if the message has it and contains only short texts and messages.
fn field(mut message: &[u8], number: u8) -> Option<&[u8]> {
    loop {
        let (&[key, length], rest) = message.split_first_chunk()?;
        // Longer texts have a length of several bytes.
        if length >= 128 || key & 0b111 != LENGTH_DELIMITED {
            return None;
        }
        let (content, rest) = rest.split_at_checked(usize::from(length))?;
        if key >> 3 == number {
            return Some(content);
        }
        message = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_and_its_answer_are_the_bytes_of_the_bank_module() {
        assert_eq!(question("thor1", "rune").unwrap(), b"\x0a\x05thor1\x12\x04rune");
        assert_eq!(question(&"x".repeat(128), "rune"), None);
        let told = |text: &[u8]| answer(text, "rune").map(BaseUnits::get);
        assert_eq!(told(b"\x0a\x0a\x0a\x04rune\x12\x0212"), Some(12));
        assert_eq!(told(b"\x0a\x09\x0a\x04rune\x12\x010"), Some(0));
        for odd in [
            &b""[..],
            b"\x0a\x0a\x0a\x04rune\x12\x02-1",
            b"\x0a\x09\x0a\x03tcy\x12\x0212",
            b"\x0a\x06\x0a\x04rune",
            b"\x0a\x0a\x0a\x04rune\x12\x09\x31",
            b"\x08\x01",
            b"\x0a\x80\x01",
        ] {
            assert_eq!(told(odd), None, "{odd:?}");
        }
    }
}
