//! Limits of the gas that settlements cost the operator, in whole micro-USD.

use rust_decimal::{Decimal, RoundingStrategy, prelude::ToPrimitive};

use crate::money::BaseUnits;

const MICRO_PLACES: u32 = 6;
const MICRO: u64 = 1_000_000;
/// One merchant may use the limits of an hour and of a day up to one part in so many: his payments,
/// wanted or not, leave the rest to others.
const MERCHANT_PART: u64 = 2;

/// Payments of one contract within an hour that may be reverted at our expense. It can say yes to a
/// question and no to a transaction, as often as its owner signs, and another contract costs him
/// as much as such transactions cost us. A key has its payments reverted by transactions of its own
/// alone, or by a network that stands still.
const REVERTED_MAX: i64 = 3;
pub const TOO_OFTEN_REVERTED: &str =
    "payments of this wallet were reverted lately at the gateway's expense; try again in an hour";

/// Returns whether so many payments of a contract were reverted within an hour that no further one
/// is taken.
pub const fn is_too_often_reverted(within_an_hour: i64) -> bool {
    within_an_hour >= REVERTED_MAX
}

/// The operator's limits, in whole USD.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub transaction: u64,
    pub hour: u64,
    pub day: u64,
}

/// Micro-USD that the gas of settlements may have cost lately: of all, and of one merchant's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub hour: u64,
    pub day: u64,
    pub merchant_hour: u64,
    pub merchant_day: u64,
}

/// A limit that a further transaction would exceed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exceeded {
    /// False: cheaper transactions, or those of other merchants, may still be signed.
    pub is_of_all: bool,
    /// A sentence for the operator.
    pub why: String,
}

/// The first limit that a transaction of at most `cost` micro-USD would exceed. One that holds for
/// all comes before a merchant's share.
pub fn exceeded(cost: u64, spent: &Spent, limits: &Limits) -> Option<Exceeded> {
    let share = |usd: u64| whole(usd) / MERCHANT_PART;
    let with = |sum: u64| sum.saturating_add(cost);
    exceeded_by_any(cost, spent, limits).or_else(|| {
        first_exceeded([
            (
                false,
                "one merchant's share of an hour",
                with(spent.merchant_hour),
                share(limits.hour),
            ),
            (false, "one merchant's share of a day", with(spent.merchant_day), share(limits.day)),
        ])
    })
}

/// The same without a merchant's share: a transaction that is not raised keeps those of all others
/// waiting.
pub fn exceeded_by_any(cost: u64, spent: &Spent, limits: &Limits) -> Option<Exceeded> {
    let with = |sum: u64| sum.saturating_add(cost);
    first_exceeded([
        (false, "one transaction", cost, whole(limits.transaction)),
        (true, "an hour", with(spent.hour), whole(limits.hour)),
        (true, "a day", with(spent.day), whole(limits.day)),
    ])
}

const fn whole(usd: u64) -> u64 {
    usd.saturating_mul(MICRO)
}

fn first_exceeded<const N: usize>(all: [(bool, &str, u64, u64); N]) -> Option<Exceeded> {
    let (is_of_all, limit, sum, most) = all.into_iter().find(|(.., sum, most)| sum > most)?;
    let (sum, most) = (usd(sum).normalize(), usd(most).normalize());
    let why = format!("gas of {sum} USD would exceed the limit of {limit}, {most} USD");
    Some(Exceeded { is_of_all, why })
}

/// The value of `amount` in micro-USD, rounded up; `price` is that of one whole coin in USD.
pub fn micro_usd(amount: BaseUnits, decimals: u8, price: Decimal) -> u64 {
    let coins: Option<Decimal> = amount.to_decimal(u32::from(decimals)).parse().ok();
    let value = coins.and_then(|coins| coins.checked_mul(price));
    let micro = value.and_then(|value| value.checked_mul(Decimal::from(MICRO)));
    let whole = micro.map(|micro| micro.round_dp_with_strategy(0, RoundingStrategy::AwayFromZero));
    whole.and_then(|whole| whole.to_u64()).unwrap_or(u64::MAX)
}

