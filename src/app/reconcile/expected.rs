//! What addresses should hold, as the rows tell it.

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
    },
};

/// Of several addresses, up to one height.
pub(super) struct Expected {
    network: Network,
    received: HashMap<(Uuid, String), BaseUnits>,
    moved: HashMap<(Uuid, String), Moved>,
    /// Their payments are not final, so nobody knows yet what these took.
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
        // First what is under way: what ends between the two is counted, and what begins has not reached that height.
        let moving = held::moving(connection, &orders).await?;
        let coin = Catalogue::get().native(network).token_id();
        let moved = held::moved(connection, network, &coin, &orders, height).await?;
        let received = balances::received(connection, network, &ids, height).await?;
        Ok(Self { network, received, moved, moving })
    }

    /// `None` if that is not known at this moment.
    pub fn of(&self, currency: &Currency, address: &DueAddress) -> Option<BaseUnits> {
        if self.moving.contains(&address.id) {
            return None;
        }
        let key = (address.id, currency.token_id());
        let received = self.received.get(&key).copied().unwrap_or(BaseUnits::ZERO);
        let moved = self.moved.get(&key).copied().unwrap_or_default();
        let came = [self.start(currency, address), moved.came];
        let sum = came.into_iter().try_fold(received, BaseUnits::checked_add);
        Some(sum.unwrap_or(BaseUnits::new(u128::MAX)).remaining_after(moved.went))
    }

    /// What it held before it was anybody's; only of the coin of the network it was given for.
    fn start(&self, currency: &Currency, address: &DueAddress) -> BaseUnits {
        let own = currency.is_native() && address.network == self.network.name();
        address.start.filter(|_| own).unwrap_or(BaseUnits::ZERO)
    }
}
