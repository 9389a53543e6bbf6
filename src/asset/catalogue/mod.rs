//! The currencies that a buyer can pay in, one entry for each pair of network and token.
//!
//! `catalogue.json` is the data; `README.md` in this folder explains how to add an entry. An
//! installation may enable and disable entries and change their minimums; it never changes the
//! identity of an entry.

mod load;
mod names;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, fmt, sync::LazyLock};

use rust_decimal::Decimal;

use super::{Family, Network, address};

/// The kind of asset, as the API calls it in `standard`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Standard {
    Native,
    Erc20,
    Bep20,
    Trc20,
    Spl,
    Nep141,
    Jetton,
}

impl Standard {
    pub const ALL: [Self; 7] = [
        Self::Native,
        Self::Erc20,
        Self::Bep20,
        Self::Trc20,
        Self::Spl,
        Self::Nep141,
        Self::Jetton,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Erc20 => "ERC20",
            Self::Bep20 => "BEP20",
            Self::Trc20 => "TRC20",
            Self::Spl => "SPL",
            Self::Nep141 => "NEP141",
            Self::Jetton => "JETTON",
        }
    }
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One way to pay: a coin, or one token on one network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Currency {
    /// Value of `pay_currency`. Native coins share it between networks (`eth`); tokens do not.
    pub code: &'static str,
    /// The ticker alone, in upper case. Unique on its network.
    pub symbol: &'static str,
    /// The name for people; the same on every network.
    pub name: &'static str,
    pub network: Network,
    pub standard: Standard,
    /// The token's contract as explorers write it; `None` for the network's own coin.
    pub contract: Option<&'static str>,
    /// Decimal places of one whole unit; the API's `network_precision`.
    pub decimals: u8,
    /// The smallest invoice, before an operator moves it (spec, "Minimum payment amounts").
    pub min_usd: Decimal,
    /// False for tokens on networks where the spec lists no token minimum. Their `min_usd` is then
    /// that of the native coin.
    pub enabled_by_default: bool,
    /// The code of the old CoinPayments API; `None` if it had no such currency.
    pub coinpayments_code: Option<&'static str>,
    /// Other names accepted in `pay_currency`; responses never contain them.
    pub aliases: Vec<&'static str>,
}

impl Currency {
    /// Unique name of the entry: `code@network`.
    pub fn token_id(&self) -> String {
        format!("{}@{}", self.code, self.network)
    }

    /// Code of the entry under `/legacy`: that of CoinPayments, else its own in upper case. Unique.
    pub fn legacy_code(&self) -> String {
        self.coinpayments_code.map_or_else(|| self.code.to_ascii_uppercase(), str::to_owned)
    }

    pub const fn is_native(&self) -> bool {
        self.contract.is_none()
    }

    pub const fn family(&self) -> Family {
        self.network.family()
    }

    fn answers_to(&self, name: &str) -> bool {
        self.code.eq_ignore_ascii_case(name)
            || self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    }
}

/// All currencies, checked for contradictions when they are loaded.
#[derive(Debug)]
pub struct Catalogue {
    currencies: Vec<Currency>,
    /// Keyed by the contract's `match_key`: the chain watcher asks once for every token that moves.
    by_contract: HashMap<(Network, String), usize>,
}

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    load::load(include_str!("catalogue.json")).expect("the embedded catalogue passes its own tests")
});

impl Catalogue {
    pub fn get() -> &'static Self {
        &CATALOGUE
    }

    /// Every entry, coins first, in the order in which the API lists them.
    pub fn all(&self) -> &[Currency] {
        &self.currencies
    }

    pub fn by_token_id(&self, token_id: &str) -> Option<&Currency> {
        let (code, network) = token_id.split_once('@')?;
        self.currencies.iter().find(|c| c.code == code && c.network.name() == network)
    }

    /// Finds the entry for an operator's `CODE` or `CODE@NETWORK`; accepts everything that
    /// [`Self::resolve`] accepts.
    pub fn named(&self, text: &str) -> Option<&Currency> {
        match text.split_once('@') {
            Some((code, network)) => self.resolve(code, Some(network)),
            None => self.resolve(text, None),
        }
    }

    /// The token with this contract, in any spelling that the network allows.
    pub fn by_contract(&self, network: Network, contract: &str) -> Option<&Currency> {
        let key = (network, address::match_key(network.family(), contract));
        self.by_contract.get(&key).map(|&index| &self.currencies[index])
    }

    /// The entry that a code of the old CoinPayments API means, in any case of its letters. Other
    /// codes are read as in `pay_currency`.
    pub fn by_legacy_code(&self, code: &str) -> Option<&Currency> {
        let named = |currency: &&Currency| currency.legacy_code().eq_ignore_ascii_case(code);
        self.currencies.iter().find(named).or_else(|| self.resolve(code, None))
    }

    /// The network's own coin.
    pub fn native(&self, network: Network) -> &Currency {
        self.currencies
            .iter()
            .find(|currency| currency.network == network && currency.is_native())
            .expect("loading refuses a catalogue in which a network has no coin")
    }

    /// Finds the entry for `pay_currency` and the optional `network` of a request (spec, POST
    /// /v1/payment).
    ///
    /// With a network, `pay_currency` is a symbol, a code or an alias there, in this order. Without
    /// one it is a code, then an alias; a code that several networks share means ethereum. A bare
    /// `usdt` is ambiguous: too many networks have one, and guessing wrong would lose the buyer's
    /// money.
    pub fn resolve(&self, pay_currency: &str, network: Option<&str>) -> Option<&Currency> {
        let Some(network) = network else {
            return self.resolve_bare(pay_currency);
        };
        let network: Network = network.to_ascii_lowercase().parse().ok()?;
        let there = || self.currencies.iter().filter(move |c| c.network == network);
        there()
            .find(|currency| currency.symbol.eq_ignore_ascii_case(pay_currency))
            .or_else(|| there().find(|currency| currency.answers_to(pay_currency)))
    }

    fn resolve_bare(&self, pay_currency: &str) -> Option<&Currency> {
        let mut by_code =
            self.currencies.iter().filter(|c| c.code.eq_ignore_ascii_case(pay_currency));
        match (by_code.next(), by_code.next()) {
            (Some(only), None) => Some(only),
            (Some(_), Some(_)) => self.resolve(pay_currency, Some(Network::Ethereum.name())),
            (None, _) => self.currencies.iter().find(|c| c.answers_to(pay_currency)),
        }
    }
}
