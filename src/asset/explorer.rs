//! Public block explorers: where people look a transaction or an address up.
//!
//! Links only; nothing is read from there. A link may stop working without any effect here.
//!
//! Each was compared with public registries: those of EVM networks with `ethereum-lists/chains` and
//! viem's chain definitions, whose pages EIP-3091 defines; the others with their own documents and
//! with wallets that link to them.

use super::Network;

/// What stands for a transaction's hash in a template.
pub const TX_HASH: &str = "{tx_hash}";
/// What stands for an address in a template.
pub const ADDRESS: &str = "{address}";

/// Bytes of a path that are sent as they are; all others are percent-encoded.
const UNRESERVED: &[u8] = b"-._~";

impl Network {
    /// Template of a link to a transaction, with [`TX_HASH`] in it.
    pub const fn explorer_tx_url(self) -> &'static str {
        match self {
            Self::Bitcoin => "https://mempool.space/tx/{tx_hash}",
            Self::Litecoin => "https://litecoinspace.org/tx/{tx_hash}",
            Self::Dogecoin => "https://blockchair.com/dogecoin/transaction/{tx_hash}",
            Self::Ethereum => "https://etherscan.io/tx/{tx_hash}",
            Self::Polygon => "https://polygonscan.com/tx/{tx_hash}",
            Self::Bsc => "https://bscscan.com/tx/{tx_hash}",
            Self::Arbitrum => "https://arbiscan.io/tx/{tx_hash}",
            Self::Optimism => "https://optimistic.etherscan.io/tx/{tx_hash}",
            Self::Base => "https://basescan.org/tx/{tx_hash}",
            Self::Avalanche => "https://snowtrace.io/tx/{tx_hash}",
            Self::Tron => "https://tronscan.org/#/transaction/{tx_hash}",
            Self::Solana => "https://solscan.io/tx/{tx_hash}",
            Self::Near => "https://nearblocks.io/txns/{tx_hash}",
            Self::Ton => "https://tonscan.org/tx/{tx_hash}",
            Self::Thorchain => "https://thorchain.net/tx/{tx_hash}",
        }
    }

    /// Template of a link to an address, with [`ADDRESS`] in it.
    pub const fn explorer_address_url(self) -> &'static str {
        match self {
            Self::Bitcoin => "https://mempool.space/address/{address}",
            Self::Litecoin => "https://litecoinspace.org/address/{address}",
            Self::Dogecoin => "https://blockchair.com/dogecoin/address/{address}",
            Self::Ethereum => "https://etherscan.io/address/{address}",
            Self::Polygon => "https://polygonscan.com/address/{address}",
            Self::Bsc => "https://bscscan.com/address/{address}",
            Self::Arbitrum => "https://arbiscan.io/address/{address}",
            Self::Optimism => "https://optimistic.etherscan.io/address/{address}",
            Self::Base => "https://basescan.org/address/{address}",
            Self::Avalanche => "https://snowtrace.io/address/{address}",
            Self::Tron => "https://tronscan.org/#/address/{address}",
            Self::Solana => "https://solscan.io/account/{address}",
            Self::Near => "https://nearblocks.io/address/{address}",
            Self::Ton => "https://tonscan.org/address/{address}",
            Self::Thorchain => "https://thorchain.net/address/{address}",
        }
    }
}

/// The link to a transaction. The hash is what a node reported, so all but plain characters are
/// encoded: it cannot lead anywhere else.
pub fn transaction_url(network: Network, tx_hash: &str) -> String {
    network.explorer_tx_url().replace(TX_HASH, &encoded(tx_hash))
}

/// The link to a transaction without its hash, which is appended.
pub fn transaction_prefix(network: Network) -> &'static str {
    network.explorer_tx_url().trim_end_matches(TX_HASH)
}

