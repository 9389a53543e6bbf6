//! A merchant's slot for an export: taken before the export is read, free once it is sent.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use crate::{
    app::Gateway,
    storage::{StorageError, exports::slots},
};

/// Its holder renews it, so that only a slot of a program that died waits for this.
const LEASE_SECONDS: i32 = 60;
/// Several tries before the lease ends.
const RENEWED_EVERY: Duration = Duration::from_secs(LEASE_SECONDS.unsigned_abs() as u64 / 3);

/// A slot that is held until this is dropped.
pub struct ExportSlot {
    _held: DropGuard,
}

impl Gateway {
    /// Takes one of a merchant's slots for exports; `None` if all are taken.
    pub async fn take_export_slot(
        self: &Arc<Self>,
        merchant_id: Uuid,
    ) -> Result<Option<ExportSlot>, StorageError> {
        let taken_by = Uuid::now_v7();
        let mut connection = self.db.connection().await?;
        if !slots::take(&mut connection, merchant_id, taken_by, LEASE_SECONDS).await? {
            return Ok(None);
        }
        drop(connection);
        let dropped = CancellationToken::new();
        let held = dropped.clone().drop_guard();
        tokio::spawn(keep(self.clone(), merchant_id, taken_by, dropped));
        Ok(Some(ExportSlot { _held: held }))
    }

    async fn renew_export_slot(&self, merchant: Uuid, taken_by: Uuid) -> Result<(), StorageError> {
        let mut connection = self.db.connection().await?;
        slots::renew(&mut connection, merchant, taken_by, LEASE_SECONDS).await
    }

    async fn free_export_slot(&self, merchant: Uuid, taken_by: Uuid) -> Result<(), StorageError> {
        let mut connection = self.db.connection().await?;
        slots::free(&mut connection, merchant, taken_by).await
    }
}

async fn keep(
    gateway: Arc<Gateway>,
    merchant_id: Uuid,
    taken_by: Uuid,
    dropped: CancellationToken,
) {
    loop {
        tokio::select! {
            () = dropped.cancelled() => break,
            () = tokio::time::sleep(RENEWED_EVERY) => {
                if let Err(error) = gateway.renew_export_slot(merchant_id, taken_by).await {
                    tracing::warn!(%error, "the slot of an export was not renewed");
                }
            }
        }
    }
    if let Err(error) = gateway.free_export_slot(merchant_id, taken_by).await {
        tracing::warn!(%error, "the slot of an export is free only when its lease ends");
    }
}
