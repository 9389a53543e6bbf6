//! Parameters in which the three networks differ.

use crate::asset::{Network, Realm};

/// One of the networks, or a test chain that follows its rules.
#[derive(Debug, Clone)]
pub(super) struct Chain {
    pub network: Network,
    pub realm: Realm,
    /// The hash of the first block: no other chain has it.
    pub genesis: String,
    /// Confirmations before a coinbase can be spent.
    pub coinbase_maturity: u64,
    pub has_extension_block: bool,
}

/// Confirmations before coins pegged out of litecoin's extension block can be spent.
pub(super) const PEG_OUT_MATURITY: u64 = 6;

impl Chain {
    /// `None` for a network of another family.
    pub fn of(network: Network) -> Option<Self> {
        let (genesis, coinbase_maturity) = match network {
            Network::Bitcoin => {
                ("000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f", 100)
            }
            Network::Litecoin => {
                ("12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2", 100)
            }
            Network::Dogecoin => {
                ("1a91e3dace36e2be3bf030a65679fe821aa1d6ef92e7c9902eb318182c355691", 240)
            }
            Network::Ethereum
            | Network::Polygon
            | Network::Bsc
            | Network::Arbitrum
            | Network::Optimism
            | Network::Base
            | Network::Avalanche
            | Network::Tron
            | Network::Solana
            | Network::Near
            | Network::Ton
            | Network::Thorchain => return None,
        };
        Some(Self {
            network,
            realm: Realm::Main,
            genesis: genesis.to_owned(),
            coinbase_maturity,
            has_extension_block: network == Network::Litecoin,
        })
    }
}
