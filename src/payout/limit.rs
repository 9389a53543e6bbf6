//! Limits on signing, in USD: rows that no limit will ever let pass, and batches cut so that each
//! transaction stays within all of them.

use std::fmt;

use rust_decimal::{Decimal, RoundingStrategy};

use crate::money::BaseUnits;

/// The most that may be signed, in whole USD.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    pub transaction: u64,
    /// Over all merchants.
    pub hour: u64,
    pub day: u64,
    /// For the merchant whose order it is.
    pub merchant_hour: u64,
    pub merchant_day: u64,
}

/// One of the five limits, by the words that sentences use for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    Transaction,
    Hour,
    Day,
    MerchantHour,
    MerchantDay,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Transaction => "one transaction",
            Self::Hour => "an hour",
            Self::Day => "a day",
            Self::MerchantHour => "an hour of one merchant",
            Self::MerchantDay => "a day of one merchant",
        })
    }
}

impl Limits {
    pub const fn all(&self) -> [(Limit, u64); 5] {
        [
            (Limit::Transaction, self.transaction),
            (Limit::Hour, self.hour),
            (Limit::Day, self.day),
            (Limit::MerchantHour, self.merchant_hour),
            (Limit::MerchantDay, self.merchant_day),
        ]
    }

    /// The first limit that one payment worth `value` exceeds. Waiting does not help such a
    /// payment: no hour and no day ever has room for it.
    pub fn exceeded_by(&self, value: Decimal) -> Option<(Limit, u64)> {
        self.all().into_iter().find(|(_, most)| value > Decimal::from(*most))
    }
}

/// The USD value of `amount`, to the cent and rounded up; `price` is that of one whole coin.
pub fn value_usd(amount: BaseUnits, decimals: u8, price: Decimal) -> Decimal {
    let coins: Decimal = amount.to_decimal(u32::from(decimals)).parse().unwrap_or(Decimal::MAX);
    let value = coins.checked_mul(price).unwrap_or(Decimal::MAX);
    value.round_dp_with_strategy(2, RoundingStrategy::AwayFromZero)
}

/// The number of rows in each batch: `amounts` in their order, at most `rows_max` to a batch, and
/// no more than `fits` allows together. A row that does not fit alone is a batch of its own.
pub fn batch_sizes(
    amounts: &[BaseUnits],
    rows_max: usize,
    fits: impl Fn(BaseUnits) -> bool,
) -> Vec<usize> {
    let mut sizes = vec![];
    let mut rest = amounts;
    while !rest.is_empty() {
        let rows = rows_that_fit(rest, rows_max, &fits);
        sizes.push(rows);
        rest = &rest[rows..];
    }
    sizes
}

/// The number of rows at the start of `amounts` that one transaction may pay: at least one.
pub fn rows_that_fit(
    amounts: &[BaseUnits],
    rows_max: usize,
    fits: impl Fn(BaseUnits) -> bool,
) -> usize {
    let mut sum = BaseUnits::ZERO;
    let mut rows = 0;
    for amount in amounts.iter().take(rows_max) {
        match sum.checked_add(*amount) {
            Some(more) if fits(more) => sum = more,
            Some(_) | None => break,
        }
        rows += 1;
    }
    rows.max(1).min(amounts.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits =
        Limits { transaction: 100, hour: 90, day: 200, merchant_hour: 80, merchant_day: 70 };

    fn units(values: &[u128]) -> Vec<BaseUnits> {
        values.iter().copied().map(BaseUnits::new).collect()
    }

    #[test]
    fn the_first_limit_that_a_payment_exceeds_is_named() {
        for (value, exceeded) in [
            ("70", None),
            ("70.01", Some("a day of one merchant")),
            ("80.01", Some("an hour of one merchant")),
            ("90.01", Some("an hour")),
            ("100.01", Some("one transaction")),
        ] {
            let found = LIMITS.exceeded_by(value.parse().unwrap());
            assert_eq!(found.map(|(limit, _)| limit.to_string()).as_deref(), exceeded, "{value}");
        }
    }

    #[test]
    fn values_round_up_to_the_cent_and_never_overflow() {
        let value = |units: u128, price: &str| {
            value_usd(BaseUnits::new(units), 6, price.parse().unwrap()).to_string()
        };
        assert_eq!(value(1_000_001, "1"), "1.01");
        assert_eq!(value(2_500_000, "2"), "5.0");
        assert_eq!(value(u128::MAX, "2"), Decimal::MAX.to_string());
    }

    #[test]
    fn a_batch_ends_where_the_next_row_would_exceed_the_limit() {
        let at_most = |most: u128| move |sum: BaseUnits| sum.get() <= most;
        for (amounts, rows_max, most, sizes) in [
            (vec![4, 4, 4, 4], 10, 8, vec![2, 2]),
            (vec![4, 4, 4], 10, 7, vec![1, 1, 1]),
            (vec![1, 1, 1, 1, 1], 2, 100, vec![2, 2, 1]),
            (vec![1, 9, 1], 10, 5, vec![1, 1, 1]),
            (vec![], 10, 5, vec![]),
        ] {
            assert_eq!(
                batch_sizes(&units(&amounts), rows_max, at_most(most)),
                sizes,
                "{amounts:?}"
            );
        }
    }

    proptest! {
        /// Every row is in exactly one batch, and a batch of several rows stays within the limit.
        #[test]
        fn no_row_is_lost_and_no_batch_of_several_rows_is_too_large(
            values in proptest::collection::vec(1_u128..1_000, 0..60),
            rows_max in 1_usize..9, most in 1_u128..3_000,
        ) {
            let amounts = units(&values);
            let sizes = batch_sizes(&amounts, rows_max, |sum| sum.get() <= most);
            prop_assert_eq!(sizes.iter().sum::<usize>(), values.len());
            let mut from = 0;
            for rows in sizes {
                let sum: u128 = values[from..from + rows].iter().sum();
                prop_assert!(rows <= rows_max && (rows == 1 || sum <= most));
                from += rows;
            }
        }
    }
}
