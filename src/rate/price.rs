//! Parsing of one price out of a response.
//!
//! Every accepted price lies between [`PRICE_MIN`] and [`PRICE_MAX`], so sums, products and
//! quotients of two prices cannot overflow a `Decimal`.

use rust_decimal::{Decimal, dec};
use serde_json::Value;

use super::Reason;

const PRICE_MIN: Decimal = dec!(0.000000000001);
const PRICE_MAX: Decimal = dec!(1000000000);
/// Spread between bid and ask, relative to their middle. A market with a wider spread is too thin
/// to price anything.
const SPREAD_MAX: Decimal = dec!(0.02);
/// A price with fewer digits is off by up to a thousandth once it is inverted.
const INVERTIBLE_MANTISSA_MIN: i128 = 1_000;

/// Reads a price from a JSON string or number. The parser keeps the digits of a number, so both are
/// exact.
pub(super) fn read(value: &Value) -> Result<Decimal, Reason> {
    match value {
        Value::String(text) => parse(text),
        Value::Number(number) => parse(&number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            Err(Reason::NotANumber)
        }
    }
}

/// Digits beyond the 28 that a `Decimal` holds are rounded; no provider quotes that many.
fn parse(text: &str) -> Result<Decimal, Reason> {
    // `Decimal` also reads underscores, which no provider writes.
    if !text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E')) {
        return Err(Reason::NotANumber);
    }
    let scientific = text.contains(['e', 'E']);
    let read = if scientific { Decimal::from_scientific(text) } else { text.parse() };
    checked(read.map_err(|_| Reason::NotANumber)?)
}

/// Returns the price if it is within the bounds that this module promises.
pub(super) fn checked(price: Decimal) -> Result<Decimal, Reason> {
    if price <= Decimal::ZERO {
        Err(Reason::NotPositive)
    } else if (PRICE_MIN..=PRICE_MAX).contains(&price) {
        Ok(price)
    } else {
        Err(Reason::Absurd)
    }
}

/// Returns the middle of bid and ask, if the spread is not too wide.
pub(super) fn middle(bid: &Value, ask: &Value) -> Result<Decimal, Reason> {
    let (bid, ask) = (read(bid)?, read(ask)?);
    let middle = (bid + ask) / Decimal::TWO;
    if ask < bid || ask - bid > middle * SPREAD_MAX {
        return Err(Reason::Spread { bid, ask });
    }
    Ok(middle)
}

/// Returns the price of one coin if one unit of money buys `value` coins.
pub(super) fn inverted(value: &Value) -> Result<Decimal, Reason> {
    let coins = read(value)?;
    if coins.mantissa() < INVERTIBLE_MANTISSA_MIN && coins != Decimal::ONE {
        return Err(Reason::TooCoarse);
    }
    checked(Decimal::ONE / coins)
}

/// Returns true if two prices lie within `share` of the lower one.
pub(super) fn within(one: Decimal, other: Decimal, share: Decimal) -> bool {
    let (low, high) = (one.min(other), one.max(other));
    high - low <= low * share
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_price_is_the_very_digits_that_were_sent() {
        for (text, expected) in [
            ("\"60000.10\"", dec!(60000.10)),
            ("60000.1", dec!(60000.1)),
            // A double holds neither of these.
            ("0.1000000000000000055", dec!(0.1000000000000000055)),
            ("123456789.123456789012", dec!(123456789.123456789012)),
            ("1.25e-5", dec!(0.0000125)),
            ("\"8.5E-06\"", dec!(0.0000085)),
            ("1E+3", dec!(1000)),
            ("0.00001234567890123456789012345678901234", dec!(0.0000123456789012345678901235)),
        ] {
            assert_eq!(read(&value(text)), Ok(expected), "{text}");
        }
    }

    #[test]
    fn an_implausible_price_is_refused() {
        use Reason::{Absurd, NotANumber, NotPositive};
        for (text, reason) in [
            ("0", NotPositive),
            ("0.0", NotPositive),
            ("\"0.00000000\"", NotPositive),
            ("-1", NotPositive),
            ("\"-60000\"", NotPositive),
            ("-0.0", NotPositive),
            ("1e10", Absurd),
            ("1000000000.1", Absurd),
            ("0.0000000000009", Absurd),
            ("\"NaN\"", NotANumber),
            ("\"Infinity\"", NotANumber),
            ("\"-inf\"", NotANumber),
            ("\"\"", NotANumber),
            ("\" 1\"", NotANumber),
            ("\"1,5\"", NotANumber),
            ("\"1_000\"", NotANumber),
            ("\"0x10\"", NotANumber),
            ("\"e\"", NotANumber),
            ("\"1.2.3\"", NotANumber),
            ("1e999999999", NotANumber),
            ("1e-999999999", NotANumber),
            ("null", NotANumber),
            ("true", NotANumber),
            ("[1]", NotANumber),
            ("{\"usd\":1}", NotANumber),
        ] {
            assert_eq!(read(&value(text)), Err(reason), "{text}");
        }
        let digits = format!("\"{}\"", "9".repeat(500));
        assert!(read(&value(&digits)).is_err());
    }

    #[test]
    fn an_order_book_with_a_wide_or_crossed_spread_gives_no_price() {
        let market = |bid, ask| middle(&value(bid), &value(ask));
        assert_eq!(market("99", "101"), Ok(dec!(100)));
        assert_eq!(market("100", "100"), Ok(dec!(100)));
        assert!(matches!(market("98.9", "101"), Err(Reason::Spread { .. })));
        assert!(matches!(market("101", "99"), Err(Reason::Spread { .. })));
        assert_eq!(market("0", "101"), Err(Reason::NotPositive));
        assert_eq!(market("99", "0"), Err(Reason::NotPositive));
    }

    #[test]
    fn an_inverted_price_needs_digits() {
        assert_eq!(inverted(&value("\"0.00001250\"")), Ok(dec!(80000)));
        assert_eq!(inverted(&value("\"1.0\"")), Ok(dec!(1)));
        assert_eq!(inverted(&value("\"1\"")), Ok(dec!(1)));
        assert_eq!(inverted(&value("\"0.00002\"")), Err(Reason::TooCoarse));
        assert_eq!(inverted(&value("\"0.999\"")), Err(Reason::TooCoarse));
        assert_eq!(inverted(&value("\"0\"")), Err(Reason::NotPositive));
    }
}