/// Micro-USD as a number of USD.
pub fn usd(micro: u64) -> Decimal {
    Decimal::from_i128_with_scale(i128::from(micro), MICRO_PLACES)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits { transaction: 1, hour: 20, day: 100 };

    fn told(cost: u64, spent: Spent) -> Option<(bool, String)> {
        exceeded(cost, &spent, &LIMITS).map(|exceeded| (exceeded.is_of_all, exceeded.why))
    }

    #[test]
    fn each_limit_holds_to_the_micro_dollar() {
        let none = Spent::default();
        assert_eq!(told(MICRO, none), None);
        let why = "gas of 1.000001 USD would exceed the limit of one transaction, 1 USD";
        assert_eq!(told(MICRO + 1, none), Some((false, why.to_owned())));
        for (spent, limit) in [
            (Spent { hour: 20 * MICRO, ..none }, "an hour, 20 USD"),
            (Spent { day: 100 * MICRO, ..none }, "a day, 100 USD"),
        ] {
            let (is_of_all, why) = told(1, spent).unwrap();
            assert!(is_of_all && why.ends_with(limit), "{why}");
            assert_eq!(told(0, spent), None);
        }
    }

    /// Half of an odd number of dollars has a fraction, which is not cut off.
    #[test]
    fn a_merchant_s_share_is_half_and_keeps_nobody_else_waiting() {
        let none = Spent::default();
        let limits = Limits { hour: 3, ..LIMITS };
        let used = Spent { hour: 1_500_000, merchant_hour: 1_499_999, ..none };
        assert_eq!(exceeded(1, &used, &limits), None);
        let beyond = exceeded(2, &used, &limits).unwrap();
        assert!(
            !beyond.is_of_all && beyond.why.contains("share of an hour, 1.5 USD"),
            "{beyond:?}"
        );
        assert_eq!(exceeded_by_any(2, &used, &limits), None);
        let other = Spent { merchant_hour: 0, ..used };
        assert_eq!(exceeded(2, &other, &limits), None);
        let used = Spent { day: 50 * MICRO, merchant_day: 50 * MICRO, ..none };
        assert!(told(1, used).unwrap().1.contains("share of a day, 50 USD"));
        // What holds for all is said first: then nobody is tried.
        let both = Spent { hour: 20 * MICRO, merchant_hour: 20 * MICRO, ..none };
        assert!(told(1, both).unwrap().0);
    }

    #[test]
    fn gas_is_valued_upwards_and_never_overflows() {
        let value =
            |units: u128, price: &str| micro_usd(BaseUnits::new(units), 18, price.parse().unwrap());
        assert_eq!(value(1, "3000"), 1);
        assert_eq!(value(10_u128.pow(18), "0.5"), 500_000);
        assert_eq!(value(10_u128.pow(18), "0.5000001"), 500_001);
        assert_eq!(value(u128::MAX, "3000"), u64::MAX);
        assert_eq!(usd(1_500_000).to_string(), "1.500000");
    }

    proptest! {
        /// Whatever was spent before, what one merchant spends stays within half, and what all
        /// spend within the whole.
        #[test]
        fn no_order_of_transactions_exceeds_a_limit(
            costs in proptest::collection::vec((0_u8..3, 0_u64..2 * MICRO), 0..200),
        ) {
            let (mut all, mut each) = (0, [0; 3]);
            for (merchant, cost) in costs {
                let of_merchant = &mut each[usize::from(merchant)];
                let spent = Spent {
                    hour: all, day: all, merchant_hour: *of_merchant, merchant_day: *of_merchant,
                };
                if exceeded(cost, &spent, &LIMITS).is_none() {
                    all += cost;
                    *of_merchant += cost;
                }
            }
            prop_assert!(all <= LIMITS.hour * MICRO);
            prop_assert!(each.iter().all(|sum| *sum <= LIMITS.hour * MICRO / MERCHANT_PART));
        }
    }
}
