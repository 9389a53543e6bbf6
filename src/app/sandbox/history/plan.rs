//! A month of orders as a small shop has them. Pure: the same seed makes the same month.

/// Days that the history covers.
pub const DAYS: i64 = 30;
const GOODS: [(&str, u32, u64); 6] = [
    ("House blend, 1 kg", 2_890, 34),
    ("Espresso beans, 3 kg", 7_450, 26),
    ("Coffee of the month", 4_200, 18),
    ("Hand grinder", 18_900, 12),
    ("Espresso machine", 64_900, 6),
    ("Wholesale, 25 kg", 41_500, 4),
];
/// The currencies that buyers prefer, with their shares.
const CURRENCIES: [(&str, u64); 6] =
    [("usdtmatic", 38), ("usdttrc20", 22), ("usdcmatic", 16), ("trx", 10), ("btc", 9), ("ltc", 5)];

/// The end of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Paid,
    PaidInTwo,
    Overpaid,
    Unpaid,
    /// A half came, and the rest did not.
    Half,
    Late,
    Cancelled,
}

const ENDINGS: [(Ending, u64); 7] = [
    (Ending::Paid, 70),
    (Ending::PaidInTwo, 5),
    (Ending::Overpaid, 3),
    (Ending::Unpaid, 13),
    (Ending::Half, 3),
    (Ending::Late, 2),
    (Ending::Cancelled, 4),
];

/// The course of its webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    AtOnce,
    /// The receiver failed once.
    SecondTime,
    /// The receiver was down for all attempts.
    GivenUp,
}

#[derive(Debug, Clone)]
pub struct Order {
    pub days_ago: i64,
    /// From midnight UTC.
    pub second: i64,
    pub number: u32,
    pub good: &'static str,
    pub cents: u32,
    pub currency: &'static str,
    pub ending: Ending,
    pub told: Told,
    /// From the creation to the payment.
    pub pays_after: i64,
    /// Duration of the attempts.
    pub answer_ms: i32,
}

/// The orders in the order of their times.
pub fn orders(seed: u64) -> Vec<Order> {
    let mut dice = Dice(seed);
    let mut orders = Vec::new();
    let mut number = 2_000;
    for days_ago in (1..=DAYS).rev() {
        // Two quiet days a week, and a little more each week.
        let busy = if days_ago % 7 < 2 { 2 } else { 4 };
        let grown = u64::try_from((DAYS - days_ago) / 10).unwrap_or(0);
        let mut seconds: Vec<_> = (0..busy + grown + dice.below(4))
            .map(|_| i64::try_from(7 * 3_600 + dice.below(15 * 3_600)).unwrap_or(0))
            .collect();
        seconds.sort_unstable();
        for second in seconds {
            number += 1;
            orders.push(order(&mut dice, days_ago, second, number));
        }
    }
    orders
}

fn order(dice: &mut Dice, days_ago: i64, second: i64, number: u32) -> Order {
    let (good, cents) = dice.choose(&GOODS.map(|(name, cents, share)| ((name, cents), share)));
    let ending = dice.choose(&ENDINGS);
    // An afternoon, twelve days ago, on which the receiver was down.
    let down = days_ago == 12 && (12 * 3_600..19 * 3_600).contains(&second);
    let told = match dice.below(100) {
        _ if down => Told::GivenUp,
        0..5 => Told::SecondTime,
        _ => Told::AtOnce,
    };
    Order {
        days_ago,
        second,
        number,
        good,
        cents,
        currency: dice.choose(&CURRENCIES),
        ending,
        told,
        pays_after: i64::try_from(45 + dice.below(480)).unwrap_or(60),
        answer_ms: i32::try_from(40 + dice.below(260)).unwrap_or(60),
    }
}

/// SplitMix64: good enough for a shop, and the same everywhere.
struct Dice(u64);

impl Dice {
    const fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    const fn below(&mut self, limit: u64) -> u64 {
        self.roll() % limit
    }

    /// One of the choices, by their shares.
    fn choose<T: Copy>(&mut self, choices: &[(T, u64)]) -> T {
        let mut left = self.below(choices.iter().map(|(_, share)| share).sum());
        for (choice, share) in choices {
            if left < *share {
                return *choice;
            }
            left -= share;
        }
        choices[0].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_has_every_ending_and_is_the_same_each_time() {
        for seed in [0, 1, 7, u64::MAX] {
            let month = orders(seed);
            assert!((90..=260).contains(&month.len()), "{}", month.len());
            assert_eq!(format!("{month:?}"), format!("{:?}", orders(seed)));
            let place = |order: &Order| (-order.days_ago, order.second);
            assert!(month.windows(2).all(|pair| place(&pair[0]) <= place(&pair[1])));
            let paid = month.iter().filter(|order| order.ending == Ending::Paid).count();
            assert!(paid * 2 > month.len());
            assert!(month.iter().all(|order| (1..=DAYS).contains(&order.days_ago)));
        }
    }
}
