//! Balances that addresses should have according to the rows.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::{
    asset::{
        Network,
        catalogue::{Catalogue, Currency},
    },
    money::BaseUnits,
    storage::{
        PgConnection, StorageError,
        balances::{self, DueAddress},
        payouts::held::{self, Moved},
        sweeps,
    },
};

/// Expected balances of several addresses, up to one height.
pub(super) struct Expected {
    network: Network,
    received: HashMap<(Uuid, String), BaseUnits>,
    moved: HashMap<(Uuid, String), Moved>,
    /// Amounts that sweeps took, their fees included.
    swept: HashMap<(Uuid, String), BaseUnits>,
    /// Addresses with payments or sweeps that are not final, whose cost is therefore still unknown.
    moving: HashSet<Uuid>,
}

impl Expected {
    pub async fn load(
        connection: &mut PgConnection,
        network: Network,
        due: &[DueAddress],
        height: u64,
    ) -> Result<Self, StorageError> {
        let ids: Vec<_> = due.iter().map(|address| address.id).collect();
        let orders = due.iter().filter(|address| address.of_order);
        let orders: Vec<_> = orders.map(|address| address.id).collect();
        // Pending payments are read first: a payment that ends between the two queries is counted,
        // and one that begins has not reached that height.
        let mut moving = held::moving(connection, &orders).await?;
        moving.extend(sweeps::held::moving(connection, network, &ids).await?);
        let coin = Catalogue::get().native(network).token_id();
        let moved = held::moved(connection, network, &coin, &orders, height).await?;
        let swept = sweeps::held::taken(connection, network, &coin, &ids, height).await?;
        let received = balances::received(connection, network, &ids, height).await?;
        Ok(Self { network, received, moved, swept, moving })
    }

    /// The expected balance; `None` if it is unknown at this moment.
    pub fn of(&self, currency: &Currency, address: &DueAddress) -> Option<BaseUnits> {
        if self.moving.contains(&address.id) {
            return None;
        }
        let key = (address.id, currency.token_id());
        let received = self.received.get(&key).copied().unwrap_or(BaseUnits::ZERO);
        let moved = self.moved.get(&key).copied().unwrap_or_default();
        let swept = self.swept.get(&key).copied().unwrap_or(BaseUnits::ZERO);
        let came = [self.start(currency, address), moved.came];
        let sum = came.into_iter().fold(received, BaseUnits::saturating_add);
        Some(sum.remaining_after(moved.went.saturating_add(swept)))
    }

    /// Balance of the address before it was given out; only for the coin of the network it was
    /// given for.
    fn start(&self, currency: &Currency, address: &DueAddress) -> BaseUnits {
        let own = currency.is_native() && address.network == self.network.name();
        address.start.filter(|_| own).unwrap_or(BaseUnits::ZERO)
    }
}
