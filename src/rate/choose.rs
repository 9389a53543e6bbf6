//! Selection of one price out of several. Pure.

use chrono::{DateTime, Utc};
use rust_decimal::{Decimal, dec};

use super::{Last, Limits, Pair, Quote, Reason, price, symbol};
use crate::asset::Fiat;

/// A pegged coin within this share of its peg is priced at the peg; further away it is not priced
/// at all.
const PEG_SHARE: Decimal = dec!(0.01);
/// Clocks differ; a price further ahead than this is as wrong as an old one.
const AHEAD_S_MAX: i64 = 60;
const SECONDS_PER_HOUR: i64 = 3600;

/// Returns true if the provider's own time stamp is recent enough, or absent.
pub(super) fn is_fresh(quote: &Quote, now: DateTime<Utc>, limits: &Limits) -> bool {
    let age_s = |observed: DateTime<Utc>| now.signed_duration_since(observed).num_seconds();
    quote.observed.map(age_s).is_none_or(|age| (-AHEAD_S_MAX..=limits.age_s_max).contains(&age))
}

/// Selects the accepted one of `quotes`, which are all of one pair and in order of preference.
///
/// - Two or more must agree, and of those that agree with the median the preferred one is taken.
///   Two that disagree leave no price.
/// - A single one is accepted if it is near the last price. Without a last price there is no
///   reference for it.
pub(super) fn choose(
    quotes: &[Quote],
    last: Option<&Last>,
    now: DateTime<Utc>,
    limits: &Limits,
) -> Result<Quote, Reason> {
    let quote = match quotes {
        [] => return Err(Reason::NoSource),
        [only] => {
            if let Some(last) = last
                && !price::within(only.price, last.price, jump_share(last, now, limits))
            {
                return Err(Reason::Jump { last: last.price, price: only.price });
            }
            only
        }
        several => agreeing(several, limits)?,
    };
    let price = at_peg(&quote.pair, quote.price)?;
    Ok(Quote { price, ..quote.clone() })
}

fn agreeing<'a>(quotes: &'a [Quote], limits: &Limits) -> Result<&'a Quote, Reason> {
    let mut prices: Vec<_> = quotes.iter().map(|quote| quote.price).collect();
    prices.sort_unstable();
    let (low, high) = (prices[0], prices[prices.len() - 1]);
    let disagree = Reason::Disagree { low, high };
    let share = Decimal::new(i64::from(limits.disagree_bps), 4);
    // The lower median: with an even number it is a price that a provider quoted. Two prices are
    // compared with each other.
    let median = prices[(prices.len() - 1) / 2];
    let mut agreeing = quotes.iter().filter(|quote| price::within(quote.price, median, share));
    let preferred = agreeing.next().ok_or(disagree.clone())?;
    // More than half must agree: of four, two against two decides nothing.
    if (1 + agreeing.count()) * 2 > quotes.len() { Ok(preferred) } else { Err(disagree) }
}

/// Maximum move that a single provider may report: the older the last price, the further a market
/// may have moved. A tenfold price stays out for days, while a gateway that was switched off for a
/// weekend still recovers.
fn jump_share(last: &Last, now: DateTime<Utc>, limits: &Limits) -> Decimal {
    let age_s = now.signed_duration_since(last.observed_at).num_seconds().max(0);
    let hours = Decimal::from(1 + age_s / SECONDS_PER_HOUR);
    Decimal::new(i64::from(limits.jump_bps), 4) * hours
}

fn at_peg(pair: &Pair, price: Decimal) -> Result<Decimal, Reason> {
    if symbol::peg(pair.symbol()) != Some(pair.fiat()) {
        return Ok(price);
    }
    if price::within(price, Decimal::ONE, PEG_SHARE) {
        Ok(Decimal::ONE)
    } else {
        Err(Reason::OffPeg { price })
    }
}

