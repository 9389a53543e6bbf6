//! Fills the pools of networks whose addresses cannot be derived from public material (Solana,
//! NEAR).

use crate::app::Gateway;
use crate::{
    asset::{Network, address::sandbox},
    storage::{StorageError, pools},
};

const FILL_MAX: u32 = 100_000;
const CHUNK: usize = 5_000;

#[derive(Debug, thiserror::Error)]
pub enum FillError {
    #[error("addresses of {0} are derived from its public key; it needs no pool")]
    NoPool(Network),
    #[error(
        "only the sandbox makes its own addresses; production imports signed files: gatewayctl addresses import"
    )]
    Production,
    #[error("at most {FILL_MAX} addresses at a time")]
    TooMany,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Filled {
    pub added: usize,
    pub free: i64,
}

impl Gateway {
    /// Adds `count` addresses of the published test phrase to the pool of `network`. Sandbox only:
    /// the phrase is public, so their funds can be spent by anyone.
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
        let mut tx = self.db.begin().await?;
        pools::lock(&mut tx, family).await?;
        let pool = pools::load(&mut tx, family).await?;
        let first = u32::try_from(pool.next).map_err(|_| FillError::TooMany)?;
        let made =
            (first..first.saturating_add(count)).map_while(|n| sandbox::pool_address(family, n));
        let made: Vec<_> = made.collect();
        let mut at = pool.next;
        for chunk in made.chunks(CHUNK) {
            pools::add(&mut tx, family, at, chunk).await?;
            at += i64::try_from(chunk.len()).unwrap_or(i64::MAX);
        }
        tx.commit().await.map_err(StorageError::from)?;
        Ok(Filled { added: made.len(), free: pool.free + at - pool.next })
    }
}
