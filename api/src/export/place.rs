//! A merchant's place for an export: taken before it is read, given back once it is sent.

use std::time::Duration;

use gateway::app::accounting::export::LEASE_SECONDS;
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use crate::{State, error::ApiError};

/// Several tries before the lease ends.
const RENEWED_EVERY: Duration = Duration::from_secs(LEASE_SECONDS.unsigned_abs() as u64 / 3);

/// A held place. Dropping it gives it back; without this program it ends with its lease.
pub struct Place {
    _held: DropGuard,
}

impl Place {
    pub async fn take(gateway: &State, merchant_id: Uuid) -> Result<Self, ApiError> {
        let taken_by = Uuid::now_v7();
        if !gateway.take_export_slot(merchant_id, taken_by).await? {
            return Err(ApiError::TooManyExports);
        }
        let dropped = CancellationToken::new();
        let held = dropped.clone().drop_guard();
        tokio::spawn(keep(gateway.clone(), merchant_id, taken_by, dropped));
        Ok(Self { _held: held })
    }
}

async fn keep(gateway: State, merchant_id: Uuid, taken_by: Uuid, dropped: CancellationToken) {
    loop {
        tokio::select! {
            () = dropped.cancelled() => break,
            () = tokio::time::sleep(RENEWED_EVERY) => {
                if let Err(error) = gateway.renew_export_slot(merchant_id, taken_by).await {
                    tracing::warn!(%error, "the place of an export was not renewed");
                }
            }
        }
    }
    if let Err(error) = gateway.free_export_slot(merchant_id, taken_by).await {
        tracing::warn!(%error, "the place of an export is free only when its lease ends");
    }
}
