//! Approvals of signed-in operators: a digest of the order and its hold, as the page showed them.

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{bind::terms, errors::OperateError, order::locked};
use crate::{
    app::Gateway,
    asset::Network,
    payout::{binding, limit::Limits},
    storage::{
        PgConnection, StorageError, merchants,
        operator::payout_orders::{self, GasWalletRow, ListedOrder, OrderRow, SignedNow, StopRow},
        payouts::{PayoutOrder, items},
    },
};

/// Rows of an order that its page shows; the digest covers all of them.
const ROWS_SHOWN: i64 = 100;
const AT_WORK_SHOWN: i64 = 50;

/// An order that waits for people, as its page shows it.
pub struct Review {
    pub order: PayoutOrder,
    /// The digest that an approval names.
    pub digest: String,
    pub released_by: Vec<String>,
    pub people_needed: i64,
    /// The first rows.
    pub rows: Vec<OrderRow>,
}

/// Everything around payouts that operators watch.
pub struct PayoutPicture {
    pub stops: Vec<StopRow>,
    pub at_work: Vec<ListedOrder>,
    pub signed: SignedNow,
    pub limits: Limits,
    pub gas_day_usd_max: u64,
    pub gas_wallets: Vec<GasWalletRow>,
    /// Networks on which payouts are offered.
    pub networks: Vec<Network>,
}

impl Gateway {
    /// The digest of an order and its hold, which every change of either changes. The caller holds
    /// the row lock.
    pub(super) async fn digest_of_locked(
        &self,
        tx: &mut PgConnection,
        order: &PayoutOrder,
    ) -> Result<String, StorageError> {
        let rows = items::bound(tx, order.id).await?;
        let held_at = payout_orders::held_at(tx, order.id).await?;
        let mut digest = Sha256::new();
        digest.update(binding::text(&terms(order), &rows));
        let hold = order.held.as_ref().map(|hold| hold.reason());
        digest.update(format!("{:?}", (hold, held_at, order.state, &order.books)));
        Ok(hex::encode(digest.finalize()))
    }

    /// An order with the digest of its page.
    pub async fn review_payout(&self, order_id: &str) -> Result<Review, OperateError> {
        let id = self.known_payout(order_id).await?.id;
        let mut tx = self.db.begin().await?;
        let order = locked(&mut tx, id).await?;
        let digest = self.digest_of_locked(&mut tx, &order).await?;
        let released_by = payout_orders::released_by(&mut tx, id).await?;
        let rows = payout_orders::rows(&mut tx, id, ROWS_SHOWN).await?;
        Ok(Review { order, digest, released_by, people_needed: self.people_needed(), rows })
    }

    /// Held orders after a place, the first held first.
    pub async fn held_payouts(
        &self,
        after: Option<(DateTime<Utc>, Uuid)>,
        limit: i64,
    ) -> Result<Vec<ListedOrder>, StorageError> {
        let mut connection = self.db.connection().await?;
        payout_orders::held(&mut connection, after, limit).await
    }

    /// Stops, work, limits and gas wallets.
    pub async fn payout_picture(&self) -> Result<PayoutPicture, StorageError> {
        let mut connection = self.db.connection().await?;
        let settings = &self.config.payouts;
        let limits = Limits {
            transaction: settings.transaction_usd_max,
            hour: settings.hour_usd_max,
            day: settings.day_usd_max,
            merchant_hour: settings.merchant_hour_usd_max,
            merchant_day: settings.merchant_day_usd_max,
        };
        Ok(PayoutPicture {
            stops: payout_orders::stops(&mut connection).await?,
            at_work: payout_orders::at_work(&mut connection, AT_WORK_SHOWN).await?,
            signed: payout_orders::signed_now(&mut connection).await?,
            limits,
            gas_day_usd_max: settings.gas_day_usd_max,
            gas_wallets: payout_orders::gas_wallets(&mut connection).await?,
            networks: Network::ALL.into_iter().filter(|n| self.config.pays_out_on(*n)).collect(),
        })
    }

    /// A merchant's own limits in USD of an hour and a day; `None` where the settings' hold.
    pub async fn own_payout_limits(
        &self,
        merchant_id: Uuid,
    ) -> Result<merchants::PayoutLimits, StorageError> {
        let mut connection = self.db.connection().await?;
        merchants::payout_limits(&mut connection, merchant_id).await
    }
}