fn encoded(text: &str) -> String {
    let mut path = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || UNRESERVED.contains(&byte) {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_network_has_a_link_with_one_place_for_the_name() {
        for network in Network::ALL {
            for (template, place) in
                [(network.explorer_tx_url(), TX_HASH), (network.explorer_address_url(), ADDRESS)]
            {
                assert!(template.starts_with("https://"), "{template}");
                assert_eq!(template.matches(place).count(), 1, "{template}");
                assert!(template.ends_with(place), "{template}");
            }
        }
    }

    /// Block explorers of EVM networks as `ethereum-lists/chains` has them, by chain id. Their
    /// paths are those of EIP-3091.
    #[test]
    fn evm_links_are_those_of_the_registry_of_chains() {
        let explorers = [
            (1, "https://etherscan.io"),
            (10, "https://optimistic.etherscan.io"),
            (56, "https://bscscan.com"),
            (137, "https://polygonscan.com"),
            (8_453, "https://basescan.org"),
            (42_161, "https://arbiscan.io"),
            (43_114, "https://snowtrace.io"),
        ];
        for network in Network::ALL {
            let Some(id) = network.evm_chain_id() else { continue };
            let explorer = explorers.iter().find(|(known, _)| *known == id).unwrap().1;
            assert_eq!(network.explorer_tx_url(), format!("{explorer}/tx/{TX_HASH}"));
            assert_eq!(network.explorer_address_url(), format!("{explorer}/address/{ADDRESS}"));
        }
    }

    /// Pages of the first block, of a token or of a contract, as people copy them from a browser.
    #[test]
    fn links_have_the_shape_of_the_explorers_own() {
        let pages = [
            (
                Network::Bitcoin,
                "https://mempool.space/tx/4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b",
                "https://mempool.space/address/1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
            ),
            (
                Network::Litecoin,
                "https://litecoinspace.org/tx/97ddfbbae6be97fd6cdf3e7ca13232a3afff2353e29badfab7f73011edd4ced9",
                "https://litecoinspace.org/address/LVg2kJoFNg45Nbpy53h7Fe1wKyeXVRhMH9",
            ),
            (
                Network::Dogecoin,
                "https://blockchair.com/dogecoin/transaction/5b2a3f53f605d62c53e62932dac6925e3d74afa5a4b459745c36d42d0ed26a69",
                "https://blockchair.com/dogecoin/address/DH5yaieqoZN36fDVciNyRueRGvGLR3mr7L",
            ),
            (
                Network::Tron,
                "https://tronscan.org/#/transaction/83fce30de4cb6cf38a20a452e0f66c8581788d5d1ba67becd07c23e150b4c9da",
                "https://tronscan.org/#/address/TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
            ),
            (
                Network::Solana,
                "https://solscan.io/tx/5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW",
                "https://solscan.io/account/EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
            ),
            (
                Network::Near,
                "https://nearblocks.io/txns/2HQ4wrVKJeA7dRwbnAwTc5U5ZpdSqkxj4VD7LxSTdwT8",
                "https://nearblocks.io/address/intents.near",
            ),
            (
                Network::Ton,
                "https://tonscan.org/tx/04bf53d62e438d7d512d4527e33f893a039658a43ca5234d7afb22b36ea1a865",
                "https://tonscan.org/address/EQDBjzo_iQCZh3bZSxFnK9ue4hLTOKgsCNKfC8LOUM4SlSCX",
            ),
            (
                Network::Thorchain,
                "https://thorchain.net/tx/BC12B3B715546053A2D5615ADB4B3C2C648613D44AA9E942F2BDE40AB09EAA86",
                "https://thorchain.net/address/thor1g98cy3n9mmjrpn0sxmn63lztelera37n8n67c0",
            ),
        ];
        for (network, transaction, address) in pages {
            let hash = transaction.rsplit('/').next().unwrap();
            assert_eq!(transaction_url(network, hash), transaction);
            let name = address.rsplit('/').next().unwrap();
            assert_eq!(network.explorer_address_url().replace(ADDRESS, name), address);
        }
        let covered = pages.len() + Network::ALL.iter().filter_map(|n| n.evm_chain_id()).count();
        assert_eq!(covered, Network::ALL.len());
    }

    #[test]
    fn a_hash_can_lead_nowhere_else() {
        let url = |hash| transaction_url(Network::Ton, hash);
        assert_eq!(url("a+b/c="), "https://tonscan.org/tx/a%2Bb%2Fc%3D");
        assert_eq!(url("?x#\"é"), "https://tonscan.org/tx/%3Fx%23%22%C3%A9");
    }
}
