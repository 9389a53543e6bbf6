//! Names of coins and tokens, for people: those of public token lists, shortened where wallets
//! shorten them ("Dai" for "Dai Stablecoin"). A bridged token whose own name hides that says so.

/// The name that belongs to a symbol on every network. A test asks that no symbol of the catalogue
/// lacks one; the symbol itself would stand in for it.
pub(super) fn name_of(symbol: &'static str) -> &'static str {
    let found = NAMES.iter().find(|(known, _)| *known == symbol);
    found.map_or(symbol, |(_, name)| *name)
}

const NAMES: &[(&str, &str)] = &[
    ("BTC", "Bitcoin"),
    ("LTC", "Litecoin"),
    ("DOGE", "Dogecoin"),
    ("ETH", "Ether"),
    ("POL", "POL"),
    ("BNB", "BNB"),
    ("AVAX", "Avalanche"),
    ("TRX", "TRON"),
    ("SOL", "Solana"),
    ("NEAR", "NEAR Protocol"),
    ("TON", "Toncoin"),
    ("RUNE", "THORChain"),
    ("USDT", "Tether USD"),
    ("USDC", "USD Coin"),
    ("DAI", "Dai"),
    ("PYUSD", "PayPal USD"),
    ("USDS", "USDS"),
    ("FDUSD", "First Digital USD"),
    ("TUSD", "TrueUSD"),
    ("EURC", "EURC"),
    ("WBTC", "Wrapped Bitcoin"),
    ("LINK", "Chainlink"),
    ("SHIB", "Shiba Inu"),
    ("UNI", "Uniswap"),
    ("USDC.E", "Bridged USDC"),
    ("WETH", "Wrapped Ether"),
    ("BTCB", "Binance-Peg BTC"),
    ("ARB", "Arbitrum"),
    ("OP", "Optimism"),
    ("USDBC", "USD Base Coin"),
    ("CBBTC", "Coinbase Wrapped BTC"),
    ("DAI.E", "Bridged Dai"),
    ("LINK.E", "Bridged Chainlink"),
];

#[cfg(test)]
mod tests {
    use super::{super::Catalogue, NAMES};

    #[test]
    fn every_symbol_of_the_catalogue_has_one_name_and_no_other_does() {
        let all = Catalogue::get().all();
        for currency in all {
            let names = NAMES.iter().filter(|(symbol, _)| *symbol == currency.symbol);
            assert_eq!(names.count(), 1, "{}", currency.token_id());
        }
        for (symbol, name) in NAMES {
            assert!(all.iter().any(|currency| currency.symbol == *symbol), "{symbol}");
            assert!(!name.is_empty() && name.trim() == *name, "{symbol}");
        }
    }
}
