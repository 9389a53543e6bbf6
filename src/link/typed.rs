//! Amounts as people type them.

use crate::money::Price;

/// Decimal places of an amount that a person types.
const PLACES_MAX: usize = 2;
/// Digits before the separator; no fiat price has more.
const WHOLE_DIGITS_MAX: usize = 12;

/// Reason why a typed text is no amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotTyped {
    #[error("no amount was entered")]
    Missing,
    #[error("this is no amount such as 12.50")]
    NotAnAmount,
}

/// Reads an amount such as `12`, `12.50` or `12,5`, in European or Arabic digits.
///
/// At most two decimals: with three, `1,000` could mean one or a thousand, so it is refused
/// instead of guessed. Signs, exponents and separators of thousands are refused too.
pub fn amount(text: &str) -> Result<Price, NotTyped> {
    let text: String = text.trim().chars().map(plain).collect();
    if text.is_empty() {
        return Err(NotTyped::Missing);
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text.as_str(), "0"));
    let is_number = |part: &str, most: usize| {
        (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !is_number(whole, WHOLE_DIGITS_MAX) || !is_number(fraction, PLACES_MAX) {
        return Err(NotTyped::NotAnAmount);
    }
    let price = Price::parse(&format!("{whole}.{fraction}")).map_err(|_| NotTyped::NotAnAmount)?;
    if price.is_zero() { Err(NotTyped::NotAnAmount) } else { Ok(price) }
}

/// An Arabic digit or separator as its European one.
pub fn plain(letter: char) -> char {
    let zero = match letter {
        ',' | '\u{66b}' => return '.',
        '\u{660}'..='\u{669}' => '\u{660}',
        '\u{6f0}'..='\u{6f9}' => '\u{6f0}',
        _ => return letter,
    };
    let digit = u32::from(letter) - u32::from(zero);
    char::from_digit(digit, 10).unwrap_or(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_read_as_it_is_typed_and_never_guessed() {
        for (text, expected) in [
            ("12", Ok("12")),
            (" 12.50 ", Ok("12.5")),
            ("12,5", Ok("12.5")),
            ("0.01", Ok("0.01")),
            ("007", Ok("7")),
            ("٢٥٫٥٠", Ok("25.5")),
            ("۱۲", Ok("12")),
            ("999999999999.99", Ok("999999999999.99")),
            ("", Err(NotTyped::Missing)),
            ("  ", Err(NotTyped::Missing)),
            ("0", Err(NotTyped::NotAnAmount)),
            ("0.00", Err(NotTyped::NotAnAmount)),
            ("1,000", Err(NotTyped::NotAnAmount)),
            ("1.000.00", Err(NotTyped::NotAnAmount)),
            ("1.234,56", Err(NotTyped::NotAnAmount)),
            ("12.", Err(NotTyped::NotAnAmount)),
            (".5", Err(NotTyped::NotAnAmount)),
            ("-5", Err(NotTyped::NotAnAmount)),
            ("+5", Err(NotTyped::NotAnAmount)),
            ("1e3", Err(NotTyped::NotAnAmount)),
            ("0x10", Err(NotTyped::NotAnAmount)),
            ("5 USD", Err(NotTyped::NotAnAmount)),
            ("１２", Err(NotTyped::NotAnAmount)),
            ("1000000000000", Err(NotTyped::NotAnAmount)),
            ("NaN", Err(NotTyped::NotAnAmount)),
        ] {
            let read = amount(text).map(Price::to_decimal);
            assert_eq!(read, expected.map(ToOwned::to_owned), "{text:?}");
        }
    }
}
