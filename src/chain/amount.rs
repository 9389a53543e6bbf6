//! Amounts that nodes write as decimal digits.

use num_bigint::BigUint;

use super::TransferAmount;
use crate::money::BaseUnits;

/// 256 bits have 78 digits. No chain has larger amounts; parsing a longer, invalid text would only
/// cost time.
const DIGITS_MAX: usize = 78;

/// The amount, if `text` consists of digits only.
pub(super) fn decimal(text: &str) -> Option<TransferAmount> {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number || text.len() > DIGITS_MAX {
        return None;
    }
    if let Ok(units) = text.parse() {
        return Some(TransferAmount::Units(BaseUnits::new(units)));
    }
    let wide = BigUint::parse_bytes(text.as_bytes(), 10)?;
    Some(TransferAmount::Beyond128Bits(wide.to_string()))
}

/// The amount in at most 128 bits, if `text` consists of digits only.
pub(super) fn units(text: &str) -> Option<BaseUnits> {
    decimal(text)?.units()
}

/// True unless the amount is zero.
pub(super) fn moves(amount: &TransferAmount) -> bool {
    !matches!(amount, TransferAmount::Units(units) if units.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_amounts_are_read_to_the_last_digit_or_not_at_all() {
        let units = |n| Some(TransferAmount::Units(BaseUnits::new(n)));
        let beyond = |text: &str| Some(TransferAmount::Beyond128Bits(text.to_owned()));
        let wide = "340282366920938463463374607431768211456";
        for (text, expected) in [
            ("0", units(0)),
            ("007", units(7)),
            ("340282366920938463463374607431768211455", units(u128::MAX)),
            (wide, beyond(wide)),
            (&"9".repeat(79), None),
            ("", None),
            ("-1", None),
            ("+1", None),
            ("1.0", None),
            ("1e3", None),
        ] {
            assert_eq!(decimal(text), expected, "{text}");
        }
    }
}
