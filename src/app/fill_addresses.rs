//! Filling the pools of networks whose addresses cannot be derived from public material (Solana, NEAR).

use super::Gateway;
use crate::{
    asset::{Network, address::sandbox},
    storage::{StorageError, addresses},
};

const FILL_MAX: u32 = 100_000;
const CHUNK: u32 = 1_000;

#[derive(Debug, thiserror::Error)]
pub enum FillError {
    #[error("addresses of {0} are derived from its public key; it needs no pool")]
    NoPool(Network),
    #[error(
        "only the sandbox makes its own addresses; production imports those that the signer made"
    )]
    Production,
    #[error("at most {FILL_MAX} addresses at a time")]
    TooMany,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Filled {
    pub added: u64,
    pub free: i64,
}

impl Gateway {
    /// Adds `count` addresses of the published test phrase to the pool of `network`. Sandbox only: anybody can spend
    /// from them.
    pub async fn fill_addresses(&self, network: Network, count: u32) -> Result<Filled, FillError> {
        let family = network.family();
        if !family.has_pool() {
            return Err(FillError::NoPool(network));
        }
        if !self.config.is_sandbox() {
            return Err(FillError::Production);
        }
        if count > FILL_MAX {
            return Err(FillError::TooMany);
        }
        let mut connection = self.db.connection().await?;
        let (_, next) = addresses::pool_level(&mut connection, family).await?;
        let first = u32::try_from(next).map_err(|_| FillError::TooMany)?;
        let end = first.saturating_add(count);
        let (mut added, mut start) = (0, first);
        while start < end {
            let stop = end.min(start + CHUNK);
            let made = (start..stop).filter_map(|index| {
                Some((i64::from(index), sandbox::pool_address(family, index)?))
            });
            let (indices, made): (Vec<_>, Vec<_>) = made.unzip();
            added += addresses::fill_pool(&mut connection, family, &indices, &made).await?;
            start = stop;
        }
        let (free, _) = addresses::pool_level(&mut connection, family).await?;
        Ok(Filled { added, free })
    }
}
