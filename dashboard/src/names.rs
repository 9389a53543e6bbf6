//! Names of the books, of states and of currencies as people read them.

use gateway::asset::catalogue::{Catalogue, Currency};

/// A name of the books or of a state.
pub fn spaced(name: &str) -> String {
    name.replace('_', " ")
}

pub fn currency(currency: &Currency) -> String {
    format!("{} on {}", currency.symbol, currency.network.title())
}

/// The currency of a token id; the id itself where it left the catalogue.
pub fn token(token_id: &str) -> String {
    Catalogue::get().by_token_id(token_id).map_or_else(|| token_id.to_owned(), currency)
}

/// The currency of a code, without the network where several share it; `None` where none has it.
pub fn code(code: &str) -> Option<String> {
    let mut named = Catalogue::get().all().iter().filter(|currency| currency.code == code);
    let first = named.next()?;
    Some(if named.next().is_none() { currency(first) } else { first.symbol.to_owned() })
}

/// The currency of a deposit by its code; a token outside the catalogue has none.
pub fn arrived(currency: Option<&str>) -> String {
    currency.and_then(code).unwrap_or_else(|| "of an unknown token".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_currency_is_named_with_its_network_where_that_is_certain() {
        assert_eq!(token("usdtmatic@polygon"), "USDT on Polygon");
        assert_eq!(token("gone@polygon"), "gone@polygon");
        assert_eq!(code("usdtmatic").as_deref(), Some("USDT on Polygon"));
        assert_eq!(code("eth").as_deref(), Some("ETH"));
        assert_eq!(code("gone"), None);
        assert_eq!(arrived(Some("btc")), "BTC on Bitcoin");
        assert_eq!(arrived(None), "of an unknown token");
    }
}
