//! The sources this program knows, as one type.

use chrono::{DateTime, Utc};
use secrecy::SecretString;

use super::{
    Block, BlockRef, ChainError, ChainSource, Held, Located, TokenFacts, TransferAsset, Waiting,
    evm::EvmSource, near::NearSource, rpc::EndpointError, simulated::SimulatedSource,
    solana::SolanaSource, thorchain::ThorchainSource, ton::TonSource, tron::TronSource,
    utxo::UtxoSource,
};
use crate::{
    asset::{Family, Network},
    money::BaseUnits,
    storage::Db,
};

pub enum Source {
    Simulated(SimulatedSource),
    Evm(EvmSource),
    Solana(SolanaSource),
    Ton(TonSource),
    Tron(TronSource),
    Near(NearSource),
    Thorchain(ThorchainSource),
    Utxo(UtxoSource),
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

    /// The adapter of `network`'s family over its node. `chain_id` and `genesis` (the hash of its
    /// first block) name a test chain where its family has such a name.
    pub fn node(
        network: Network,
        url: &SecretString,
        chain_id: Option<u64>,
        genesis: Option<&str>,
    ) -> Result<Self, UnusableSource> {
        match network.family() {
            Family::Evm => {
                let source = EvmSource::new(network, url)?;
                Ok(Self::Evm(match chain_id {
                    Some(id) => source.with_chain_id(id),
                    None => source,
                }))
            }
            Family::Solana => {
                let source = SolanaSource::new(network, url)?;
                Ok(Self::Solana(match genesis {
                    Some(genesis) => source.with_test_cluster(genesis),
                    None => source,
                }))
            }
            Family::Ton => {
                let source = TonSource::new(network, url)?;
                Ok(Self::Ton(match chain_id {
                    Some(id) => source.with_chain_id(id),
                    None => source,
                }))
            }
            Family::Tron => Ok(Self::Tron(TronSource::new(url)?)),
            Family::Near => Ok(Self::Near(NearSource::new(url)?)),
            Family::Thorchain => Ok(Self::Thorchain(ThorchainSource::new(url)?)),
            Family::Bitcoin | Family::Litecoin | Family::Dogecoin => {
                let source = UtxoSource::new(network, url)?;
                Ok(Self::Utxo(match genesis {
                    Some(genesis) => source.with_test_chain(genesis),
                    None => source,
                }))
            }
        }
    }
}

impl Source {
    /// Asks the node at `url` for balances, on networks where the node of blocks knows none: NEAR.
    pub fn with_state(self, url: &SecretString) -> Result<Self, UnusableSource> {
        Ok(match self {
            Self::Near(source) => Self::Near(source.with_state(url)?),
            other @ (Self::Simulated(_)
            | Self::Evm(_)
            | Self::Solana(_)
            | Self::Ton(_)
            | Self::Tron(_)
            | Self::Thorchain(_)
            | Self::Utxo(_)) => other,
        })
    }
}

/// The same call on whichever source this is.
macro_rules! on_each {
    ($self:expr, $source:ident => $call:expr) => {
        match $self {
            Self::Simulated($source) => $call,
            Self::Evm($source) => $call,
            Self::Solana($source) => $call,
            Self::Ton($source) => $call,
            Self::Tron($source) => $call,
            Self::Near($source) => $call,
            Self::Thorchain($source) => $call,
            Self::Utxo($source) => $call,
        }
    };
}

impl ChainSource for Source {
    fn network(&self) -> Network {
        on_each!(self, source => source.network())
    }

    fn blocks_at_once(&self) -> u32 {
        on_each!(self, source => source.blocks_at_once())
    }

    async fn head(&self) -> Result<BlockRef, ChainError> {
        on_each!(self, source => source.head().await)
    }

    async fn header(&self, height: u64) -> Result<Option<BlockRef>, ChainError> {
        on_each!(self, source => source.header(height).await)
    }

    async fn block(&self, height: u64) -> Result<Option<Block>, ChainError> {
        on_each!(self, source => source.block(height).await)
    }

    async fn mempool(&self) -> Result<Waiting, ChainError> {
        on_each!(self, source => source.mempool().await)
    }

    async fn dated_through(&self, head: &BlockRef) -> Result<DateTime<Utc>, ChainError> {
        on_each!(self, source => source.dated_through(head).await)
    }

    async fn native_balances(
        &self,
        at: &BlockRef,
        addresses: &[String],
    ) -> Result<Option<Vec<BaseUnits>>, ChainError> {
        on_each!(self, source => source.native_balances(at, addresses).await)
    }

    async fn locate(&self, tx_hash: &str) -> Result<Located, ChainError> {
        on_each!(self, source => source.locate(tx_hash).await)
    }

    async fn holdings(
        &self,
        at: &BlockRef,
        addresses: &[String],
        assets: &[TransferAsset],
    ) -> Result<Option<Held>, ChainError> {
        on_each!(self, source => source.holdings(at, addresses, assets).await)
    }

    async fn token(&self, contract: &str) -> Result<Option<TokenFacts>, ChainError> {
        on_each!(self, source => source.token(contract).await)
    }
}
