//! Payment URIs for QR codes and links, in each network's own convention.
//!
//! A URI contains the address, the network and the exact amount, so that the buyer types nothing.
//! For a network without a convention that wallets agree on there is none, and the QR code is the
//! bare address.

use std::fmt::Write;

use crate::{
    asset::{
        Family,
        catalogue::{Currency, Standard},
    },
    money::BaseUnits,
};

/// Recipient, currency and amount of a payment.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub currency: &'a Currency,
    /// The EIP-155 chain id, on EVM networks.
    pub chain_id: Option<u64>,
    pub address: &'a str,
    pub amount: BaseUnits,
}

/// Returns the URI of `request`; `None` if its network has no convention in wide use.
pub fn payment_uri(request: &Request<'_>) -> Option<String> {
    let Request { currency, address, amount, .. } = *request;
    let address = encoded(address);
    let coins = amount.to_decimal(u32::from(currency.decimals));
    match currency.family() {
        // BIP-21, in whole coins.
        Family::Bitcoin => Some(format!("bitcoin:{address}?amount={coins}")),
        Family::Litecoin => Some(format!("litecoin:{address}?amount={coins}")),
        Family::Dogecoin => Some(format!("dogecoin:{address}?amount={coins}")),
        Family::Evm => eip_681(request, &address),
        // Solana Pay, in whole coins; the recipient is the wallet, never a token account.
        Family::Solana => {
            let mut uri = format!("solana:{address}?amount={coins}");
            if let Some(mint) = currency.contract {
                let _infallible = write!(uri, "&spl-token={}", encoded(mint));
            }
            Some(uri)
        }
        // A wallet that does not know `jetton=` would send as many nanoton, so a jetton gets its
        // bare address.
        Family::Ton => (currency.standard == Standard::Native)
            .then(|| format!("ton://transfer/{address}?amount={}", amount.get())),
        Family::Tron | Family::Near | Family::Thorchain => None,
    }
}

/// Base units in decimal digits; the scheme is `ethereum:` on every EVM network.
fn eip_681(request: &Request<'_>, address: &str) -> Option<String> {
    let (chain_id, units) = (request.chain_id?, request.amount.get());
    Some(match request.currency.contract {
        None => format!("ethereum:{address}@{chain_id}?value={units}"),
        Some(token) => {
            let token = encoded(token);
            format!("ethereum:{token}@{chain_id}/transfer?address={address}&uint256={units}")
        }
    })
}

/// Returns true if wallets of this network handle the URI better than the bare address.
///
/// Scanners of EVM wallets read EIP-681 unevenly, older ones even pay the token's contract, and
/// exchanges read only a bare address (trustwallet/wallet-core#4651,
/// MetaMask/metamask-mobile#1018).
pub const fn uri_comes_first(family: Family) -> bool {
    match family {
        Family::Bitcoin | Family::Litecoin | Family::Dogecoin | Family::Solana | Family::Ton => {
            true
        }
        Family::Evm | Family::Tron | Family::Near | Family::Thorchain => false,
    }
}

