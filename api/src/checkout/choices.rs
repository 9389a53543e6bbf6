//! Currencies that the buyer of a draft may choose, grouped by coin.

use gateway::{
    app::invoice::currency_choices::{Choice, Standing},
    locale,
};
use rust_decimal::Decimal;

use super::{language::Texts, markup::plain};

/// One coin with the networks it can be sent on.
pub struct Coin {
    pub symbol: &'static str,
    pub name: Option<&'static str>,
    pub ways: Vec<Way>,
}

pub struct Way {
    pub token_id: String,
    pub network: &'static str,
    pub standard: &'static str,
    pub about: String,
    /// Minimum in USD, if it is worth showing.
    pub minimum: Option<String>,
    /// Text that the search matches, in lower case.
    pub words: String,
}

/// A currency that cannot be chosen, with the reason.
pub struct Unavailable {
    pub symbol: &'static str,
    pub network: &'static str,
    pub reason: String,
    /// Text that the search matches, in lower case.
    pub words: String,
}

pub struct Choices {
    pub coins: Vec<Coin>,
    /// Coins that few buyers look for.
    pub more: Vec<Coin>,
    pub unavailable: Vec<Unavailable>,
}

/// Coins in the order of demand; the others follow in the order of the catalogue.
const FIRST: [&str; 6] = ["USDT", "USDC", "BTC", "ETH", "SOL", "TRX"];
/// Lists up to this length are not folded.
const COINS_SHOWN: usize = 8;

pub fn grouped(choices: &[Choice], t: &Texts) -> Choices {
    let (mut coins, mut unavailable): (Vec<Coin>, Vec<Unavailable>) = (Vec::new(), Vec::new());
    for choice in choices {
        let (symbol, network) = (choice.currency.symbol, choice.currency.network.title());
        let reason = match choice.standing {
            Standing::Eligible => {
                add(&mut coins, choice, t);
                continue;
            }
            Standing::BelowMinimum { min_usd } => plain(t.too_small, &[("min", &usd(min_usd, t))]),
            Standing::Unavailable => t.unavailable_now.to_owned(),
        };
        unavailable.push(Unavailable { symbol, network, reason, words: words(choice) });
    }
    coins.sort_by_key(|coin| {
        FIRST.iter().position(|first| *first == coin.symbol).unwrap_or(FIRST.len())
    });
    let more = coins.split_off(coins.len().min(COINS_SHOWN));
    Choices { coins, more, unavailable }
}

fn add(coins: &mut Vec<Coin>, choice: &Choice, t: &Texts) {
    let currency = choice.currency;
    let (symbol, name) = (currency.symbol, coin_name(currency.symbol));
    let amount = choice.estimate.map(|amount| amount.to_decimal(u32::from(currency.decimals)));
    let amount = amount.map(|plain| locale::coins(&plain));
    let about = match &amount {
        Some(amount) => plain(t.about, &[("amount", amount), ("symbol", symbol)]),
        None => t.about_any.to_owned(),
    };
    let network = currency.network.title();
    let way = Way {
        token_id: currency.token_id(),
        network,
        standard: currency.standard.name(),
        about,
        minimum: minimum(choice, t),
        words: words(choice),
    };
    match coins.iter_mut().find(|coin| coin.symbol == symbol) {
        Some(coin) => coin.ways.push(way),
        None => coins.push(Coin { symbol, name, ways: vec![way] }),
    }
}

fn words(choice: &Choice) -> String {
    let currency = choice.currency;
    let (symbol, name) = (currency.symbol, coin_name(currency.symbol).unwrap_or_default());
    let (network, id) = (currency.network.title(), currency.network.name());
    [symbol, name, network, id, currency.code].join(" ").to_lowercase()
}

fn minimum(choice: &Choice, t: &Texts) -> Option<String> {
    let min = choice.min_usd?.normalize();
    (!min.is_zero()).then(|| plain(t.minimum, &[("min", &usd(min, t))]))
}

/// A minimum, which is in dollars whatever the price is in.
pub fn usd(amount: Decimal, t: &Texts) -> String {
    t.locale.price(&amount.normalize().to_string(), "usd")
}

/// Full name, where it helps to find the coin.
fn coin_name(symbol: &str) -> Option<&'static str> {
    let names = [
        ("ARB", "Arbitrum"),
        ("AVAX", "Avalanche"),
        ("BNB", "BNB"),
        ("BTC", "Bitcoin"),
        ("DAI", "Dai"),
        ("DOGE", "Dogecoin"),
        ("ETH", "Ether"),
        ("EURC", "Euro Coin"),
        ("FDUSD", "First Digital USD"),
        ("LINK", "Chainlink"),
        ("LTC", "Litecoin"),
        ("OP", "Optimism"),
        ("POL", "Polygon"),
        ("PYUSD", "PayPal USD"),
        ("RUNE", "THORChain"),
        ("SHIB", "Shiba Inu"),
        ("SOL", "Solana"),
        ("TON", "Toncoin"),
        ("TRX", "Tron"),
        ("TUSD", "TrueUSD"),
        ("UNI", "Uniswap"),
        ("USDC", "USD Coin"),
        ("USDT", "Tether"),
        ("WBTC", "Wrapped Bitcoin"),
        ("WETH", "Wrapped Ether"),
    ];
    names.into_iter().find(|(known, _)| *known == symbol).map(|(_, name)| name)
}
