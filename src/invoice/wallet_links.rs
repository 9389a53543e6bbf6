//! Links that open a payment in the app of a common wallet, by that wallet's own documents.
//!
//! They need no account with anybody and tell nobody but the wallet of the payment. A wallet that
//! is not installed shows its own page instead. Sources: MetaMask "Use deeplinks", Trust Wallet
//! "Deep Linking" and "Universal asset id", Keeper "Deep linking into Keeper".

use super::payment_uri::{Request, encoded, payment_uri};
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

/// The coins of the chain on which a payment is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coins {
    Real,
    /// Of a simulated or a test chain. An app of a wallet would send real ones to its addresses,
    /// which belong to nobody there.
    Play,
}

/// The settings that tell whose coins a chain has.
#[derive(Debug, Clone, Copy)]
pub struct ChainFacts<'a> {
    /// Nothing in a sandbox is meant for real coins: networks without a chain id of their own, such
    /// as TRON, have test networks that look like them.
    pub is_sandbox: bool,
    pub is_followed_by_node: bool,
    pub chain_id: Option<u64>,
    /// The first block, which is named for test chains alone.
    pub genesis: Option<&'a str>,
}

impl Coins {
    /// The coins of a network's chain; real ones only if nothing speaks for a test.
    pub fn of(network: Network, facts: ChainFacts<'_>) -> Self {
        let ChainFacts { is_sandbox, is_followed_by_node, chain_id, genesis } = facts;
        let has_own_id = chain_id.is_none() || chain_id == network.evm_chain_id();
        let is_real = !is_sandbox && is_followed_by_node && has_own_id && genesis.is_none();
        if is_real { Self::Real } else { Self::Play }
    }
}

/// The links of a payment; none for play coins, and none if nothing is to be sent.
pub fn wallet_links(request: &Request<'_>, coins: Coins) -> Vec<WalletLink> {
    if coins == Coins::Play || request.amount == BaseUnits::ZERO {
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

/// The URI of a payment for the code and the link of a page. Play coins have none unless it names
/// their own chain: whoever scans it would open the wallet on the real network, with an address
/// that belongs to nobody there. Of the conventions EIP-681 alone names a chain.
pub fn scannable_uri(request: &Request<'_>, coins: Coins) -> Option<String> {
    let network = request.currency.network;
    let names_its_chain = network.family() == Family::Evm
        && request.chain_id.is_some_and(|id| Some(id) != network.evm_chain_id());
    (coins == Coins::Real || names_its_chain).then(|| payment_uri(request)).flatten()
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
        let facts =
            ChainFacts { is_sandbox: false, is_followed_by_node: true, chain_id, genesis: None };
        let coins = Coins::of(currency.network, facts);
        for link in wallet_links(&Request { currency, chain_id, address, amount }, coins) {
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
    fn a_code_of_play_coins_leads_to_no_real_network() {
        const EVM: &str = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359";
        let uri = |token_id: &str, chain_id, coins| {
            let currency = Catalogue::get().by_token_id(token_id).unwrap();
            let amount = BaseUnits::new(1);
            scannable_uri(&Request { currency, chain_id, address: EVM, amount }, coins)
        };
        for token_id in
            ["eth@ethereum", "usdtmatic@polygon", "btc@bitcoin", "sol@solana", "ton@ton"]
        {
            let network = Catalogue::get().by_token_id(token_id).unwrap().network;
            let chain_id = network.evm_chain_id();
            assert_eq!(uri(token_id, chain_id, Coins::Play), None, "{token_id}");
            assert!(uri(token_id, chain_id, Coins::Real).is_some(), "{token_id}");
            // Of a test chain with an id of its own: EIP-681 alone names it.
            let own = uri(token_id, Some(31_337), Coins::Play);
            assert_eq!(own.is_some(), chain_id.is_some(), "{token_id}");
            assert!(own.is_none_or(|uri| uri.contains("@31337")), "{token_id}");
        }
    }

    #[test]
    fn only_a_network_s_own_chain_that_a_node_follows_has_real_coins() {
        let first = Some("0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206");
        for (network, is_followed_by_node, chain_id, genesis, coins) in [
            (Network::Polygon, true, None, None, Coins::Real),
            (Network::Polygon, true, Some(137), None, Coins::Real),
            (Network::Polygon, true, Some(80_002), None, Coins::Play),
            (Network::Polygon, false, None, None, Coins::Play),
            (Network::Polygon, false, Some(137), None, Coins::Play),
            (Network::Bitcoin, true, None, None, Coins::Real),
            (Network::Bitcoin, true, None, first, Coins::Play),
            (Network::Bitcoin, false, None, None, Coins::Play),
            (Network::Tron, true, None, None, Coins::Real),
        ] {
            let real = ChainFacts { is_sandbox: false, is_followed_by_node, chain_id, genesis };
            assert_eq!(Coins::of(network, real), coins, "{network} {chain_id:?}");
            let sandbox = ChainFacts { is_sandbox: true, ..real };
            assert_eq!(Coins::of(network, sandbox), Coins::Play, "{network}");
        }
    }

    #[test]
    fn no_wallet_is_sent_to_a_test_chain_and_no_address_adds_a_parameter() {
        let evm = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359";
        assert_eq!(links_of("eth@ethereum", evm, "1", Some(31_337)), "");
        let currency = Catalogue::get().by_token_id("eth@ethereum").unwrap();
        let amount = BaseUnits::parse("1", 18).unwrap();
        let request = Request { currency, chain_id: Some(1), address: evm, amount };
        assert_eq!(wallet_links(&request, Coins::Play), []);
        assert_eq!(wallet_links(&request, Coins::Real).len(), 2);
        let odd = links_of("btc@bitcoin", "bc1q&amount=9?x=%20", "0.01", None);
        assert!(odd.contains("bc1q%26amount%3D9%3Fx%3D%2520&amount=0.01"), "{odd}");
    }
}
