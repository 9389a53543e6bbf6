//! What a merchant decides before he has signed: build it anew, or give it up.

use uuid::Uuid;

use super::{
    NcPayoutError, allowed,
    build::Plan,
    read::{locked, view},
};
use crate::{
    app::Gateway,
    nc_payout::{
        FeeLevel,
        lifecycle::{self, Event, Verdict},
    },
    storage::{
        self, StorageError,
        nc_payouts::{self, Standing, coins, parts},
    },
};

impl Gateway {
    /// Builds a payout anew, with the nonces and the fees of now, another level of fees if one is named, and a new deadline.
    /// What was signed of the earlier one is of no use any more. On bitcoin-like networks both spend the same.
    pub async fn refresh_nc_payout(
        &self,
        merchant_id: Uuid,
        payout_id: &str,
        fee_level: Option<FeeLevel>,
    ) -> Result<String, NcPayoutError> {
        let (payout, parts) = self.nc_payout(merchant_id, payout_id).await?;
        let mut connection = self.db.connection().await?;
        let now = storage::now(&mut connection).await?;
        let inputs = coins::of_payout(&mut connection, payout.id).await?;
        drop(connection);
        let asked = Event::RefreshRequested;
        allowed(payout.state, &lifecycle::step(payout.state, payout.expires_at, asked, now))?;
        let fee_level = fee_level.unwrap_or(payout.fee_level);
        let outputs = parts.outputs.iter().map(|one| (one.address.as_str(), one.amount)).collect();
        let (currency, sender) = (payout.currency, payout.sender.as_str());
        let plan = Plan { currency, sender, fee_level, outputs, inputs: &inputs };
        let built = self.build_nc_payout(&plan).await?;

        let mut tx = self.db.begin().await?;
        let (payout, _) = locked(&mut tx, payout.id).await?;
        let now = storage::now(&mut tx).await?;
        // It may have been signed meanwhile.
        allowed(payout.state, &lifecycle::step(payout.state, payout.expires_at, asked, now))?;
        parts::rebuild(&mut tx, payout.id, &built.transactions).await?;
        let expires_at = now + self.signing_window();
        nc_payouts::rebuilt(&mut tx, payout.id, fee_level, expires_at).await?;
        let (payout, parts) = locked(&mut tx, payout.id).await?;
        let body = view(&payout, &parts, self.required(payout.currency.network)).snapshot();
        tx.commit().await.map_err(StorageError::from)?;
        Ok(body)
    }

    /// Gives up a payout that nobody has signed.
    pub async fn cancel_nc_payout(
        &self,
        merchant_id: Uuid,
        payout_id: &str,
    ) -> Result<String, NcPayoutError> {
        let (payout, _) = self.nc_payout(merchant_id, payout_id).await?;
        let mut tx = self.db.begin().await?;
        let (mut payout, parts) = locked(&mut tx, payout.id).await?;
        let now = storage::now(&mut tx).await?;
        let asked = Event::CancelRequested;
        let step = lifecycle::step(payout.state, payout.expires_at, asked, now);
        allowed(payout.state, &step)?;
        if step.verdict == Verdict::Moved {
            let standing = Standing { state: step.state, look_at: now, changed: true };
            payout = nc_payouts::set_standing(&mut tx, payout.id, standing).await?;
        }
        let body = view(&payout, &parts, self.required(payout.currency.network)).snapshot();
        tx.commit().await.map_err(StorageError::from)?;
        Ok(body)
    }
}
