//! Address pools generated elsewhere: import of signed files, and the remaining stock.

use std::collections::HashSet;

use super::first_address::WrongFirstAddress;
use crate::app::Gateway;
use crate::{
    asset::{
        Family, Network,
        address::{
            pool::{PoolFile, PoolFileError, PoolSigner},
            sandbox,
        },
    },
    config::ChainSourceKind,
    storage::{
        PgConnection, StorageError, audit,
        pools::{self, Pool},
    },
};

/// Rows per statement; a file is one transaction.
const CHUNK: usize = 5_000;

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("addresses.pool_signer is not set: it names the key that must have signed the file")]
    NoSigner,
    #[error(transparent)]
    File(#[from] PoolFileError),
    #[error(
        "indices {first} to {last} overlap what the pool of {network} had before; its next file begins at {next}"
    )]
    Overlap { network: Network, first: i64, last: i64, next: i64 },
    #[error(
        "the file begins at {first} and the pool of {network} goes on at {next}: export from {next} on"
    )]
    Gap { network: Network, first: i64, next: i64 },
    #[error("{address} was given to a buyer before; the file is of an older wallet or database")]
    Given { address: String },
    #[error(transparent)]
    First(#[from] WrongFirstAddress),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Result of an import.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub struct Imported {
    pub network: Network,
    pub first: i64,
    pub count: usize,
    pub free: i64,
}

/// Source of a family's addresses, and its position.
#[derive(Debug, Clone)]
pub struct AddressState {
    pub family: Family,
    /// The family's networks that are followed.
    pub networks: Vec<Network>,
    pub origin: Origin,
    /// The first index that was never given out.
    pub next: i64,
    pub given: i64,
    pub given_last_day: i64,
    /// The address at index 0 of a key, or at the lowest index of a pool.
    pub first: Option<String>,
    pub wrong_first: Option<WrongFirstAddress>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Key,
    /// No key is configured, so there are no addresses.
    Nothing,
    Pool {
        free: i64,
    },
}

impl AddressState {
    /// True if an address is available for the next buyer.
    pub fn is_usable(&self) -> bool {
        let some = match self.origin {
            Origin::Key => true,
            Origin::Nothing => false,
            Origin::Pool { free } => free > 0,
        };
        some && self.wrong_first.is_none()
    }
}

impl Gateway {
    fn pool_signer(&self) -> Result<PoolSigner, ImportError> {
        let configured = self.config.addresses.pool_signer.as_deref();
        let signer = match configured {
            Some(text) => PoolSigner::parse(text).ok(),
            None if self.config.is_sandbox() => sandbox::pool_signer(),
            None => None,
        };
        signer.ok_or(ImportError::NoSigner)
    }

    /// Adds the addresses of a signed file to their pool: all of them, or none.
    pub async fn import_addresses(&self, text: &str, by: &str) -> Result<Imported, ImportError> {
        let file = PoolFile::read(text, &self.pool_signer()?)?;
        let (network, family) = (file.network, file.network.family());
        let count = file.addresses.len();
        let first = i64::from(file.first);
        let mut tx = self.db.begin().await?;
        pools::lock(&mut tx, family).await?;
        let pool = pools::load(&mut tx, family).await?;
        self.check_place(&file, &pool)?;
        if let Some(address) = pools::given_before(&mut tx, family, &file.addresses).await? {
            return Err(ImportError::Given { address });
        }
        let mut at = first;
        for chunk in file.addresses.chunks(CHUNK) {
            pools::add(&mut tx, family, at, chunk).await?;
            at += i64::try_from(chunk.len()).unwrap_or(i64::MAX);
        }
        let detail = format!("indices {first} to {}", at - 1);
        audit::note(&mut tx, ("address_pool", "import"), network.name(), by, &detail).await?;
        tx.commit().await.map_err(StorageError::from)?;
        let count_added = i64::try_from(count).unwrap_or(i64::MAX);
        Ok(Imported { network, first, count, free: pool.free + count_added })
    }

    /// Indices must only grow and leave no gap, so that a wallet's search for its coins finds them
    /// all.
    fn check_place(&self, file: &PoolFile, pool: &Pool) -> Result<(), ImportError> {
        let (network, family) = (file.network, file.network.family());
        let first = i64::from(file.first);
        let last = first + i64::try_from(file.addresses.len()).unwrap_or(i64::MAX) - 1;
        if first < pool.next {
            return Err(ImportError::Overlap { network, first, last, next: pool.next });
        }
        if pool.first.is_some() && first > pool.next {
            return Err(ImportError::Gap { network, first, next: pool.next });
        }
        if pool.first.is_none()
            && let Some(address) = file.addresses.first()
        {
            self.check_first(family, address)?;
        }
        Ok(())
    }

    /// Families with a pool that has free addresses, all of them of the expected wallet.
    pub(crate) async fn usable_pools(
        &self,
        connection: &mut PgConnection,
    ) -> Result<HashSet<Family>, StorageError> {
        let mut usable = HashSet::new();
        for top in pools::tops(connection).await? {
            let right = top.first.is_none_or(|first| self.check_first(top.family, &first).is_ok());
            if top.has_free && right {
                usable.insert(top.family);
            }
        }
        Ok(usable)
    }

    /// Sources of the addresses of every family and their remaining stock, in the order of
    /// [`Family::ALL`].
    pub async fn address_states(&self) -> Result<Vec<AddressState>, StorageError> {
        let mut connection = self.db.connection().await?;
        let mut states = Vec::new();
        for family in Family::ALL {
            let given = pools::given(&mut connection, family).await?;
            let (origin, next, first) = if family.has_pool() {
                let pool = pools::load(&mut connection, family).await?;
                (Origin::Pool { free: pool.free }, pool.next, pool.first)
            } else {
                let first = self.derived_first(family);
                let origin = if first.is_some() { Origin::Key } else { Origin::Nothing };
                (origin, given.next, first)
            };
            let wrong_first =
                first.as_deref().and_then(|first| self.check_first(family, first).err());
            let on = |network: &Network| {
                network.family() == family
                    && self.config.chain(*network).source != ChainSourceKind::Off
            };
            states.push(AddressState {
                family,
                networks: Network::ALL.into_iter().filter(on).collect(),
                origin,
                next,
                given: given.count,
                given_last_day: given.last_day,
                first,
                wrong_first,
            });
        }
        Ok(states)
    }
}
