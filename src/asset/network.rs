//! The fifteen networks of the specification.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Chain on which a buyer can pay. Its name is the API's `network`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    Bitcoin,
    Litecoin,
    Dogecoin,
    Ethereum,
    Polygon,
    Bsc,
    Arbitrum,
    Optimism,
    Base,
    Avalanche,
    Tron,
    Solana,
    Near,
    Ton,
    Thorchain,
}

/// Networks that share an address format and one sequence of derivation indices.
///
/// All EVM chains are one family: an index used on one of them is used on all, so a payment on the
/// wrong chain can still be attributed to its invoice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Family {
    Bitcoin,
    Litecoin,
    Dogecoin,
    Evm,
    Tron,
    Solana,
    Near,
    Ton,
    Thorchain,
}

impl Network {
    pub const ALL: [Self; 15] = [
        Self::Bitcoin,
        Self::Litecoin,
        Self::Dogecoin,
        Self::Ethereum,
        Self::Polygon,
        Self::Bsc,
        Self::Arbitrum,
        Self::Optimism,
        Self::Base,
        Self::Avalanche,
        Self::Tron,
        Self::Solana,
        Self::Near,
        Self::Ton,
        Self::Thorchain,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Bitcoin => "bitcoin",
            Self::Litecoin => "litecoin",
            Self::Dogecoin => "dogecoin",
            Self::Ethereum => "ethereum",
            Self::Polygon => "polygon",
            Self::Bsc => "bsc",
            Self::Arbitrum => "arbitrum",
            Self::Optimism => "optimism",
            Self::Base => "base",
            Self::Avalanche => "avalanche",
            Self::Tron => "tron",
            Self::Solana => "solana",
            Self::Near => "near",
            Self::Ton => "ton",
            Self::Thorchain => "thorchain",
        }
    }

    /// Name of the network in wallets and exchanges.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Bitcoin => "Bitcoin",
            Self::Litecoin => "Litecoin",
            Self::Dogecoin => "Dogecoin",
            Self::Ethereum => "Ethereum",
            Self::Polygon => "Polygon",
            Self::Bsc => "BNB Smart Chain",
            Self::Arbitrum => "Arbitrum One",
            Self::Optimism => "OP Mainnet",
            Self::Base => "Base",
            Self::Avalanche => "Avalanche C-Chain",
            Self::Tron => "TRON",
            Self::Solana => "Solana",
            Self::Near => "NEAR",
            Self::Ton => "TON",
            Self::Thorchain => "THORChain",
        }
    }

    pub const fn family(self) -> Family {
        match self {
            Self::Bitcoin => Family::Bitcoin,
            Self::Litecoin => Family::Litecoin,
            Self::Dogecoin => Family::Dogecoin,
            Self::Ethereum
            | Self::Polygon
            | Self::Bsc
            | Self::Arbitrum
            | Self::Optimism
            | Self::Base
            | Self::Avalanche => Family::Evm,
            Self::Tron => Family::Tron,
            Self::Solana => Family::Solana,
            Self::Near => Family::Near,
            Self::Ton => Family::Ton,
            Self::Thorchain => Family::Thorchain,
        }
    }

    /// Families whose addresses are valid on this network: its own, and on NEAR those of EVM
    /// chains, which it accepts as accounts of the same key. No other two families share a
    /// spelling.
    pub const fn address_families(self) -> &'static [Family] {
        match self {
            Self::Bitcoin => &[Family::Bitcoin],
            Self::Litecoin => &[Family::Litecoin],
            Self::Dogecoin => &[Family::Dogecoin],
            Self::Ethereum
            | Self::Polygon
            | Self::Bsc
            | Self::Arbitrum
            | Self::Optimism
            | Self::Base
            | Self::Avalanche => &[Family::Evm],
            Self::Tron => &[Family::Tron],
            Self::Solana => &[Family::Solana],
            Self::Near => &[Family::Near, Family::Evm],
            Self::Ton => &[Family::Ton],
            Self::Thorchain => &[Family::Thorchain],
        }
    }

    /// The EIP-155 chain id, for EVM networks.
    pub const fn evm_chain_id(self) -> Option<u64> {
        match self {
            Self::Ethereum => Some(1),
            Self::Polygon => Some(137),
            Self::Bsc => Some(56),
            Self::Arbitrum => Some(42_161),
            Self::Optimism => Some(10),
            Self::Base => Some(8_453),
            Self::Avalanche => Some(43_114),
            Self::Bitcoin
            | Self::Litecoin
            | Self::Dogecoin
            | Self::Tron
            | Self::Solana
            | Self::Near
            | Self::Ton
            | Self::Thorchain => None,
        }
    }
}

impl Network {
    /// Returns true if each transaction also pays a data fee on the chain below, in addition to its
    /// gas (the OP stack).
    pub const fn charges_for_data(self) -> bool {
        matches!(self, Self::Optimism | Self::Base)
    }
}

impl Family {
    pub const ALL: [Self; 9] = [
        Self::Bitcoin,
        Self::Litecoin,
        Self::Dogecoin,
        Self::Evm,
        Self::Tron,
        Self::Solana,
        Self::Near,
        Self::Ton,
        Self::Thorchain,
    ];

    /// Returns true if addresses come from a pool, because they cannot be derived from public
    /// material.
    pub const fn has_pool(self) -> bool {
        matches!(self, Self::Solana | Self::Near)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Bitcoin => "bitcoin",
            Self::Litecoin => "litecoin",
            Self::Dogecoin => "dogecoin",
            Self::Evm => "evm",
            Self::Tron => "tron",
            Self::Solana => "solana",
            Self::Near => "near",
            Self::Ton => "ton",
            Self::Thorchain => "thorchain",
        }
    }
}

/// A text that names no network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown network")]
pub struct UnknownNetwork;

impl FromStr for Network {
    type Err = UnknownNetwork;

    fn from_str(text: &str) -> Result<Self, UnknownNetwork> {
        Self::ALL.into_iter().find(|network| network.name() == text).ok_or(UnknownNetwork)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
