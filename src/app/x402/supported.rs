//! The facilitator's offer, for anyone.

use super::resources::{Page, ResourceError};
use crate::{
    app::Gateway,
    x402::{Version, name},
};

/// A version of the protocol on a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    pub version: Version,
    pub network: String,
}

/// Everything that a program needs to find its way.
#[derive(Debug)]
pub struct Discovery {
    pub kinds: Vec<Kind>,
    /// The address that pays the gas, on all networks.
    pub signer: Option<String>,
    pub page: Page,
}

impl Gateway {
    /// Every version on every network that has a name in it.
    pub fn x402_kinds(&self) -> Vec<Kind> {
        let chains =
            self.x402_networks().into_iter().filter_map(|network| self.x402_chain_id(network));
        let of_chain = |chain_id| {
            Version::ALL.into_iter().filter_map(move |version| {
                Some(Kind { version, network: name::of(version, chain_id)? })
            })
        };
        chains.flat_map(of_chain).collect()
    }

    /// The address of the wallet that pays the gas, which needs no key to be known: operators send
    /// it coins.
    pub fn x402_gas_address(&self) -> Option<String> {
        self.x402_key.as_ref()?.address(0).ok()
    }

    /// The kinds, the signer and the first page of the catalogue.
    pub async fn x402_discovery(
        &self,
        limit: i64,
        offset: i64,
    ) -> Result<Discovery, ResourceError> {
        let page = self.x402_catalogue(None, limit, offset).await?;
        let signer = self.x402_gas_address();
        Ok(Discovery { kinds: self.x402_kinds(), signer, page })
    }
}
