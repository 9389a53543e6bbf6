//! Resources and settlements of a merchant, page by page, for the dashboard.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    app::Gateway,
    asset::Network,
    money::BaseUnits,
    storage::{
        StorageError,
        payment_search::Side,
        x402::{
            lists::{self, Filter, ListedSettlement},
            resources::{self, Resource},
        },
    },
    x402,
};

/// A place in a list, and the side of it that is read.
type Place = (Side, DateTime<Utc>, Uuid);

impl Gateway {
    /// Up to `limit` resources that are sold, or that are switched off; the newest first.
    pub async fn x402_resources_beside(
        &self,
        merchant_id: Uuid,
        is_off: bool,
        place: Place,
        limit: i64,
    ) -> Result<Vec<Resource>, StorageError> {
        let mut connection = self.db.connection().await?;
        lists::resources(&mut connection, (merchant_id, is_off), place, limit).await
    }

    /// A resource of a merchant, also one that is switched off.
    pub async fn known_x402_resource(
        &self,
        merchant_id: Uuid,
        resource_id: &str,
    ) -> Result<Option<Resource>, StorageError> {
        let mut connection = self.db.connection().await?;
        resources::known(&mut connection, merchant_id, resource_id).await
    }

    /// Up to `limit` settlements; the newest first.
    pub async fn x402_settlements_beside(
        &self,
        merchant_id: Uuid,
        filter: &Filter,
        place: Place,
        limit: i64,
    ) -> Result<Vec<ListedSettlement>, StorageError> {
        let mut connection = self.db.connection().await?;
        lists::settlements(&mut connection, merchant_id, filter, place, limit).await
    }
}

/// An amount of a network's token of x402, for people.
pub fn in_coins(network: Network, units: BaseUnits) -> String {
    match x402::token_of(network) {
        Some(token) => {
            format!("{} {}", units.to_decimal(u32::from(token.decimals)), token.symbol)
        }
        None => format!("{} base units", units.get()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_told_in_coins_of_its_network() {
        assert_eq!(in_coins(Network::Polygon, BaseUnits::new(10_000)), "0.01 USDC");
        assert_eq!(in_coins(Network::Bsc, BaseUnits::new(7)), "7 base units");
    }
}
