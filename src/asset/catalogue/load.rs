//! Loads `catalogue.json` and refuses data that contradicts itself.

use std::collections::{HashMap, HashSet};

use rust_decimal::Decimal;
use serde::Deserialize;
use thiserror::Error;

use super::{Catalogue, Currency, Standard, names::name_of};
use crate::asset::{Network, address};

/// Reason why a catalogue is invalid.
#[derive(Debug, Error)]
pub(super) enum CatalogueError {
    #[error("is not the expected json: {0}")]
    Json(#[from] serde_json::Error),
    #[error("{0}: an unknown network")]
    UnknownNetwork(String),
    #[error("{0}: not exactly one row of minimums")]
    Minimums(Network),
    #[error("{0}: not exactly one coin")]
    Coin(Network),
    #[error("{0}: an unknown standard, or one that contradicts the contract")]
    Standard(String),
    #[error("{0}: a minimum that is not a decimal number")]
    Minimum(Network),
    #[error("{0}: used twice, or not in lower case")]
    Name(String),
    #[error("{0}: the symbol is used twice on its network, or not in upper case")]
    Symbol(String),
    #[error("{0}: a contract that another entry has")]
    Contract(String),
    #[error("{0}: a CoinPayments code that another entry answers to")]
    CoinPaymentsCode(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File<'a> {
    #[serde(borrow)]
    networks: Vec<MinimumRow<'a>>,
    #[serde(borrow)]
    currencies: Vec<CurrencyRow<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MinimumRow<'a> {
    network: &'a str,
    native_min_usd: &'a str,
    token_min_usd: Option<&'a str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CurrencyRow<'a> {
    code: &'a str,
    symbol: &'a str,
    network: &'a str,
    standard: &'a str,
    decimals: u8,
    contract: Option<&'a str>,
    #[serde(default)]
    coinpayments_code: Option<&'a str>,
    aliases: Vec<&'a str>,
}

#[derive(Clone, Copy)]
struct Minimums {
    native: Decimal,
    token: Option<Decimal>,
}

pub(super) fn load(text: &'static str) -> Result<Catalogue, CatalogueError> {
    let file: File<'static> = serde_json::from_str(text)?;
    let minimums = minimums(&file.networks)?;
    let currencies = file
        .currencies
        .into_iter()
        .map(|row| currency(row, &minimums))
        .collect::<Result<Vec<_>, _>>()?;
    check_coins(&currencies)?;
    check_names(&currencies)?;
    check_symbols(&currencies)?;
    check_coinpayments_codes(&currencies)?;
    let by_contract = index_contracts(&currencies)?;
    Ok(Catalogue { currencies, by_contract })
}

fn network(name: &str) -> Result<Network, CatalogueError> {
    name.parse().map_err(|_| CatalogueError::UnknownNetwork(name.to_owned()))
}

fn minimums(rows: &[MinimumRow<'_>]) -> Result<HashMap<Network, Minimums>, CatalogueError> {
    let mut minimums = HashMap::new();
    for row in rows {
        let network = network(row.network)?;
        let usd =
            |text| Decimal::from_str_exact(text).map_err(|_| CatalogueError::Minimum(network));
        let native = usd(row.native_min_usd)?;
        let token = row.token_min_usd.map(usd).transpose()?;
        if minimums.insert(network, Minimums { native, token }).is_some() {
            return Err(CatalogueError::Minimums(network));
        }
    }
    match Network::ALL.into_iter().find(|network| !minimums.contains_key(network)) {
        Some(missing) => Err(CatalogueError::Minimums(missing)),
        None => Ok(minimums),
    }
}

fn currency(
    row: CurrencyRow<'static>,
    minimums: &HashMap<Network, Minimums>,
) -> Result<Currency, CatalogueError> {
    let network = network(row.network)?;
    let minimums = minimums.get(&network).ok_or(CatalogueError::Minimums(network))?;
    let standard = Standard::ALL.into_iter().find(|standard| standard.name() == row.standard);
    let standard = standard.ok_or_else(|| CatalogueError::Standard(row.code.to_owned()))?;
    let is_native = row.contract.is_none();
    if is_native != (standard == Standard::Native) {
        return Err(CatalogueError::Standard(row.code.to_owned()));
    }
    let listed = if is_native { Some(minimums.native) } else { minimums.token };
    Ok(Currency {
        code: row.code,
        symbol: row.symbol,
        name: name_of(row.symbol),
        network,
        standard,
        contract: row.contract,
        decimals: row.decimals,
        min_usd: listed.unwrap_or(minimums.native),
        enabled_by_default: listed.is_some(),
        coinpayments_code: row.coinpayments_code,
        aliases: row.aliases,
    })
}

fn check_coins(currencies: &[Currency]) -> Result<(), CatalogueError> {
    for network in Network::ALL {
        let coins = currencies.iter().filter(|c| c.network == network && c.is_native());
        if coins.count() != 1 {
            return Err(CatalogueError::Coin(network));
        }
    }
    Ok(())
}

/// Checks names: a code belongs to one entry, unless it is a coin's that ethereum has as well; an
/// alias always belongs to one entry.
fn check_names(currencies: &[Currency]) -> Result<(), CatalogueError> {
    let coin_of_ethereum = currencies
        .iter()
        .find(|currency| currency.network == Network::Ethereum && currency.is_native())
        .map(|currency| currency.code);
    let mut codes = HashSet::new();
    for currency in currencies {
        let shared = currency.is_native() && Some(currency.code) == coin_of_ethereum;
        if !is_name(currency.code) || (!codes.insert(currency.code) && !shared) {
            return Err(CatalogueError::Name(currency.code.to_owned()));
        }
    }
    let mut aliases = HashSet::new();
    for &alias in currencies.iter().flat_map(|currency| &currency.aliases) {
        if !is_name(alias) || codes.contains(alias) || !aliases.insert(alias) {
            return Err(CatalogueError::Name(alias.to_owned()));
        }
    }
    Ok(())
}

fn is_name(text: &str) -> bool {
    // The length is the spec's for `pay_currency`; `all` is taken by drafts.
    (2..=32).contains(&text.len())
        && text != "all"
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

fn check_symbols(currencies: &[Currency]) -> Result<(), CatalogueError> {
    let mut symbols = HashSet::new();
    for currency in currencies {
        if !is_symbol(currency.symbol) || !symbols.insert((currency.network, currency.symbol)) {
            return Err(CatalogueError::Symbol(currency.token_id()));
        }
    }
    Ok(())
}

fn is_symbol(text: &str) -> bool {
    // The length is the spec's for `price_currency`: with `direct` pricing it must be able to
    // repeat the symbol.
    (2..=8).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'.')
}

/// A code means one entry, also beside the codes of entries that CoinPayments does not have.
fn check_coinpayments_codes(currencies: &[Currency]) -> Result<(), CatalogueError> {
    let mut codes = HashSet::new();
    for currency in currencies {
        if !codes.insert(currency.legacy_code()) {
            return Err(CatalogueError::CoinPaymentsCode(currency.token_id()));
        }
    }
    Ok(())
}

fn index_contracts(
    currencies: &[Currency],
) -> Result<HashMap<(Network, String), usize>, CatalogueError> {
    let mut index = HashMap::new();
    for (position, currency) in currencies.iter().enumerate() {
        let Some(contract) = currency.contract else { continue };
        let key = (currency.network, address::match_key(currency.family(), contract));
        if index.insert(key, position).is_some() {
            return Err(CatalogueError::Contract(currency.token_id()));
        }
    }
    Ok(index)
}
