//! Making an export: read in one snapshot, written to a file, and only then sent.
//!
//! A slow reader of the answer holds no snapshot, a failure is known before the first byte, and the
//! memory does not grow with the rows.

use std::{pin::pin, time::Duration};

use chrono::{DateTime, Utc};
use futures_util::{Stream, TryStreamExt};
use tokio::runtime::Handle;
use uuid::Uuid;

pub use super::spool::Spooled;
use super::{
    give_way::GiveWay,
    lines::{self, Sums},
    spool::Spool,
};
use crate::app::{Gateway, background};
use crate::{
    accounting::{
        Export, Format, Line, Range, Table,
        file::{Choice, TwoCurrencies},
        freshness::is_fresh,
        report::Totals,
    },
    config::Config,
    storage::{
        self, Db, StorageError, Tx,
        exports::{self as stored, Asked, Snapshot, ledger::After},
    },
};

/// For reading and writing all of it. The snapshot that it holds keeps old rows from being removed.
pub(super) const TIME_MAX: Duration = Duration::from_secs(90);
/// For others, in the reading of an export and again in the sending.
const GIVES_WAY_MAX: Duration = Duration::from_secs(30);
/// For another export of this process to end.
const WAIT_MAX: Duration = Duration::from_secs(20);
/// For a request that an export answers: longer than the export waits and reads.
pub const REQUEST_TIME_MAX: Duration = Duration::from_secs(120);
/// Exports that one process reads at a time: each has a connection of the pool.
pub(crate) const READ_AT_ONCE: usize = 3;
/// Rows after which an export gives way: about a millisecond of work.
const ROWS_TOGETHER: usize = 300;
/// Further tries of an export that a replica cancels.
const TRIES_MORE: u32 = 2;

