//! Exact conversion of a price to an amount (design, "Money").
//!
//! The amount due rounds up, never down. It keeps at most [`PAY_PLACES_MAX`] decimal places and
//! [`PAY_DIGITS_MAX`] significant digits, so that it is exact in the double of any client.

use num_bigint::BigUint;
use rust_decimal::Decimal;
use thiserror::Error;

use crate::money::{AmountError, BaseUnits, PRICE_SCALE, Price};

pub const PAY_PLACES_MAX: u32 = 8;
pub const PAY_DIGITS_MAX: u32 = 15;

/// Reason why a price has no amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum QuoteError {
    #[error("the rate is not a positive number")]
    UnusableRate,
    #[error("the amount does not fit the currency")]
    OutOfRange,
}

/// Amount due for `price` when one whole coin costs `rate`, in base units of a token with
/// `decimals`.
pub fn pay_amount(price: Price, rate: Decimal, decimals: u8) -> Result<BaseUnits, QuoteError> {
    let places = u32::from(decimals).min(PAY_PLACES_MAX);
    let (mantissa, scale) = positive(rate)?;
    let dividend = BigUint::from(price.atoms()) * ten_to(places + scale);
    let divisor = mantissa * ten_to(PRICE_SCALE);
    let coins = round_up_to_digits(ceil_div(&dividend, &divisor));
    to_units(&(coins * ten_to(u32::from(decimals) - places)))
}

/// Value of an amount of coins when one whole coin costs `rate`, rounded up at `places`.
pub fn value_rounded_up(coins: Price, rate: Decimal, places: u32) -> Result<Price, QuoteError> {
    let (mantissa, scale) = positive(rate)?;
    let places = places.min(PRICE_SCALE);
    let dividend = BigUint::from(coins.atoms()) * mantissa;
    let value = ceil_div(&dividend, &ten_to(scale + PRICE_SCALE - places));
    let atoms = u128::try_from(value * ten_to(PRICE_SCALE - places));
    let price = atoms.map(Price::from_atoms).map_err(|_| QuoteError::OutOfRange)?;
    Price::parse(&price.to_decimal()).map_err(|_| QuoteError::OutOfRange)
}

/// Amount of a price that is already in the pay currency: exact in the token's decimals, or
/// refused.
pub fn direct_amount(price: Price, decimals: u8) -> Result<BaseUnits, AmountError> {
    BaseUnits::parse(&price.to_decimal(), u32::from(decimals))
}

/// Returns true if `price` is worth at least `min_usd`, given the prices of one coin in the price's
/// currency and in USD.
pub fn meets_minimum(
    price: Price,
    rate: Decimal,
    rate_usd: Decimal,
    min_usd: Decimal,
) -> Result<bool, QuoteError> {
    let (rate, rate_scale) = positive(rate)?;
    let (usd, usd_scale) = positive(rate_usd)?;
    let (min, min_scale) = non_negative(min_usd)?;
    let value = BigUint::from(price.atoms()) * usd * ten_to(rate_scale + min_scale);
    Ok(value >= min * rate * ten_to(usd_scale + PRICE_SCALE))
}

/// Returns true if `amount` of a token is worth at least `min_usd`.
pub fn amount_meets_minimum(
    amount: BaseUnits,
    decimals: u8,
    rate_usd: Decimal,
    min_usd: Decimal,
) -> Result<bool, QuoteError> {
    let (usd, usd_scale) = positive(rate_usd)?;
    let (min, min_scale) = non_negative(min_usd)?;
    let value = BigUint::from(amount.get()) * usd * ten_to(min_scale);
    Ok(value >= min * ten_to(usd_scale + u32::from(decimals)))
}

/// Converts a [`Decimal`] price, such as a configured minimum, to a [`Price`].
pub fn price_of(decimal: Decimal) -> Result<Price, QuoteError> {
    Price::parse(&decimal.normalize().to_string()).map_err(|_| QuoteError::OutOfRange)
}

fn positive(rate: Decimal) -> Result<(BigUint, u32), QuoteError> {
    if rate.is_zero() { Err(QuoteError::UnusableRate) } else { non_negative(rate) }
}

fn non_negative(decimal: Decimal) -> Result<(BigUint, u32), QuoteError> {
    let mantissa = u128::try_from(decimal.mantissa()).map_err(|_| QuoteError::UnusableRate)?;
    Ok((BigUint::from(mantissa), decimal.scale()))
}

