//! Constant prices of the sandbox, so that a test can compute an amount by hand.
//!
//! They are round and plausible, and they never move. Production refuses to start with them.

use rust_decimal::{Decimal, dec};

use super::{Batch, Pair, RateError, RateProvider};
use crate::asset::Fiat;

/// One dollar in euros, in the sandbox. The inverse is 1.25, also exact.
const EUR_PER_USD: Decimal = dec!(0.8);
/// One dollar in pounds, in the sandbox.
const GBP_PER_USD: Decimal = dec!(0.75);

/// Every symbol of the catalogue, in dollars.
const USD: [(&str, Decimal); 33] = [
    ("BTC", dec!(60000)),
    ("LTC", dec!(80)),
    ("DOGE", dec!(0.1)),
    ("ETH", dec!(3000)),
    ("POL", dec!(0.5)),
    ("BNB", dec!(600)),
    ("AVAX", dec!(25)),
    ("TRX", dec!(0.25)),
    ("SOL", dec!(150)),
    ("NEAR", dec!(4)),
    ("TON", dec!(5)),
    ("RUNE", dec!(2)),
    ("USDT", dec!(1)),
    ("USDC", dec!(1)),
    ("DAI", dec!(1)),
    ("PYUSD", dec!(1)),
    ("USDS", dec!(1)),
    ("FDUSD", dec!(1)),
    ("TUSD", dec!(1)),
    ("EURC", dec!(1.25)),
    ("WBTC", dec!(60000)),
    ("LINK", dec!(15)),
    ("SHIB", dec!(0.00001)),
    ("UNI", dec!(8)),
    ("USDC.E", dec!(1)),
    ("WETH", dec!(3000)),
    ("BTCB", dec!(60000)),
    ("ARB", dec!(0.5)),
    ("OP", dec!(1.5)),
    ("USDBC", dec!(1)),
    ("CBBTC", dec!(60000)),
    ("DAI.E", dec!(1)),
    ("LINK.E", dec!(15)),
];

/// Returns true if the sandbox has a price for `symbol`, in any case.
pub fn covers(symbol: &str) -> bool {
    USD.iter().any(|(known, _)| known.eq_ignore_ascii_case(symbol))
}

/// The provider of the sandbox. It has no network and never fails.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fixed;

impl Fixed {
    /// The price of a covered pair.
    pub fn price(pair: &Pair) -> Option<Decimal> {
        let usd = USD.into_iter().find(|(known, _)| *known == pair.symbol())?.1;
        let price = match pair.fiat() {
            Fiat::Usd => usd,
            Fiat::Eur => usd * EUR_PER_USD,
            Fiat::Gbp => usd * GBP_PER_USD,
        };
        Some(price.normalize())
    }
}

impl RateProvider for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    async fn quotes(&self, pairs: &[Pair]) -> Result<Batch, RateError> {
        let mut batch = Batch::default();
        for pair in pairs {
            if let Some(price) = Self::price(pair) {
                batch.add(self.name(), pair, Ok(price), None);
            }
        }
        Ok(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::{price, symbol};

    #[test]
    fn every_symbol_has_a_plausible_price_in_every_currency() {
        for (at, (name, usd)) in USD.into_iter().enumerate() {
            assert!(covers(&name.to_lowercase()), "{name}");
            assert!(USD[..at].iter().all(|(other, _)| *other != name), "{name} is there twice");
            for fiat in Fiat::ALL {
                let price = Fixed::price(&Pair::new(name, fiat)).unwrap();
                assert_eq!(price::checked(price), Ok(price), "{name}");
                if symbol::peg(name) == Some(fiat) {
                    assert_eq!(price, Decimal::ONE, "{name}");
                }
            }
            if let Some(followed) = symbol::names(name).nth(1) {
                let other = Fixed::price(&Pair::new(followed, Fiat::Usd));
                assert!(other.is_none_or(|price| price == usd), "{name} follows {followed}");
            }
        }
        assert!(!covers("XMR"));
    }

    #[test]
    fn the_sandbox_prices_can_be_computed_by_hand() {
        for (symbol, fiat, expected) in [
            ("BTC", Fiat::Usd, dec!(60000)),
            ("BTC", Fiat::Eur, dec!(48000)),
            ("BTC", Fiat::Gbp, dec!(45000)),
            ("usdt", Fiat::Usd, dec!(1)),
            ("usdt", Fiat::Eur, dec!(0.8)),
            ("EURC", Fiat::Eur, dec!(1)),
            ("USDC.e", Fiat::Gbp, dec!(0.75)),
            ("SHIB", Fiat::Eur, dec!(0.000008)),
        ] {
            assert_eq!(Fixed::price(&Pair::new(symbol, fiat)), Some(expected), "{symbol}");
        }
    }
}
