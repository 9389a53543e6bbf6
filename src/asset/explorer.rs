//! Public block explorers: where people look a transaction or an address up.
//!
//! Links only; nothing is read from there. A link may stop working without any effect here.

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

    #[test]
    fn a_hash_can_lead_nowhere_else() {
        let url = |hash| transaction_url(Network::Ton, hash);
        assert_eq!(url("a+b/c="), "https://tonscan.org/tx/a%2Bb%2Fc%3D");
        assert_eq!(url("?x#\"é"), "https://tonscan.org/tx/%3Fx%23%22%C3%A9");
    }
}
