//! Amounts of the dialect: whole 10⁻⁸ parts of a coin, whatever the decimals of its token.

use crate::money::{BaseUnits, PRICE_SCALE, Price};

pub const PLACES: u32 = 8;
const PARTS: u128 = 10_u128.pow(PLACES);

/// 10⁻⁸ parts of a coin. Only shown and compared, never booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Parts(u128);

impl Parts {
    pub const ZERO: Self = Self(0);

    /// Of an amount due: the buyer must not be asked for less than the invoice needs.
    pub const fn rounded_up(units: BaseUnits, decimals: u32) -> Self {
        if decimals > PLACES {
            Self(units.get().div_ceil(power(decimals - PLACES)))
        } else {
            Self(units.get().saturating_mul(power(PLACES - decimals)))
        }
    }

    /// Of an amount received: the shop must not see more than arrived.
    pub const fn rounded_down(units: BaseUnits, decimals: u32) -> Self {
        if decimals > PLACES {
            Self(units.get() / power(decimals - PLACES))
        } else {
            Self(units.get().saturating_mul(power(PLACES - decimals)))
        }
    }

    /// The whole number, as in `amount` and `balance`.
    pub const fn get(self) -> u128 {
        self.0
    }

    /// With eight decimal places, as in `amountf` and `balancef`.
    pub fn text(self) -> String {
        format!("{}.{:08}", self.0 / PARTS, self.0 % PARTS)
    }
}

/// 10 to the `exponent`, at most the highest power that 128 bits hold.
const fn power(exponent: u32) -> u128 {
    10_u128.saturating_pow(exponent)
}

/// A price in a coin, at the places that both the coin and the dialect have. Scripts that compute
/// with floats send more, such as `0.30000000000000004`.
pub fn price_rounded_up(price: Price, decimals: u32) -> Price {
    let unit = unit_of(decimals);
    Price::from_atoms(price.atoms().div_ceil(unit).saturating_mul(unit))
}

/// The same of an amount that is paid out: no more leaves than was asked for, and what is paid is
/// what the dialect can say.
pub fn price_rounded_down(price: Price, decimals: u32) -> Price {
    let unit = unit_of(decimals);
    Price::from_atoms(price.atoms() / unit * unit)
}

/// The least part of a price in a coin.
const fn unit_of(decimals: u32) -> u128 {
    let places = if decimals < PLACES { decimals } else { PLACES };
    power(PRICE_SCALE - places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_due_are_rounded_up_and_received_ones_down() {
        for (units, decimals, up, down) in [
            (412_000, 8, "0.00412000", "0.00412000"),
            (12_500_000, 6, "12.50000000", "12.50000000"),
            (1, 18, "0.00000001", "0.00000000"),
            (1_234_567_891_234_567_891, 18, "1.23456790", "1.23456789"),
            (7, 0, "7.00000000", "7.00000000"),
            (0, 24, "0.00000000", "0.00000000"),
        ] {
            let units = BaseUnits::new(units);
            assert_eq!(Parts::rounded_up(units, decimals).text(), up);
            assert_eq!(Parts::rounded_down(units, decimals).text(), down);
        }
        assert_eq!(Parts::rounded_up(BaseUnits::new(u128::MAX), 0).get(), u128::MAX);
    }

    #[test]
    fn a_price_in_a_coin_keeps_the_places_of_the_coin_and_eight_at_most() {
        for (sent, decimals, up, down) in [
            ("0.30000000000000004", 18, "0.30000001", "0.3"),
            ("0.30000000000000004", 6, "0.300001", "0.3"),
            ("0.3", 8, "0.3", "0.3"),
            ("0.19999999999999998", 18, "0.2", "0.19999999"),
            ("0.00000001", 8, "0.00000001", "0.00000001"),
            ("0.000000000000000001", 24, "0.00000001", "0"),
            ("1.5", 0, "2", "1"),
        ] {
            let price = Price::parse(sent).unwrap();
            assert_eq!(price_rounded_up(price, decimals).to_decimal(), up);
            assert_eq!(price_rounded_down(price, decimals).to_decimal(), down);
        }
    }
}
