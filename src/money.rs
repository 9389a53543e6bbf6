//! Exact amounts. No function rounds unless its name states the direction.
//!
//! On-chain amounts are whole base units in 128 bits; fiat prices are whole 10⁻¹⁸ parts. There is
//! no float, and no type converts into one.
//!
//! One rule for sums: of amounts that are booked, signed, sent or asked for, a sum beyond 128 bits
//! is an error (`checked_add`). A sum that is compared or shown ends at 128 bits instead
//! (`saturating_add`): only an attack gets there, and the end exceeds all that it is compared
//! with.

use std::fmt;

use num_bigint::BigUint;
use thiserror::Error;

/// Decimal places that a price keeps (design, "Money").
pub const PRICE_SCALE: u32 = 18;
const PRICE_INTEGER_DIGITS_MAX: u32 = 15;

/// Reason why a text is not an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AmountError {
    #[error("is not a decimal number")]
    NotANumber,
    #[error("must not be negative")]
    Negative,
    #[error("has more decimal places than the {places} that are kept")]
    TooPrecise { places: u32 },
    #[error("is too large")]
    TooLarge,
}

/// A non-negative number as written: `significant × 10^exponent`, without leading or trailing
/// zeros.
///
/// Exponents stay numbers and are never expanded, so `1e999999999` costs nothing.
struct Written<'a> {
    significant: std::borrow::Cow<'a, str>,
    exponent: i64,
}

impl<'a> Written<'a> {
    fn parse(text: &'a str) -> Result<Self, AmountError> {
        if let Some(rest) = text.strip_prefix('-') {
            let value = Self::parse_unsigned(rest)?;
            // -0 is zero; anything else below zero is refused.
            return if value.significant.is_empty() {
                Ok(value)
            } else {
                Err(AmountError::Negative)
            };
        }
        Self::parse_unsigned(text)
    }

    fn parse_unsigned(text: &'a str) -> Result<Self, AmountError> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let has_point = mantissa.len() > whole.len();
        let digits_only = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || (has_point && fraction.is_empty()) {
            return Err(AmountError::NotANumber);
        }
        if !digits_only(whole) || !digits_only(fraction) {
            return Err(AmountError::NotANumber);
        }
        let all: std::borrow::Cow<'a, str> =
            if fraction.is_empty() { whole.into() } else { format!("{whole}{fraction}").into() };
        let trimmed = all.trim_end_matches('0');
        let dropped = all.len() - trimmed.len();
        let places = i64::try_from(fraction.len()).map_err(|_| AmountError::TooLarge)?;
        let dropped = i64::try_from(dropped).map_err(|_| AmountError::TooLarge)?;
        let significant = trimmed.trim_start_matches('0').to_owned();
        Ok(Self { significant: significant.into(), exponent: exponent - places + dropped })
    }

    /// Returns the number times `10^scale`, if that is a whole number that fits.
    fn scaled(&self, scale: u32) -> Result<u128, AmountError> {
        if self.significant.is_empty() {
            return Ok(0);
        }
        let shift = self.exponent + i64::from(scale);
        if shift < 0 {
            return Err(AmountError::TooPrecise { places: scale });
        }
        let shift = u32::try_from(shift).map_err(|_| AmountError::TooLarge)?;
        let digits: u128 = self.significant.parse().map_err(|_| AmountError::TooLarge)?;
        10_u128
            .checked_pow(shift)
            .and_then(|factor| digits.checked_mul(factor))
            .ok_or(AmountError::TooLarge)
    }
}

/// Exponents beyond 32 bits already fail every range check, so their exact value no longer matters.
fn parse_exponent(text: &str) -> Result<i64, AmountError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(AmountError::NotANumber);
    }
    let size = digits.parse::<u32>().map_or(i64::from(u32::MAX), i64::from);
    Ok(if text.starts_with('-') { -size } else { size })
}

/// Formats `units / 10^decimals` in the shortest plain form: no exponent, no trailing zero, no bare
/// point.
///
/// JavaScript, PHP and Python print such numbers the same way, so a receiver that re-serialises an
/// IPN still reproduces the signed bytes.
fn plain(units: u128, decimals: u32) -> String {
    shifted(&units.to_string(), decimals)
}

