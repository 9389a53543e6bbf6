//! Payouts in the view of their merchant.

use uuid::Uuid;

use super::NcPayoutError;
use crate::{
    app::Gateway,
    asset::address::evm,
    nc_payout::{
        State,
        view::{OutputView, PayoutView, TransactionView},
    },
    payout::transfer,
    storage::{
        PgConnection, StorageError,
        nc_payouts::{
            self, NcPayout,
            parts::{self, OutputRow, Parts, TransactionRow},
        },
    },
};

impl Gateway {
    /// A payout's object.
    pub async fn read_nc_payout(
        &self,
        merchant_id: Uuid,
        payout_id: &str,
    ) -> Result<String, NcPayoutError> {
        let (payout, parts) = self.nc_payout(merchant_id, payout_id).await?;
        Ok(view(&payout, &parts, self.required_of_nc(&payout)).snapshot())
    }

    /// One page of a merchant's payouts as objects, newest first, and their total number.
    pub async fn list_nc_payouts(
        &self,
        merchant_id: Uuid,
        state: Option<State>,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<String>, i64), NcPayoutError> {
        let mut connection = self.db.connection().await?;
        let (payouts, total) =
            nc_payouts::page(&mut connection, merchant_id, state, limit, offset).await?;
        let ids: Vec<_> = payouts.iter().map(|payout| payout.id).collect();
        let mut parts = parts::of_payouts(&mut connection, &ids).await?;
        let body = |payout: &NcPayout| {
            let parts = parts.remove(&payout.id).unwrap_or_default();
            view(payout, &parts, self.required_of_nc(payout)).snapshot()
        };
        Ok((payouts.iter().map(body).collect(), total))
    }

    pub(super) async fn nc_payout(
        &self,
        merchant_id: Uuid,
        payout_id: &str,
    ) -> Result<(NcPayout, Parts), NcPayoutError> {
        let mut connection = self.db.connection().await?;
        let found = nc_payouts::of_merchant(&mut connection, merchant_id, payout_id).await?;
        let payout = found.ok_or(NcPayoutError::NotFound)?;
        let parts = parts::of_payout(&mut connection, payout.id).await?;
        Ok((payout, parts))
    }
}

/// A payout with its parts, its row locked.
pub(super) async fn locked(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<(NcPayout, Parts), StorageError> {
    let payout = nc_payouts::lock(connection, id).await?;
    let payout =
        payout.ok_or_else(|| StorageError::damaged("nc_payout", "it was here a moment ago"))?;
    let parts = parts::of_payout(connection, id).await?;
    Ok((payout, parts))
}

pub(super) fn view(payout: &NcPayout, parts: &Parts, required_confirmations: u64) -> PayoutView {
    let from = transfer::address_bytes(&payout.sender).map(|bytes| evm::checksummed(&bytes));
    PayoutView {
        id: payout.payout_id.clone(),
        state: payout.state,
        currency: payout.currency,
        chain_id: payout.chain_id,
        from_address: from.unwrap_or_else(|| payout.sender.clone()),
        fee_level: payout.fee_level,
        outputs: parts.outputs.iter().map(output).collect(),
        transactions: parts.transactions.iter().map(transaction).collect(),
        required_confirmations,
        expires_at: payout.expires_at,
        created_at: payout.created_at,
        submitted_at: payout.submitted_at,
        ended_at: payout.ended_at,
        updated_at: payout.updated_at,
    }
}

fn output(row: &OutputRow) -> OutputView {
    OutputView {
        address: row.address.clone(),
        amount: row.amount,
        reference: row.reference.clone(),
    }
}

fn transaction(row: &TransactionRow) -> TransactionView {
    TransactionView {
        unsigned: row.unsigned.clone(),
        state: row.state,
        tx_hash: row.tx_hash.clone(),
        confirmations: u64::try_from(row.confirmations).unwrap_or(0),
        fee: row.fee,
        error: row.problem.as_ref().map(|problem| problem.as_str().to_owned()),
    }
}