/// Encodes everything but RFC 3986's unreserved characters as `%XX`, so that no address can add a
/// parameter.
pub(super) fn encoded(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _infallible = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::asset::{Network, catalogue::Catalogue};

    fn uri_of(token_id: &str, address: &str, amount: &str) -> String {
        let currency = Catalogue::get().by_token_id(token_id).unwrap();
        let amount = BaseUnits::parse(amount, u32::from(currency.decimals)).unwrap();
        let chain_id = currency.network.evm_chain_id();
        payment_uri(&Request { currency, chain_id, address, amount }).unwrap_or("-".into())
    }

    /// The forms of BIP-21, EIP-681, Solana Pay and TON's own documentation.
    #[test]
    fn each_network_has_its_own_convention() {
        const EVM: &str = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359";
        let table: String = [
            ("btc@bitcoin", "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", "0.01"),
            ("ltc@litecoin", "ltc1qjmxnz78nmc8nq77wuxh25n2es7rzm5c2rkk4wh", "1.5"),
            ("doge@dogecoin", "DBus3bamQjgJULBJtYXpEzDWQRwF5iwxgC", "100"),
            ("eth@ethereum", EVM, "2.014"),
            ("pol@polygon", EVM, "0.000000000000000001"),
            ("usdtmatic@polygon", EVM, "25.5"),
            ("usdtbsc@bsc", EVM, "25.5"),
            ("usdcbase@base", EVM, "0.000001"),
            ("avax@avalanche", EVM, "1"),
            ("sol@solana", "mvines9iiHiQTysrwkJjGf2gb9Ex9jXJX8ns3qwf2kN", "1.5"),
            ("usdcsol@solana", "mvines9iiHiQTysrwkJjGf2gb9Ex9jXJX8ns3qwf2kN", "0.01"),
            ("ton@ton", "UQAWzEKcdnykvXfUNouqdS62tvrp32bCxuKS6eQrS6ISgZ8t", "1.5"),
            ("usdtton@ton", "UQAWzEKcdnykvXfUNouqdS62tvrp32bCxuKS6eQrS6ISgZ8t", "1.5"),
            ("usdttrc20@tron", "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC", "25"),
            ("near@near", "98793cd91a3f870fb126f66285808c7e094afcfc4eda8a970f6648cdf0dbd6de", "3"),
            ("rune@thorchain", "thor1cr8te4kr609gcawutmrza0j4xv80jy8zrtn07d", "3"),
        ]
        .into_iter()
        .map(|(token_id, address, amount)| format!("{}\n", uri_of(token_id, address, amount)))
        .collect();
        expect![[r#"
            bitcoin:bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu?amount=0.01
            litecoin:ltc1qjmxnz78nmc8nq77wuxh25n2es7rzm5c2rkk4wh?amount=1.5
            dogecoin:DBus3bamQjgJULBJtYXpEzDWQRwF5iwxgC?amount=100
            ethereum:0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359@1?value=2014000000000000000
            ethereum:0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359@137?value=1
            ethereum:0xc2132D05D31c914a87C6611C10748AEb04B58e8F@137/transfer?address=0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359&uint256=25500000
            ethereum:0x55d398326f99059fF775485246999027B3197955@56/transfer?address=0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359&uint256=25500000000000000000
            ethereum:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913@8453/transfer?address=0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359&uint256=1
            ethereum:0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359@43114?value=1000000000000000000
            solana:mvines9iiHiQTysrwkJjGf2gb9Ex9jXJX8ns3qwf2kN?amount=1.5
            solana:mvines9iiHiQTysrwkJjGf2gb9Ex9jXJX8ns3qwf2kN?amount=0.01&spl-token=EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v
            ton://transfer/UQAWzEKcdnykvXfUNouqdS62tvrp32bCxuKS6eQrS6ISgZ8t?amount=1500000000
            -
            -
            -
            -
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn an_address_cannot_inject_a_uri_parameter() {
        let uri = uri_of("btc@bitcoin", "bc1q?amount=9&x=%20 ü", "0.01");
        assert_eq!(uri, "bitcoin:bc1q%3Famount%3D9%26x%3D%2520%20%C3%BC?amount=0.01");
    }

    #[test]
    fn every_currency_has_a_uri_or_a_network_without_one() {
        for currency in Catalogue::get().all() {
            let chain_id = currency.network.evm_chain_id();
            let amount = BaseUnits::new(1);
            let request = Request { currency, chain_id, address: "a", amount };
            let expected =
                !matches!(currency.network, Network::Tron | Network::Near | Network::Thorchain)
                    && currency.standard != Standard::Jetton;
            assert_eq!(payment_uri(&request).is_some(), expected, "{}", currency.token_id());
            assert!(expected || !uri_comes_first(currency.family()) || !currency.is_native());
        }
    }
}
