//! Rules of x402: a program pays for a resource over HTTP, and we are its facilitator. Pure: no
//! clock, no database, no network.
//!
//! [`name`] reads the names of networks, [`wire`] the bodies and headers of both versions of the
//! protocol and [`answer`] writes ours. [`authorization`] is what a payer signs (EIP-3009),
//! [`eip712`] its digest and the recovery of the signer, [`wrapped`] the signatures of wallets that
//! may have no code (EIP-6492), [`call`] the transaction that carries it out. [`check`] decides
//! whether a payment is valid, [`gas`] whether its gas is within the limits, [`settlement`] every
//! state of carrying it out, and [`resource`] is a merchant's entry in the catalogue.

pub mod answer;
pub mod authorization;
pub mod call;
pub mod check;
pub mod eip712;
pub mod gas;
pub mod name;
mod reason;
pub mod resource;
pub mod settlement;
pub mod wire;
mod word;
pub mod wrapped;

pub use reason::Reason;
pub use word::Word;

use crate::asset::{
    Network,
    catalogue::{Catalogue, Currency},
};

/// The one scheme that is offered: the payer authorizes exactly the amount that is asked for.
pub const SCHEME: &str = "exact";

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    V1,
    V2,
}

impl Version {
    pub const ALL: [Self; 2] = [Self::V1, Self::V2];

    /// The value of `x402Version`.
    pub const fn number(self) -> u64 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }

    pub fn from_number(number: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.number() == number)
    }
}

/// The token in which resources are priced on a network: its native USDC, which implements
/// EIP-3009. `None` where it does not: BSC's USDC is a token of its bridge.
pub fn token_of(network: Network) -> Option<&'static Currency> {
    let code = match network {
        Network::Ethereum => "usdcerc20",
        Network::Polygon => "usdcmatic",
        Network::Arbitrum => "usdcarb",
        Network::Optimism => "usdcop",
        Network::Base => "usdcbase",
        Network::Avalanche => "usdcarc20",
        Network::Bitcoin
        | Network::Litecoin
        | Network::Dogecoin
        | Network::Bsc
        | Network::Tron
        | Network::Solana
        | Network::Near
        | Network::Ton
        | Network::Thorchain => return None,
    };
    Catalogue::get().by_token_id(&format!("{code}@{}", network.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_of_x402_has_six_places_and_a_contract() {
        let tokens: Vec<_> = Network::ALL.into_iter().filter_map(token_of).collect();
        assert_eq!(tokens.len(), 6);
        for token in tokens {
            assert_eq!((token.symbol, token.decimals), ("USDC", 6));
            assert!(token.contract.is_some());
        }
        assert_eq!(token_of(Network::Bsc), None);
    }

    #[test]
    fn versions_are_one_and_two() {
        for version in Version::ALL {
            assert_eq!(Version::from_number(version.number()), Some(version));
        }
        assert_eq!(Version::from_number(0), None);
        assert_eq!(Version::from_number(3), None);
    }
}