/// A count of base units of any length in whole coins, in the shortest plain form. `digits` holds
/// decimal digits only.
pub fn digits_in_coins(digits: &str, decimals: u32) -> Option<String> {
    let is_count = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_count.then(|| shifted(digits, decimals))
}

fn shifted(digits: &str, decimals: u32) -> String {
    let decimals = usize::try_from(decimals).unwrap_or(usize::MAX);
    let (whole, fraction) = match digits.len().checked_sub(decimals) {
        None | Some(0) => ("0", digits),
        Some(place) => digits.split_at(place),
    };
    let zeros = decimals - fraction.len();
    let fraction = fraction.trim_end_matches('0');
    let mut coins = String::with_capacity(whole.len() + 1 + zeros + fraction.len());
    coins.push_str(whole);
    if !fraction.is_empty() {
        coins.push('.');
        coins.extend(std::iter::repeat_n('0', zeros));
        coins.push_str(fraction);
    }
    coins
}

/// An on-chain amount in the smallest unit of its asset (satoshi, wei, …).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BaseUnits(u128);

impl BaseUnits {
    pub const ZERO: Self = Self(0);

    pub const fn new(units: u128) -> Self {
        Self(units)
    }

    pub const fn get(self) -> u128 {
        self.0
    }

    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// Sum of two amounts, at most 128 bits. For sums that are compared or shown, never for one
    /// that is booked, signed or sent: see the head of this file.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// Rest of `self` after `other` is subtracted, zero if nothing is left.
    #[must_use]
    pub const fn remaining_after(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Parses whole-coin text such as `1.50` for an asset with `decimals` places. Further decimal
    /// places are allowed only if they are zero.
    pub fn parse(text: &str, decimals: u32) -> Result<Self, AmountError> {
        Written::parse(text)?.scaled(decimals).map(Self)
    }

    /// The amount in whole coins, in the shortest plain form.
    pub fn to_decimal(self, decimals: u32) -> String {
        plain(self.0, decimals)
    }
}

impl fmt::Debug for BaseUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}u", self.0)
    }
}

/// Price in some currency, exact to 18 decimal places.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Price(u128);

impl Price {
    /// Parses the text of a JSON number: at most 15 integer digits and 18 decimals.
    pub fn parse(text: &str) -> Result<Self, AmountError> {
        let scaled = Written::parse(text)?.scaled(PRICE_SCALE)?;
        let limit = 10_u128.pow(PRICE_INTEGER_DIGITS_MAX + PRICE_SCALE);
        if scaled >= limit { Err(AmountError::TooLarge) } else { Ok(Self(scaled)) }
    }

    /// The price as a count of 10⁻¹⁸ parts.
    pub const fn from_atoms(atoms: u128) -> Self {
        Self(atoms)
    }

    pub const fn atoms(self) -> u128 {
        self.0
    }

    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The shortest plain form.
    pub fn to_decimal(self) -> String {
        plain(self.0, PRICE_SCALE)
    }
}

/// Hundredths of a percent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Bps(u32);

impl Bps {
    pub const fn new(bps: u32) -> Self {
        Self(bps)
    }

    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns true if `received` is more than `due` raised by this tolerance, in arithmetic too
    /// wide to overflow.
    pub fn exceeded_by(self, due: BaseUnits, received: BaseUnits) -> bool {
        let whole = BigUint::from(10_000_u32);
        BigUint::from(received.get()) * &whole > BigUint::from(due.get()) * (whole + self.0)
    }

