//! Conversion between NUMERIC columns and exact amounts.
//!
//! `BigDecimal` only transports the digits; it is never printed (it would show exponents) and never
//! used for arithmetic.

use bigdecimal::{BigDecimal, ToPrimitive, num_bigint::BigInt};

use rust_decimal::Decimal;

use super::StorageError;
use crate::money::{BaseUnits, PRICE_SCALE, Price};

pub(super) fn from_units(units: BaseUnits) -> BigDecimal {
    BigDecimal::from(units.get())
}

pub(super) fn to_units(table: &'static str, value: &BigDecimal) -> Result<BaseUnits, StorageError> {
    to_u128(value, 0)
        .map(BaseUnits::new)
        .ok_or_else(|| StorageError::damaged(table, "an amount is not a whole 128-bit number"))
}

pub(super) fn from_price(price: Price) -> BigDecimal {
    BigDecimal::new(BigInt::from(price.atoms()), i64::from(PRICE_SCALE))
}

pub(super) fn to_price(table: &'static str, value: &BigDecimal) -> Result<Price, StorageError> {
    to_u128(value, i64::from(PRICE_SCALE))
        .map(Price::from_atoms)
        .ok_or_else(|| StorageError::damaged(table, "a price is not a positive number"))
}

pub(super) fn from_decimal(value: Decimal) -> BigDecimal {
    BigDecimal::new(BigInt::from(value.mantissa()), i64::from(value.scale()))
}

pub(super) fn to_decimal(table: &'static str, value: &BigDecimal) -> Result<Decimal, StorageError> {
    let (digits, scale) = value.normalized().into_bigint_and_scale();
    // A normalised whole number such as 100 has a negative scale.
    let zeros = u32::try_from(-scale).unwrap_or(0);
    let digits = digits.to_i128().and_then(|d| d.checked_mul(10_i128.checked_pow(zeros)?));
    digits
        .and_then(|d| Decimal::try_from_i128_with_scale(d, u32::try_from(scale).unwrap_or(0)).ok())
        .ok_or_else(|| {
            StorageError::damaged(table, "a number has more digits than a rate can have")
        })
}

/// `value × 10^scale`, if that is whole and fits.
fn to_u128(value: &BigDecimal, scale: i64) -> Option<u128> {
    let scaled = value.with_scale(scale);
    if &scaled != value {
        return None;
    }
    let (digits, _) = scaled.into_bigint_and_scale();
    digits.to_u128()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_survive_the_column_type() {
        for text in ["60000", "0.00000001", "1.5", "100", "123456.789"] {
            let rate: Decimal = text.parse().unwrap();
            assert_eq!(to_decimal("t", &from_decimal(rate)).unwrap(), rate, "{text}");
        }
    }

    #[test]
    fn the_largest_amounts_survive_the_column_type() {
        for units in [0, 1, u128::MAX, 10_u128.pow(30)] {
            let units = BaseUnits::new(units);
            assert_eq!(to_units("t", &from_units(units)).unwrap(), units);
        }
        let price = Price::parse("999999999999999.999999999999999999").unwrap();
        assert_eq!(to_price("t", &from_price(price)).unwrap(), price);
        assert!(to_units("t", &"1.5".parse().unwrap()).is_err());
    }
}
