//! Links that open a payment in the app of a common wallet, by that wallet's own documents.
//!
//! They need no account with anybody and tell nobody but the wallet of the payment. A wallet that
//! is not installed shows its own page instead. Sources: MetaMask "Use deeplinks", Trust Wallet
//! "Deep Linking" and "Universal asset id", Keeper "Deep linking into Keeper".

use super::payment_uri::{Request, encoded};
use crate::{
    asset::{Family, Network},
    money::BaseUnits,
};

/// A link and the wallet that it opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletLink {
    pub wallet: &'static str,
    pub url: String,
}

/// The links of a payment; none on a test chain, whose coins wallets would take for real ones, and
/// none if nothing is to be sent.
pub fn wallet_links(request: &Request<'_>) -> Vec<WalletLink> {
    let network = request.currency.network;
    let is_test_chain = network.evm_chain_id() != request.chain_id;
    if is_test_chain || request.amount == BaseUnits::ZERO {
        return Vec::new();
    }
    let links = [
        ("MetaMask", metamask(request)),
        ("Trust Wallet", trust(request)),
        ("Keeper", keeper(request)),
    ];
    let link =
        |(wallet, url): (&'static str, Option<String>)| url.map(|url| WalletLink { wallet, url });
    links.into_iter().filter_map(link).collect()
}

/// EIP-681 with another beginning.
fn metamask(request: &Request<'_>) -> Option<String> {
    let chain_id = request.chain_id?;
    let (address, units) = (encoded(request.address), request.amount.get());
    Some(match request.currency.contract {
        None => format!("https://link.metamask.io/send/{address}@{chain_id}?value={units}"),
        Some(token) => {
            let token = encoded(token);
            format!(
                "https://link.metamask.io/send/{token}@{chain_id}/transfer?address={address}&uint256={units}"
            )
        }
    })
}

/// The amount is in whole coins there.
fn trust(request: &Request<'_>) -> Option<String> {
    let coin = match request.currency.network {
        Network::Bitcoin => 0,
        Network::Litecoin => 2,
        Network::Dogecoin => 3,
        Network::Ethereum => 60,
        Network::Polygon => 966,
        Network::Bsc => 20_000_714,
        Network::Arbitrum => 10_042_221,
        Network::Optimism => 10_000_070,
        Network::Base => 8_453,
        Network::Avalanche => 10_009_000,
        Network::Tron => 195,
        Network::Solana => 501,
        // Their tokens have other identifiers there.
        Network::Near | Network::Ton | Network::Thorchain => return None,
    };
    let token = request.currency.contract.map(|token| format!("_t{}", encoded(token)));
    let token = token.unwrap_or_default();
    let address = encoded(request.address);
    let amount = request.amount.to_decimal(u32::from(request.currency.decimals));
    Some(format!(
        "https://link.trustwallet.com/send?asset=c{coin}{token}&address={address}&amount={amount}"
    ))
}

/// Unlike other wallets of TON it takes jettons.
fn keeper(request: &Request<'_>) -> Option<String> {
    if request.currency.family() != Family::Ton {
        return None;
    }
    let (address, units) = (encoded(request.address), request.amount.get());
    let jetton = request.currency.contract.map(|token| format!("&jetton={}", encoded(token)));
    let jetton = jetton.unwrap_or_default();
    Some(format!("https://app.tonkeeper.com/transfer/{address}?amount={units}{jetton}"))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use expect_test::expect;

    use super::*;
    use crate::asset::catalogue::Catalogue;

    fn links_of(token_id: &str, address: &str, amount: &str, chain_id: Option<u64>) -> String {
        let currency = Catalogue::get().by_token_id(token_id).unwrap();
        let amount = BaseUnits::parse(amount, u32::from(currency.decimals)).unwrap();
        let mut text = String::new();
        for link in wallet_links(&Request { currency, chain_id, address, amount }) {
            writeln!(text, "{}: {}", link.wallet, link.url).unwrap();
        }
        text
    }

    #[test]
    fn each_wallet_has_its_own_links() {
        const EVM: &str = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359";
        let table: String = [
            ("btc@bitcoin", "bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu", "0.01"),
            ("eth@ethereum", EVM, "2.014"),
            ("usdtmatic@polygon", EVM, "25.5"),
            ("usdtbsc@bsc", EVM, "25.5"),
            ("usdttrc20@tron", "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC", "25"),
            ("sol@solana", "mvines9iiHiQTysrwkJjGf2gb9Ex9jXJX8ns3qwf2kN", "1.5"),
            ("usdtton@ton", "UQAWzEKcdnykvXfUNouqdS62tvrp32bCxuKS6eQrS6ISgZ8t", "1.5"),
            ("rune@thorchain", "thor1cr8te4kr609gcawutmrza0j4xv80jy8zrtn07d", "3"),
        ]
        .into_iter()
        .map(|(token_id, address, amount)| {
            let network = Catalogue::get().by_token_id(token_id).unwrap().network;
            links_of(token_id, address, amount, network.evm_chain_id())
        })
        .collect();
        expect![[r#"
            Trust Wallet: https://link.trustwallet.com/send?asset=c0&address=bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu&amount=0.01
            MetaMask: https://link.metamask.io/send/0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359@1?value=2014000000000000000
            Trust Wallet: https://link.trustwallet.com/send?asset=c60&address=0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359&amount=2.014
            MetaMask: https://link.metamask.io/send/0xc2132D05D31c914a87C6611C10748AEb04B58e8F@137/transfer?address=0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359&uint256=25500000
            Trust Wallet: https://link.trustwallet.com/send?asset=c966_t0xc2132D05D31c914a87C6611C10748AEb04B58e8F&address=0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359&amount=25.5
            MetaMask: https://link.metamask.io/send/0x55d398326f99059fF775485246999027B3197955@56/transfer?address=0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359&uint256=25500000000000000000
            Trust Wallet: https://link.trustwallet.com/send?asset=c20000714_t0x55d398326f99059fF775485246999027B3197955&address=0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359&amount=25.5
            Trust Wallet: https://link.trustwallet.com/send?asset=c195_tTR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t&address=TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC&amount=25
            Trust Wallet: https://link.trustwallet.com/send?asset=c501&address=mvines9iiHiQTysrwkJjGf2gb9Ex9jXJX8ns3qwf2kN&amount=1.5
            Keeper: https://app.tonkeeper.com/transfer/UQAWzEKcdnykvXfUNouqdS62tvrp32bCxuKS6eQrS6ISgZ8t?amount=1500000&jetton=EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs
        "#]]
        .assert_eq(&table);
    }

    #[test]
    fn no_wallet_is_sent_to_a_test_chain_and_no_address_adds_a_parameter() {
        let evm = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359";
        assert_eq!(links_of("eth@ethereum", evm, "1", Some(31_337)), "");
        let odd = links_of("btc@bitcoin", "bc1q&amount=9?x=%20", "0.01", None);
        assert!(odd.contains("bc1q%26amount%3D9%3Fx%3D%2520&amount=0.01"), "{odd}");
    }
}
