//! Hex text in the spelling of nodes, parsed exactly or rejected.

use num_bigint::BigUint;

use crate::{chain::TransferAmount, money::BaseUnits};

const WORD_DIGITS: usize = 64;
const U128_DIGITS: usize = 32;
const ADDRESS_DIGITS: usize = 40;
const HASH_DIGITS: usize = 64;

pub(super) const ZERO_ADDRESS: &str = "0x0000000000000000000000000000000000000000";

/// The digits after `0x`, if nothing else follows it.
fn digits(text: &str) -> Option<&str> {
    let digits = text.strip_prefix("0x")?;
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit())).then_some(digits)
}

fn lower(text: &str, count: usize) -> Option<String> {
    digits(text).filter(|digits| digits.len() == count).map(|_| text.to_ascii_lowercase())
}

/// A 20-byte address in the spelling of `match_key`: lower case.
pub(super) fn address(text: &str) -> Option<String> {
    lower(text, ADDRESS_DIGITS)
}

/// The address in an indexed event argument. A word with any bit set above the address is rejected.
pub(in crate::chain) fn address_in_word(word: &str) -> Option<String> {
    let digits = digits(word).filter(|digits| digits.len() == WORD_DIGITS)?;
    let (padding, address) = digits.split_at(WORD_DIGITS - ADDRESS_DIGITS);
    padding.bytes().all(|b| b == b'0').then(|| format!("0x{}", address.to_ascii_lowercase()))
}

/// A 32-byte hash in lower case.
pub(super) fn hash(text: &str) -> Option<String> {
    lower(text, HASH_DIGITS)
}

/// A number up to 64 bits; leading zeros are tolerated.
pub(in crate::chain) fn number(text: &str) -> Option<u64> {
    let significant = digits(text)?.trim_start_matches('0');
    if significant.is_empty() { Some(0) } else { u64::from_str_radix(significant, 16).ok() }
}

/// A 256-bit amount.
pub(super) fn amount(text: &str) -> Option<TransferAmount> {
    let digits = digits(text).filter(|digits| digits.len() <= WORD_DIGITS)?;
    let significant = digits.trim_start_matches('0');
    if significant.len() > U128_DIGITS {
        let wide = BigUint::parse_bytes(significant.as_bytes(), 16)?;
        return Some(TransferAmount::Beyond128Bits(wide.to_string()));
    }
    units(significant).map(TransferAmount::Units)
}

/// A balance, saturated at 128 bits.
pub(in crate::chain) fn balance(text: &str) -> Option<BaseUnits> {
    match amount(text)? {
        TransferAmount::Units(units) => Some(units),
        TransferAmount::Beyond128Bits(_) => Some(BaseUnits::new(u128::MAX)),
    }
}

/// Bare hex digits of at most 128 bits.
pub(super) fn units(digits: &str) -> Option<BaseUnits> {
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Some(BaseUnits::ZERO);
    }
    u128::from_str_radix(significant, 16).ok().map(BaseUnits::new)
}

/// The amount in event data: exactly one word, otherwise it is not an ERC-20 transfer.
pub(in crate::chain) fn amount_in_word(data: &str) -> Option<TransferAmount> {
    digits(data).filter(|digits| digits.len() == WORD_DIGITS)?;
    amount(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_to_the_last_bit() {
        let units = |n| Some(TransferAmount::Units(BaseUnits::new(n)));
        let beyond = |text: &str| Some(TransferAmount::Beyond128Bits(text.to_owned()));
        for (text, expected) in [
            ("0x0", units(0)),
            ("0x00", units(0)),
            ("0xde0b6b3a7640000", units(1_000_000_000_000_000_000)),
            ("0xffffffffffffffffffffffffffffffff", units(u128::MAX)),
            (
                "0x100000000000000000000000000000000",
                beyond("340282366920938463463374607431768211456"),
            ),
            ("0x", None),
            ("12", None),
            ("0x-1", None),
            ("0x+1", None),
            ("0x1g", None),
            (&format!("0x{}", "f".repeat(65)), None),
        ] {
            assert_eq!(amount(text), expected, "{text}");
        }
        let largest =
            "115792089237316195423570985008687907853269984665640564039457584007913129639935";
        assert_eq!(amount(&format!("0x{}", "f".repeat(64))), beyond(largest));
    }

    #[test]
    fn a_32_byte_word_is_an_address_only_if_its_upper_bytes_are_zero() {
        let word = format!("0x{}{}", "0".repeat(24), "Ab".repeat(20));
        assert_eq!(address_in_word(&word), Some(format!("0x{}", "ab".repeat(20))));
        assert_eq!(address_in_word(&word.replacen("0x00", "0x01", 1)), None);
        assert_eq!(address_in_word(&word[..word.len() - 2]), None);
        assert_eq!(
            address(&format!("0x{}", "AB".repeat(20))),
            Some(format!("0x{}", "ab".repeat(20)))
        );
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused_instead_of_cut() {
        for (text, expected) in [
            ("0x10", Some(16)),
            ("0x0000000000000000000010", Some(16)),
            ("0xffffffffffffffff", Some(u64::MAX)),
            ("0x10000000000000000", None),
            ("16", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }
}
