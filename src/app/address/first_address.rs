//! Check of the key from which addresses are derived. A wrong key gives valid addresses too, but
//! their funds could not be spent.

use std::time::Duration;

use crate::app::{Gateway, within};
use crate::{
    asset::{Family, address},
    config::Config,
    storage::{StorageError, pools},
};

/// The time that a start waits for the database to list the pools.
const POOLS_LIMIT: Duration = Duration::from_secs(5);

/// The first address of a family differs from the configured one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the first {family} address is {found}, not {expected} as addresses.expected_first_address.{family} says: one of the two is of another wallet"
)]
pub struct WrongFirstAddress {
    pub family: &'static str,
    pub found: String,
    pub expected: String,
}

/// Compares `found` with the expected first address of `family`, if there is one.
pub(crate) fn compare(
    config: &Config,
    family: Family,
    found: &str,
) -> Result<(), WrongFirstAddress> {
    let expected = config.addresses.expected_first_address.get(family.name());
    let Some(expected) = expected else { return Ok(()) };
    if address::match_key(family, found) == address::match_key(family, expected) {
        return Ok(());
    }
    let (found, expected) = (found.to_owned(), expected.clone());
    Err(WrongFirstAddress { family: family.name(), found, expected })
}

impl Gateway {
    /// First address that the configuration expects of a family, if any.
    pub(crate) fn expected_first(&self, family: Family) -> Option<&str> {
        self.config.addresses.expected_first_address.get(family.name()).map(String::as_str)
    }

    /// Address of the family's key at index 0; `None` without a key, and for families with a pool.
    pub(crate) fn derived_first(&self, family: Family) -> Option<String> {
        self.account_keys.get(&family)?.address(0).ok()
    }

    /// Compares `found` with the expected first address of `family`.
    pub(crate) fn check_first(&self, family: Family, found: &str) -> Result<(), WrongFirstAddress> {
        compare(&self.config, family, found)
    }

    /// Checks the lowest index of every family with a pool, if the database answers in time.
    /// Otherwise the process starts anyway: pools are checked again wherever addresses are taken
    /// from them.
    pub(crate) async fn check_first_of_pools(&self) -> Result<(), WrongFirstAddress> {
        if !Family::ALL.into_iter().any(|f| f.has_pool() && self.expected_first(f).is_some()) {
            return Ok(());
        }
        let tops = within::<_, StorageError>(POOLS_LIMIT, async {
            pools::tops(&mut *self.db.connection().await?).await
        });
        let tops = tops.await.unwrap_or_else(|error| {
            tracing::warn!(%error, "pools were not compared with the first addresses expected");
            Vec::new()
        });
        for top in tops {
            if let Some(first) = top.first {
                self.check_first(top.family, &first)?;
            }
        }
        Ok(())
    }
}
