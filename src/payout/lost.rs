//! Recipients from whom nothing ever comes back: addresses that burn what they get, and contracts
//! of tokens, which keep it.

use super::recipients::Reason;
use crate::asset::{Family, Network, address, catalogue::Catalogue};

/// Addresses without a key that are known to burn coins, by family. The zero address is none of
/// them: no address field takes it (`AddressError::Unspendable`).
const fn burning(family: Family) -> &'static [&'static str] {
    match family {
        Family::Evm => &[
            "0x000000000000000000000000000000000000dead",
            "0xdead000000000000000042069420694206942069",
            "0xdeaddeaddeaddeaddeaddeaddeaddeaddeaddead",
            "0xffffffffffffffffffffffffffffffffffffffff",
        ],
        Family::Bitcoin => &[
            "1111111111111111111114oLvT2",
            "1BitcoinEaterAddressDontSendf59kuE",
            "1CounterpartyXXXXXXXXXXXXXXXUWLpVr",
        ],
        Family::Dogecoin => &["DDogepartyxxxxxxxxxxxxxxxxxxw1dfzr"],
        Family::Litecoin
        | Family::Tron
        | Family::Solana
        | Family::Near
        | Family::Ton
        | Family::Thorchain => &[],
    }
}

/// The reason for which a payment to `address` would be lost, if it would.
pub fn reason(network: Network, address: &str) -> Option<Reason> {
    let family = network.family();
    let key = address::match_key(family, address);
    if burning(family).iter().any(|known| address::match_key(family, known) == key) {
        return Some(Reason::Burns);
    }
    let contract = |currency: &&crate::asset::catalogue::Currency| {
        let contract = currency.contract.filter(|_| currency.network == network);
        contract.is_some_and(|contract| address::match_key(family, contract) == key)
    };
    let token = Catalogue::get().all().iter().find(contract)?;
    Some(Reason::TokenContract(token.symbol))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_burn_address_is_refused() {
        for network in Network::ALL {
            for known in burning(network.family()) {
                let valid = address::validate(network, known);
                assert!(valid.is_ok(), "{known} is no address of {network}: {valid:?}");
                assert_eq!(reason(network, known), Some(Reason::Burns), "{known}");
            }
        }
        let shouted = "0x000000000000000000000000000000000000dEaD";
        assert_eq!(reason(Network::Polygon, shouted), Some(Reason::Burns));
        assert_eq!(reason(Network::Polygon, "0x00000000000000000000000000000000000000aa"), None);
    }

    #[test]
    fn a_token_s_contract_keeps_what_it_gets_on_its_own_network() {
        let usdt = "0xc2132D05D31c914a87C6611C10748AEb04B58e8F";
        assert_eq!(reason(Network::Polygon, usdt), Some(Reason::TokenContract("USDT")));
        assert_eq!(reason(Network::Ethereum, usdt), None);
    }
}
