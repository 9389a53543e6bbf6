//! The sources this program knows, as one type.

use secrecy::SecretString;

use super::{
    Block, BlockRef, ChainError, ChainSource, Transfer, evm::EvmSource, rpc::EndpointError,
    simulated::SimulatedSource,
};
use crate::{asset::Network, money::BaseUnits, storage::Db};

pub enum Source {
    Simulated(SimulatedSource),
    Evm(EvmSource),
}

/// A network's configuration gives no source.
#[derive(Debug, thiserror::Error)]
pub enum UnusableSource {
    #[error("{0} has no rpc_url")]
    NoUrl(Network),
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

impl Source {
    pub fn simulated(network: Network, db: Db) -> Self {
        Self::Simulated(SimulatedSource::new(network, db))
    }

    /// `chain_id` overrides the network's own, for test chains.
    pub fn evm(
        network: Network,
        rpc_url: Option<&SecretString>,
        chain_id: Option<u64>,
    ) -> Result<Self, UnusableSource> {
        let source = EvmSource::new(network, rpc_url.ok_or(UnusableSource::NoUrl(network))?)?;
        Ok(Self::Evm(match chain_id {
            Some(id) => source.with_chain_id(id),
            None => source,
        }))
    }
}

impl ChainSource for Source {
    fn network(&self) -> Network {
        match self {
            Self::Simulated(source) => source.network(),
            Self::Evm(source) => source.network(),
        }
    }

    async fn head(&self) -> Result<BlockRef, ChainError> {
        match self {
            Self::Simulated(source) => source.head().await,
            Self::Evm(source) => source.head().await,
        }
    }

    async fn header(&self, height: u64) -> Result<Option<BlockRef>, ChainError> {
        match self {
            Self::Simulated(source) => source.header(height).await,
            Self::Evm(source) => source.header(height).await,
        }
    }

    async fn block(&self, height: u64) -> Result<Option<Block>, ChainError> {
        match self {
            Self::Simulated(source) => source.block(height).await,
            Self::Evm(source) => source.block(height).await,
        }
    }

    async fn mempool(&self) -> Result<Vec<Transfer>, ChainError> {
        match self {
            Self::Simulated(source) => source.mempool().await,
            Self::Evm(source) => source.mempool().await,
        }
    }

    async fn native_balances(
        &self,
        at: &BlockRef,
        addresses: &[String],
    ) -> Result<Option<Vec<BaseUnits>>, ChainError> {
        match self {
            Self::Simulated(source) => source.native_balances(at, addresses).await,
            Self::Evm(source) => source.native_balances(at, addresses).await,
        }
    }
}
