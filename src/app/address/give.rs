//! A fresh address for one payment, derived from public material only.

use uuid::Uuid;

use crate::app::Gateway;
use crate::{
    asset::{
        Family,
        address::{self, AccountKey},
    },
    storage::{
        PgConnection, StorageError,
        addresses::{self, NewAddress},
        pools,
    },
};

#[derive(Debug, thiserror::Error)]
pub enum NoAddress {
    #[error("no {family} key is configured")]
    NoKey { family: &'static str },
    /// The currency is not offered until an operator fills the pool.
    #[error("the pool of {family} addresses is empty")]
    PoolEmpty { family: &'static str },
    #[error("the {family} key gives no address {index}")]
    NotDerivable { family: &'static str, index: i64 },
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl NoAddress {
    /// The reason for which the market found no address in `family`.
    pub(crate) const fn of(family: Family) -> Self {
        let name = family.name();
        if family.has_pool() {
            Self::PoolEmpty { family: name }
        } else {
            Self::NoKey { family: name }
        }
    }
}

impl Gateway {
    /// Takes the next address of `family`. Call it in the transaction that gives it an owner.
    pub(crate) async fn give_address(
        &self,
        connection: &mut PgConnection,
        family: Family,
    ) -> Result<NewAddress, NoAddress> {
        if !family.has_pool() {
            let index = addresses::next_index(connection, family).await?;
            return self.address_at(family, index);
        }
        let taken = pools::take(connection, family).await?;
        let (index, text) = taken.ok_or_else(|| NoAddress::PoolEmpty { family: family.name() })?;
        Ok(new_address(family, index, text))
    }

    /// Takes the next address for an order of payouts. Its index is taken from the same sequence as
    /// those of invoices, so that no index has an address in two accounts; its key is another
    /// account's.
    pub(crate) async fn give_payout_address(
        &self,
        connection: &mut PgConnection,
        family: Family,
    ) -> Result<NewAddress, NoAddress> {
        let index = addresses::next_index(connection, family).await?;
        derived(self.payout_keys.get(&family), family, index)
    }

    /// The address at an index that was taken for it.
    pub(crate) fn address_at(&self, family: Family, index: i64) -> Result<NewAddress, NoAddress> {
        derived(self.account_keys.get(&family), family, index)
    }
}

fn derived(key: Option<&AccountKey>, family: Family, index: i64) -> Result<NewAddress, NoAddress> {
    let name = family.name();
    let key = key.ok_or(NoAddress::NoKey { family: name })?;
    let derived = u32::try_from(index).ok().and_then(|n| key.address(n).ok());
    let text = derived.ok_or(NoAddress::NotDerivable { family: name, index })?;
    Ok(new_address(family, index, text))
}

fn new_address(family: Family, derivation_index: i64, address: String) -> NewAddress {
    let match_key = address::match_key(family, &address);
    NewAddress { id: Uuid::now_v7(), family, derivation_index, address, match_key }
}
