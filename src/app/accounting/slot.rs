//! A merchant's slot for an export: taken before the export is read, free once it is sent.
//!
//! A file is made in a task of its own. Its caller may hang up, but the query goes on in the
//! database with a connection of the pool; until it has ended, neither the slot nor the room for
//! exports may look free.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::Instrument;
use uuid::Uuid;

use super::{
    export::{ExportError, Request, TIME_MAX},
    give_way::GiveWay,
    report::{ReportError, ReportFormat},
    spool::Spooled,
};
use crate::{
    app::Gateway,
    storage::{StorageError, exports::slots},
};

/// Its holder renews it, so that only a slot of a program that died waits for this.
const LEASE_SECONDS: i32 = 60;
/// Several tries before the lease ends.
const RENEWED_EVERY: Duration = Duration::from_secs(LEASE_SECONDS.unsigned_abs() as u64 / 3);

/// A client has the last byte of its file a moment before the slot is free: whoever asks for one
/// export after the other is not told that two are under way.
const FREED_WITHIN: Duration = Duration::from_secs(1);
const TRIED_EVERY: Duration = Duration::from_millis(50);

/// A slot that is held until this is dropped.
pub struct ExportSlot {
    gateway: Arc<Gateway>,
    _held: DropGuard,
}

/// A complete file, with the slot that is held until the file is sent.
pub type HeldFile = (Spooled, ExportSlot);

impl ExportSlot {
    /// For sending the file.
    pub fn gives_way(&self) -> GiveWay {
        self.gateway.gives_way()
    }
}

impl Gateway {
    /// Makes an export in one of its merchant's slots.
    pub async fn export_held(self: &Arc<Self>, request: &Request) -> Result<HeldFile, ExportError> {
        let (gateway, request) = (self.clone(), request.clone());
        let merchant_id = request.merchant_id;
        self.in_slot(merchant_id, async move { gateway.export(&request).await }).await
    }

    /// Reads the file of a report in one of its merchant's slots; `None` if there is no report of
    /// this month.
    pub async fn report_held(
        self: &Arc<Self>,
        merchant_id: Uuid,
        month: &str,
        format: ReportFormat,
    ) -> Result<Option<HeldFile>, ReportError> {
        let (gateway, month) = (self.clone(), month.to_owned());
        let read = async move {
            let read = gateway.report_file(merchant_id, &month, format);
            let read = tokio::time::timeout(TIME_MAX, read).await;
            read.unwrap_or_else(|_| Err(ExportError::TooSlow.into()))
        };
        let (spooled, slot) = self.in_slot(merchant_id, read).await?;
        Ok(spooled.map(|spooled| (spooled, slot)))
    }

    /// Takes a slot and does `work` in it, to its end even if the caller is gone.
    async fn in_slot<T, E>(
        self: &Arc<Self>,
        merchant_id: Uuid,
        work: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<(T, ExportSlot), E>
    where
        T: Send + 'static,
        E: From<ExportError> + Send + 'static,
    {
        let gateway = self.clone();
        let held = async move {
            let slot = gateway.take_export_slot(merchant_id).await?;
            let made = work.await?;
            Ok::<_, E>((made, slot))
        };
        let made = tokio::spawn(held.in_current_span()).await;
        // The task ends early only by a panic, or with the runtime.
        made.unwrap_or_else(|_| Err(ExportError::from(StorageError::TimedOut).into()))
    }

    async fn take_export_slot(
        self: &Arc<Self>,
        merchant_id: Uuid,
    ) -> Result<ExportSlot, ExportError> {
        let taken_by = Uuid::now_v7();
        let until = Instant::now() + FREED_WITHIN;
        while !self.try_export_slot(merchant_id, taken_by).await? {
            if Instant::now() >= until {
                return Err(ExportError::NoSlot);
            }
            tokio::time::sleep(TRIED_EVERY).await;
        }
        let dropped = CancellationToken::new();
        let held = dropped.clone().drop_guard();
        tokio::spawn(keep(self.clone(), merchant_id, taken_by, dropped));
        Ok(ExportSlot { gateway: self.clone(), _held: held })
    }

    async fn try_export_slot(&self, merchant: Uuid, taken_by: Uuid) -> Result<bool, StorageError> {
        let mut connection = self.db.connection().await?;
        slots::take(&mut connection, merchant, taken_by, LEASE_SECONDS).await
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
