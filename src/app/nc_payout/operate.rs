//! The operators' view of non-custodial payouts. Operators change nothing: the money and the key
//! are the merchant's.

use uuid::Uuid;

use super::{NcPayoutError, read::view};
use crate::{
    app::Gateway,
    nc_payout::State,
    storage::{
        StorageError,
        nc_payouts::{
            self, NcPayout, coins,
            parts::{self, Parts},
        },
    },
};

/// Everything about one payout.
pub struct NcStory {
    pub payout: NcPayout,
    pub parts: Parts,
    /// Its inputs on bitcoin-like networks, as `txid:n`.
    pub inputs: Vec<String>,
    /// The object in the merchant's API.
    pub object: String,
}

impl Gateway {
    /// Payouts of one merchant or of all, open ones first, each with its parts.
    pub async fn list_all_nc_payouts(
        &self,
        merchant_id: Option<Uuid>,
        state: Option<State>,
        limit: i64,
    ) -> Result<Vec<(NcPayout, Parts)>, StorageError> {
        let mut connection = self.db.connection().await?;
        let payouts = nc_payouts::list(&mut connection, merchant_id, state, limit).await?;
        let ids: Vec<_> = payouts.iter().map(|payout| payout.id).collect();
        let mut parts = parts::of_payouts(&mut connection, &ids).await?;
        let with_parts = |payout: NcPayout| {
            let parts = parts.remove(&payout.id).unwrap_or_default();
            (payout, parts)
        };
        Ok(payouts.into_iter().map(with_parts).collect())
    }

    /// Everything about one payout of any merchant.
    pub async fn explain_nc_payout(&self, payout_id: &str) -> Result<NcStory, NcPayoutError> {
        let mut connection = self.db.connection().await?;
        let payout = nc_payouts::find(&mut connection, payout_id).await?;
        let payout = payout.ok_or(NcPayoutError::NotFound)?;
        let parts = parts::of_payout(&mut connection, payout.id).await?;
        let inputs = coins::of_payout(&mut connection, payout.id).await?;
        let required = self.required_of_nc(&payout);
        let object = view(&payout, &parts, required).snapshot();
        Ok(NcStory { payout, parts, inputs, object })
    }
}