    /// Returns true if `received` is at least `due` lowered by this tolerance, which is a part of
    /// the whole: beyond it everything is accepted.
    pub fn reached_by(self, due: BaseUnits, received: BaseUnits) -> bool {
        let whole = 10_000_u32;
        let least = BigUint::from(due.get()) * whole.saturating_sub(self.0);
        BigUint::from(received.get()) * whole >= least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_count_beyond_128_bits_reads_in_coins_like_any_other() {
        let beyond = format!("{}500000", "9".repeat(40));
        let coins = format!("{}.5", "9".repeat(40));
        assert_eq!(digits_in_coins(&beyond, 6).as_deref(), Some(coins.as_str()));
        assert_eq!(digits_in_coins("15", 6).as_deref(), Some("0.000015"));
        assert_eq!(digits_in_coins("15", 0).as_deref(), Some("15"));
        for no_count in ["", "-1", "1.5", "0x1"] {
            assert_eq!(digits_in_coins(no_count, 6), None, "{no_count}");
        }
    }

    #[test]
    fn a_price_is_any_json_number_within_its_digits() {
        let parse = |text| Price::parse(text).map(Price::to_decimal);
        for (text, expected) in [
            ("1", "1"),
            ("1.50", "1.5"),
            ("1e2", "100"),
            ("1E+2", "100"),
            ("150e-2", "1.5"),
            ("0.000000000000000001", "0.000000000000000001"),
            ("999999999999999.999999999999999999", "999999999999999.999999999999999999"),
            ("-0", "0"),
            ("0e999999999", "0"),
            ("1e0000000000000001", "10"),
        ] {
            assert_eq!(parse(text).as_deref(), Ok(expected), "{text}");
            assert_eq!(Price::parse(text).map(Price::is_zero), Ok(expected == "0"), "{text}");
        }
    }

    #[test]
    fn an_amount_that_cannot_be_stored_exactly_is_refused() {
        use AmountError::{Negative, NotANumber, TooLarge, TooPrecise};
        for (text, error) in [
            ("1e999999999", TooLarge),
            ("1e99999999999999999999", TooLarge),
            ("1e-400", TooPrecise { places: 18 }),
            ("1e-99999999999999999999", TooPrecise { places: 18 }),
            ("0.0000000000000000001", TooPrecise { places: 18 }),
            ("1000000000000000", TooLarge),
            ("9007199254740993", TooLarge),
            ("12345678901234567890123456789012345", TooLarge),
            ("-1", Negative),
            ("", NotANumber),
            (".5", NotANumber),
            ("5.", NotANumber),
            ("1,5", NotANumber),
            ("NaN", NotANumber),
            ("1e", NotANumber),
            ("--1", NotANumber),
            ("１", NotANumber),
        ] {
            assert_eq!(Price::parse(text), Err(error), "{text:?}");
        }
    }

    #[test]
    fn the_tolerance_ends_exactly_where_it_says() {
        let due = BaseUnits::new(1_000_000);
        let five_percent = Bps::new(500);
        assert!(!five_percent.exceeded_by(due, BaseUnits::new(1_050_000)));
        assert!(five_percent.exceeded_by(due, BaseUnits::new(1_050_001)));
        assert!(!five_percent.exceeded_by(BaseUnits::new(u128::MAX), BaseUnits::new(u128::MAX)));
    }

    #[test]
    fn a_shortfall_is_accepted_exactly_as_far_as_the_tolerance_says() {
        let due = BaseUnits::new(1_000_001);
        let one_percent = Bps::new(100);
        // 990,000.99 is the least, and units are whole.
        assert!(one_percent.reached_by(due, BaseUnits::new(990_001)));
        assert!(!one_percent.reached_by(due, BaseUnits::new(990_000)));
        assert!(Bps::new(0).reached_by(due, due));
        assert!(!Bps::new(0).reached_by(due, BaseUnits::new(1_000_000)));
        assert!(Bps::new(10_000).reached_by(due, BaseUnits::ZERO));
        assert!(Bps::new(u32::MAX).reached_by(due, BaseUnits::ZERO));
        let most = BaseUnits::new(u128::MAX);
        assert!(!Bps::new(1_000).reached_by(most, BaseUnits::new(u128::MAX / 2)));
    }

    proptest! {
        #[test]
        fn a_larger_tolerance_and_a_larger_sum_never_accept_less(
            due: u128,
            received: u128,
            more: u128,
            bps in 0_u32..10_000,
        ) {
            let (due, received) = (BaseUnits::new(due), BaseUnits::new(received));
            let accepted = Bps::new(bps).reached_by(due, received);
            prop_assert!(!accepted || Bps::new(bps + 1).reached_by(due, received));
            prop_assert!(!accepted || Bps::new(bps).reached_by(due, received.saturating_add(BaseUnits::new(more))));
            prop_assert_eq!(Bps::new(0).reached_by(due, received), received >= due);
        }

        #[test]
        fn text_and_units_are_inverse(units: u128, decimals in 0_u32..=24) {
            let text = BaseUnits::new(units).to_decimal(decimals);
            prop_assert_eq!(BaseUnits::parse(&text, decimals), Ok(BaseUnits::new(units)));
            prop_assert!(!text.contains('.') || !text.ends_with('0'));
        }
    }
}