fn ten_to(exponent: u32) -> BigUint {
    BigUint::from(10_u32).pow(exponent)
}

fn ceil_div(dividend: &BigUint, divisor: &BigUint) -> BigUint {
    (dividend + divisor - 1_u32) / divisor
}

fn round_up_to_digits(value: BigUint) -> BigUint {
    let digits = u32::try_from(value.to_string().len()).unwrap_or(u32::MAX);
    if digits <= PAY_DIGITS_MAX {
        return value;
    }
    let unit = ten_to(digits - PAY_DIGITS_MAX);
    ceil_div(&value, &unit) * unit
}

fn to_units(value: &BigUint) -> Result<BaseUnits, QuoteError> {
    u128::try_from(value).map(BaseUnits::new).map_err(|_| QuoteError::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn quote(price: &str, rate: &str, decimals: u8) -> String {
        let price = Price::parse(price).unwrap();
        let units = pay_amount(price, rate.parse().unwrap(), decimals).unwrap();
        units.to_decimal(u32::from(decimals))
    }

    #[test]
    fn the_pay_amount_rounds_up_at_the_token_s_places_but_at_most_eight() {
        for (price, rate, decimals, expected) in [
            ("25", "1", 6, "25"),
            ("25", "0.9999", 6, "25.002501"),
            ("100", "3000", 18, "0.03333334"),
            ("100", "60000", 8, "0.00166667"),
            ("0.000000000000000001", "60000", 8, "0.00000001"),
            ("1", "3", 2, "0.34"),
            ("999999999999999", "7", 6, "142857142857143"),
            ("123456789", "0.07", 8, "1763668414.28572"),
        ] {
            assert_eq!(quote(price, rate, decimals), expected, "{price} at {rate}");
        }
    }

    #[test]
    fn coins_are_worth_no_less_than_their_price() {
        for (coins, rate, value) in [
            ("0.5", "60000.10", "30000.05"),
            ("0.00000001", "60000.1", "0.00060001"),
            ("10", "0.99980000", "9.998"),
            ("0", "3", "0"),
        ] {
            let coins = Price::parse(coins).unwrap();
            let valued = value_rounded_up(coins, rate.parse().unwrap(), 8).unwrap();
            assert_eq!(valued.to_decimal(), value);
        }
        let most = Price::parse("999999999999999").unwrap();
        assert_eq!(value_rounded_up(most, Decimal::TEN, 8), Err(QuoteError::OutOfRange));
    }

    #[test]
    fn the_minimum_is_met_exactly_at_its_edge() {
        let min = Decimal::new(25, 1);
        let meets = |price: &str, rate: &str, usd: &str| {
            let price = Price::parse(price).unwrap();
            meets_minimum(price, rate.parse().unwrap(), usd.parse().unwrap(), min).unwrap()
        };
        assert!(meets("2.5", "3000", "3000"));
        assert!(!meets("2.499999999999999999", "3000", "3000"));
        // 2.25 EUR at 0.9 EUR per USD is 2.50 USD.
        assert!(meets("2.25", "2700", "3000"));
        assert!(!meets("2.24", "2700", "3000"));
    }

    #[test]
    fn direct_prices_are_exact_or_refused() {
        let direct = |price: &str, decimals| direct_amount(Price::parse(price).unwrap(), decimals);
        assert_eq!(direct("0.00000001", 8), Ok(BaseUnits::new(1)));
        assert_eq!(direct("1.10", 6), Ok(BaseUnits::new(1_100_000)));
        assert_eq!(direct("0.000000001", 8), Err(AmountError::TooPrecise { places: 8 }));
    }

    proptest! {
        #[test]
        fn the_amount_due_is_never_below_the_price(
            atoms in 1_u128..10_u128.pow(33), mantissa in 1_i64..i64::MAX, scale in 0_u32..12, decimals in 0_u8..=24,
        ) {
            let rate = Decimal::new(mantissa, scale);
            if let Ok(units) = pay_amount(Price::from_atoms(atoms), rate, decimals) {
                let (mantissa, scale) = positive(rate).unwrap();
                let value = BigUint::from(units.get()) * mantissa * ten_to(PRICE_SCALE);
                prop_assert!(value >= BigUint::from(atoms) * ten_to(scale + u32::from(decimals)));
                let digits = units.get().to_string().trim_end_matches('0').len();
                prop_assert!(digits <= 15);
            }
        }
    }
}
