//! Comparison of an amount with the fee of collecting it.

use rust_decimal::Decimal;

use crate::{
    money::BaseUnits,
    payout::spend::{Lock, virtual_bytes},
};

/// Most outputs in one transaction: a plan has the transaction behind each of them.
pub const INPUTS_MAX: usize = 200;

/// Returns true if a fee in the same coin is at most `percent` of the amount.
pub fn is_worth(fee: BaseUnits, amount: BaseUnits, percent: u8) -> bool {
    let most =
        amount.get() / 100 * u128::from(percent) + amount.get() % 100 * u128::from(percent) / 100;
    fee.get() <= most
}

/// The same of two values in one currency.
pub fn is_worth_usd(fee: Decimal, amount: Decimal, percent: u8) -> bool {
    let most =
        amount.checked_mul(Decimal::from(percent)).and_then(|sum| sum.checked_div(100.into()));
    most.is_some_and(|most| fee <= most)
}

/// Fee of one more input at a rate per virtual byte.
pub fn input_fee(lock: Lock, script_bytes: usize, rate: u64) -> u64 {
    let with = |inputs| virtual_bytes(lock, inputs, [script_bytes].into_iter());
    with(2).saturating_sub(with(1)).saturating_mul(rate)
}

/// The fee of a transaction of so many inputs and one output.
pub fn fee_of(lock: Lock, inputs: usize, script_bytes: usize, rate: u64) -> u64 {
    virtual_bytes(lock, inputs, [script_bytes].into_iter()).saturating_mul(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fee_is_compared_with_its_part_of_the_amount() {
        let is_worth = |fee, amount| is_worth(BaseUnits::new(fee), BaseUnits::new(amount), 5);
        assert!(is_worth(5, 100) && !is_worth(6, 100) && !is_worth(1, 19) && is_worth(0, 0));
        assert!(is_worth(u128::MAX / 20, u128::MAX) && !is_worth(u128::MAX / 19, u128::MAX));
        let usd = |text: &str| text.parse::<Decimal>().unwrap();
        assert!(is_worth_usd(usd("0.05"), usd("1"), 5) && !is_worth_usd(usd("0.06"), usd("1"), 5));
        assert!(!is_worth_usd(usd("0.01"), Decimal::ZERO, 5));
    }

    #[test]
    fn inputs_add_up_to_the_fee_of_the_whole() {
        let (one, ten) = (fee_of(Lock::Witness, 1, 22, 10), fee_of(Lock::Witness, 10, 22, 10));
        // One input and one output of P2WPKH: 110 virtual bytes.
        assert_eq!((one, input_fee(Lock::Witness, 22, 10)), (1_100, 680));
        assert!(ten.abs_diff(one + 9 * 680) <= 10, "{ten}");
    }
}