/// Fiat currency to which the coin of `pair` is pegged, if that is another one than the pair's:
/// the price in it shows if the coin keeps its peg.
pub(super) fn watched_peg(pair: &Pair) -> Option<Fiat> {
    symbol::peg(pair.symbol()).filter(|fiat| *fiat != pair.fiat())
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    const NAMES: [&str; 4] = ["a", "b", "c", "d"];

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn quotes(symbol: &str, prices: &[Decimal]) -> Vec<Quote> {
        let quote = |(source, price): (_, &Decimal)| Quote {
            pair: Pair::new(symbol, Fiat::Usd),
            price: *price,
            source,
            observed: None,
        };
        NAMES.into_iter().zip(prices).map(quote).collect()
    }

    fn last(price: Decimal, age_s: i64) -> Last {
        Last { price, observed_at: now() - TimeDelta::seconds(age_s) }
    }

    fn chosen(prices: &[Decimal], last: Option<&Last>) -> Result<(&'static str, Decimal), Reason> {
        let quotes = quotes("ETH", prices);
        let outcome = choose(&quotes, last, now(), &Limits::default());
        outcome.map(|quote| (quote.source, quote.price))
    }

    #[test]
    fn the_preferred_of_those_that_agree_is_believed() {
        for (prices, expected) in [
            (&[dec!(3000)][..], Some("a")),
            (&[dec!(3000), dec!(3060)], Some("a")),
            (&[dec!(3060), dec!(3000)], Some("a")),
            (&[dec!(3000), dec!(3061)], None),
            (&[dec!(3000), dec!(30000)], None),
            (&[dec!(30000), dec!(3000), dec!(3010)], Some("b")),
            (&[dec!(3000), dec!(30000), dec!(3010)], Some("a")),
            (&[dec!(300), dec!(3010), dec!(3000)], Some("b")),
            (&[dec!(3000), dec!(3100), dec!(3200)], None),
            (&[dec!(300), dec!(3000), dec!(30000)], None),
            (&[dec!(300), dec!(301), dec!(3000), dec!(3001)], None),
            (&[dec!(30000), dec!(3000), dec!(3001), dec!(2999)], Some("b")),
            (&[dec!(30000), dec!(3000), dec!(3001), dec!(300)], None),
        ] {
            let source = chosen(prices, None).map(|(source, _)| source);
            assert_eq!(source.as_ref().ok(), expected.as_ref(), "{prices:?}: {source:?}");
            if expected.is_none() {
                assert!(matches!(source, Err(Reason::Disagree { .. })), "{prices:?}");
            }
        }
        assert_eq!(chosen(&[], None), Err(Reason::NoSource));
    }

    #[test]
    fn a_single_provider_cannot_move_a_price_far_but_two_can() {
        for (price, age_s, believed) in [
            (dec!(3000), 30, true),
            (dec!(3300), 30, true),
            (dec!(3301), 30, false),
            (dec!(2727), 30, false),
            (dec!(2728), 30, true),
            (dec!(30000), 30, false),
            (dec!(300), 30, false),
            // A last price from the future counts as new.
            (dec!(3301), -3600, false),
            (dec!(3600), 3600, true),
            (dec!(3601), 3600, false),
            (dec!(30000), 48 * 3600, false),
            (dec!(4500), 48 * 3600, true),
        ] {
            let outcome = chosen(&[price], Some(&last(dec!(3000), age_s)));
            assert_eq!(outcome.is_ok(), believed, "{price} after {age_s} s");
            if !believed {
                assert_eq!(outcome, Err(Reason::Jump { last: dec!(3000), price }));
            }
        }
        let moved = chosen(&[dec!(4000), dec!(4010)], Some(&last(dec!(3000), 30)));
        assert_eq!(moved, Ok(("a", dec!(4000))));
    }

    #[test]
    fn a_pegged_coin_is_worth_its_peg_or_nothing() {
        for (price, expected) in [
            (dec!(1), Some(dec!(1))),
            (dec!(0.9991), Some(dec!(1))),
            (dec!(1.01), Some(dec!(1))),
            (dec!(1.0101), None),
            (dec!(0.99), None),
            (dec!(0.88), None),
        ] {
            let outcome = choose(&quotes("USDT", &[price]), None, now(), &Limits::default());
            assert_eq!(outcome.as_ref().ok().map(|q| q.price), expected, "{price}");
            if expected.is_none() {
                assert_eq!(outcome, Err(Reason::OffPeg { price }));
            }
        }
        assert_eq!(watched_peg(&Pair::new("USDT", Fiat::Eur)), Some(Fiat::Usd));
        assert_eq!(watched_peg(&Pair::new("USDT", Fiat::Usd)), None);
        assert_eq!(watched_peg(&Pair::new("ETH", Fiat::Eur)), None);
    }

    #[test]
    fn an_old_price_and_one_from_the_future_are_not_fresh() {
        for (age_s, fresh) in [
            (0, true),
            (300, true),
            (301, false),
            (3 * 3600, false),
            (-60, true),
            (-61, false),
            (i64::from(u32::MAX), false),
        ] {
            let mut quote = quotes("ETH", &[dec!(1)]).remove(0);
            quote.observed = Some(now() - TimeDelta::seconds(age_s));
            assert_eq!(is_fresh(&quote, now(), &Limits::default()), fresh, "{age_s}");
        }
        assert!(is_fresh(&quotes("ETH", &[dec!(1)])[0], now(), &Limits::default()));
    }
}