/// An export as it was asked for.
#[derive(Debug, Clone)]
pub struct Request {
    pub merchant_id: Uuid,
    pub export: Export,
    pub format: Format,
    pub range: Range,
    pub choice: Choice,
}

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    TwoCurrencies(#[from] TwoCurrencies),
    #[error("the export's data cannot be read")]
    Storage(#[from] StorageError),
    #[error("the export's file cannot be written")]
    File(#[from] std::io::Error),
    #[error("the export took longer than {} seconds", TIME_MAX.as_secs())]
    TooSlow,
    #[error("too many exports are being made")]
    Crowded,
    #[error("the merchant has as many exports as may be made or sent at once")]
    NoSlot,
    #[error("the replica for exports has followed up to {reached:?} only")]
    Stale { reached: Option<DateTime<Utc>> },
    #[error("the replica for exports is one of another database")]
    OtherDatabase,
}

impl Gateway {
    /// Reads an export into a file without a name. Faces call [`export_held`](Self::export_held).
    pub async fn export(&self, request: &Request) -> Result<Spooled, ExportError> {
        let room = tokio::time::timeout(WAIT_MAX, self.exports_room.acquire()).await;
        let Ok(Ok(_room)) = room else { return Err(ExportError::Crowded) };
        let made = tokio::time::timeout(TIME_MAX, self.spool(request)).await;
        made.unwrap_or(Err(ExportError::TooSlow))
    }

    /// From the replica, if there is one. Its own work may cancel a snapshot; then another begins.
    async fn spool(&self, request: &Request) -> Result<Spooled, ExportError> {
        let mut tries = 0;
        loop {
            let tx = match &self.exports_db {
                Some(replica) => self.fresh_snapshot(replica, request).await?,
                None => self.db.begin_snapshot().await?,
            };
            match spool_from(tx, request, Sums::default(), self.gives_way()).await {
                Err(ExportError::Storage(error)) if error.is_conflict() && tries < TRIES_MORE => {
                    tries += 1;
                    tracing::info!(%error, "the replica cancelled an export, which begins again");
                }
                made => return made.map(|(spooled, ..)| spooled),
            }
        }
    }

    async fn fresh_snapshot(
        &self,
        replica: &Db,
        request: &Request,
    ) -> Result<Snapshot, ExportError> {
        let mut connection = self.db.connection().await?;
        let present = stored::replica::present(&mut connection).await?;
        drop(connection);
        let mut tx = replica.begin_snapshot().await?;
        let Some(reached) = stored::replica::reached(&mut tx).await? else {
            return Err(ExportError::Stale { reached: None });
        };
        if reached.identity != present.identity {
            return Err(ExportError::OtherDatabase);
        }
        if is_fresh(reached.at, request.range.to, present.at) {
            Ok(tx)
        } else {
            Err(ExportError::Stale { reached: Some(reached.at) })
        }
    }

    /// As [`export`](Self::export) from the primary, with the totals of the ledger and the moment
    /// of the reading.
    pub(super) async fn spool_with_totals(&self, request: &Request) -> Result<Made, ExportError> {
        let (tx, way) = (self.db.begin_snapshot().await?, self.gives_way());
        spool_from(tx, request, Sums::with_totals(), way).await
    }

    pub(super) fn gives_way(&self) -> GiveWay {
        GiveWay::over(&self.db, GIVES_WAY_MAX)
    }

    /// Writes the heartbeat by which a replica shows how far it has followed; `false` if no
    /// replica is configured.
    pub async fn beat_for_exports(&self) -> Result<bool, StorageError> {
        if self.exports_db.is_none() {
            return Ok(false);
        }
        let mut connection = self.db.connection().await?;
        stored::replica::beat(&mut connection).await?;
        Ok(true)
    }
}

/// The replica of the settings, if one is named.
pub(crate) fn replica(config: &Config) -> Result<Option<Db>, StorageError> {
    let connections_max = u32::try_from(READ_AT_ONCE).unwrap_or(1);
    let url = config.exports_database_url();
    url.map(|url| Db::connect_lazy_to_replica(&url, connections_max)).transpose()
}

type Made = (Spooled, Totals, DateTime<Utc>);

async fn spool_from(
    mut tx: Snapshot,
    request: &Request,
    sums: Sums,
    way: GiveWay,
) -> Result<Made, ExportError> {
    let (request, caller) = (request.clone(), Handle::current());
    let work = async move {
        let made = read_and_write(&mut tx, &request, sums, way).await;
        // It only read. A connection that the pool replaces on return must not be opened here.
        let _entered = caller.enter();
        drop(tx);
        made
    };
    background::run(work).await?
}

async fn read_and_write(
    tx: &mut Tx,
    request: &Request,
    mut sums: Sums,
    way: GiveWay,
) -> Result<Made, ExportError> {
    let now = storage::now(tx).await?;
    let mut file = Writer::begin(request, way).await?;
    file.read(tx, &mut sums).await?;
    Ok((file.end(now).await?, sums.totals.unwrap_or_default(), now))
}

struct Writer<'a> {
    request: &'a Request,
    table: Table,
    spool: Spool,
    way: GiveWay,
}

impl<'a> Writer<'a> {
    async fn begin(request: &'a Request, way: GiveWay) -> Result<Self, ExportError> {
        let table = Table::new(request.export, request.format);
        let mut spool = Spool::create().await?;
        table.begin(&mut spool.buffer);
        Ok(Self { request, table, spool, way })
    }

    async fn read(&mut self, tx: &mut Tx, sums: &mut Sums) -> Result<(), ExportError> {
        let Request { merchant_id, range, export, .. } = *self.request;
        let asked = Asked { merchant_id, range };
        match export {
            Export::Invoices => {
                let rows = stored::invoices::read(tx, asked);
                self.write(rows, |file, row| file.put([lines::invoice(&row)?])).await
            }
            Export::Payments => {
                let rows = stored::payments::read(tx, asked);
                self.write(rows, |file, row| file.put([lines::payment(&row)?])).await
            }
            Export::Payouts => {
                let rows = stored::payouts::read(tx, asked);
                self.write(rows, |file, row| file.put([lines::payout(&row)?])).await
            }
            Export::Fees => {
                let rows = stored::fees::read(tx, asked);
                self.write(rows, |file, row| file.put(lines::fees(&row)?)).await
            }
            Export::Ledger => self.read_ledger(tx, asked, sums).await,
        }
    }

    /// Part by part, so that the database sorts each in memory: a sort of all of them spills to
    /// its disk, where the commits of others wait for it. Small parts, so that others need not
    /// wait for its processor either.
    async fn read_ledger(
        &mut self,
        tx: &mut Tx,
        asked: Asked,
        sums: &mut Sums,
    ) -> Result<(), ExportError> {
        for row in stored::ledger::opening(tx, asked).await? {
            sums.open(&row)?;
        }
        let with_movements = self.request.format.is_of_movements();
        let entries = stored::ledger::begin_parts(tx, asked.merchant_id).await?;
        let mut after = After::the_entries_before(asked.range.from);
        loop {
            let mut read = 0;
            let rows = stored::ledger::read(tx, asked, after, entries);
            self.write(rows, |file, row| {
                (after, read) = (After::entry(&row), read + 1);
                let entry = lines::Entry::of(&row, with_movements)?;
                file.put(entry.lines(sums)?)
            })
            .await?;
            if read < entries {
                return Ok(());
            }
        }
    }

    /// Lets `put` write the lines of each row as it arrives.
    async fn write<R>(
        &mut self,
        rows: impl Stream<Item = Result<R, StorageError>>,
        mut put: impl FnMut(&mut Self, R) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let (mut rows, mut together) = (pin!(rows), 0);
        while let Some(row) = rows.try_next().await? {
            put(self, row)?;
            self.spool.drain().await?;
            together += 1;
            if together == ROWS_TOGETHER {
                together = 0;
                self.way.to_others().await;
            }
        }
        Ok(())
    }

    /// Writes the lines that were asked for.
    fn put<'l>(&mut self, lines: impl IntoIterator<Item = Line<'l>>) -> Result<(), ExportError> {
        for line in lines {
            if self.request.choice.takes(&line) {
                self.table.line(&line, &mut self.spool.buffer)?;
            }
        }
        Ok(())
    }

    async fn end(mut self, now: DateTime<Utc>) -> Result<Spooled, ExportError> {
        self.table.end(&self.request.range, now, &mut self.spool.buffer);
        Ok(self.spool.finish(self.table.rows()).await?)
    }
}
