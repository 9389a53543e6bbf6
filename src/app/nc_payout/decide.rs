//! Decisions of a merchant before signing: rebuild or cancel.

use uuid::Uuid;

use super::{
    NcPayoutError, allowed,
    plan::Plan,
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
    /// Rebuilds a payout with current fees, with another fee level if one is named, and with a new
    /// deadline. The nonces stay, as the inputs do on bitcoin-like networks: the merchant may have
    /// signed the earlier build and broadcast it directly, and only one of the two can ever
    /// confirm.
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
        let nonces: Vec<_> =
            parts.transactions.iter().filter_map(|part| part.unsigned.nonce()).collect();
        let (inputs, nonces) = (inputs.as_slice(), nonces.as_slice());
        let plan = Plan { currency, sender, fee_level, outputs, inputs, nonces };
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
        let body = view(&payout, &parts, self.required_of_nc(&payout)).snapshot();
        tx.commit().await.map_err(StorageError::from)?;
        Ok(body)
    }

    /// Cancels a payout that was not signed.
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
        let body = view(&payout, &parts, self.required_of_nc(&payout)).snapshot();
        tx.commit().await.map_err(StorageError::from)?;
        Ok(body)
    }
}
