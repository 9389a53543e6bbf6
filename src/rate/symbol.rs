//! Alternative names of coins at the providers, and the pegged coins.

use crate::asset::Fiat;

/// Alternative names under which a coin is looked up, used only where a provider does not have the
/// first one.
///
/// Two kinds share this table. Renamed coins are the same thing under an older or newer ticker.
/// Wrapped and bridged tokens are a claim on the coin they follow; where a provider has no market
/// of their own they are priced like it, which is wrong on the day such a claim breaks. The
/// operator can disable a currency; we do not guess.
const OTHER_NAMES: [(&str, &str); 10] = [
    ("POL", "MATIC"),
    ("TON", "GRAM"),
    ("WBTC", "BTC"),
    ("BTCB", "BTC"),
    ("CBBTC", "BTC"),
    ("WETH", "ETH"),
    ("USDC.E", "USDC"),
    ("USDBC", "USDC"),
    ("DAI.E", "DAI"),
    ("LINK.E", "LINK"),
];

/// Coins pegged to one unit of a fiat currency.
const PEGGED: [(&str, Fiat); 11] = [
    ("USDT", Fiat::Usd),
    ("USDC", Fiat::Usd),
    ("DAI", Fiat::Usd),
    ("PYUSD", Fiat::Usd),
    ("USDS", Fiat::Usd),
    ("FDUSD", Fiat::Usd),
    ("TUSD", Fiat::Usd),
    ("USDC.E", Fiat::Usd),
    ("USDBC", Fiat::Usd),
    ("DAI.E", Fiat::Usd),
    ("EURC", Fiat::Eur),
];

/// The names to look `symbol` up by, best first.
pub(super) fn names(symbol: &str) -> impl Iterator<Item = &str> {
    let other = OTHER_NAMES.into_iter().find(|(known, _)| *known == symbol);
    std::iter::once(symbol).chain(other.map(|(_, name)| name))
}

/// The fiat currency that `symbol` is pegged to.
pub(super) fn peg(symbol: &str) -> Option<Fiat> {
    PEGGED.into_iter().find(|(known, _)| *known == symbol).map(|(_, fiat)| fiat)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_symbol_is_looked_up_before_its_other_name() {
        assert_eq!(names("TON").collect::<Vec<_>>(), ["TON", "GRAM"]);
        assert_eq!(names("BTC").collect::<Vec<_>>(), ["BTC"]);
        for (symbol, other) in OTHER_NAMES {
            assert_eq!(symbol, symbol.to_ascii_uppercase());
            assert_eq!(names(symbol).collect::<Vec<_>>(), [symbol, other]);
        }
    }

    #[test]
    fn a_currency_that_follows_a_pegged_coin_has_the_same_peg() {
        for (symbol, other) in OTHER_NAMES {
            assert_eq!(peg(symbol), peg(other), "{symbol}");
        }
        assert_eq!(peg("EURC"), Some(Fiat::Eur));
        assert_eq!(peg("ETH"), None);
    }
}
