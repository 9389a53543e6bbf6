//! Monthly reports: made once when a month is over, and read ever after.

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use uuid::Uuid;

use super::{
    export::{ExportError, Request},
    spool::{Spool, Spooled},
};
use crate::app::{Gateway, operator::doctor::with_causes};
use crate::{
    accounting::{
        Export, Format, Range, file::Choice, freshness::SETTLES_FOR, report::CurrencyTotals,
    },
    invoice::payment::iso_8601,
    storage::{
        self, StorageError, alerts, merchants,
        reports::{self, Missing, ReportRow},
    },
};

/// Bytes of a row of the file.
const CHUNK: usize = 256 * 1024;
/// Merchants between two questions for more.
const BATCH: i64 = 100;
const ONE_AT_A_TIME: &str = "monthly_report_pkey";
const CHUNK_IS_THERE: &str = "report_chunk_pkey";

/// The alert that a report could not be made.
const FAILED: &str = "report_failed";

/// Reports that were made, and those that could not be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Batch {
    pub made: usize,
    pub failed: usize,
}

/// The result of making a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Built {
    Made,
    /// It was there already, and stays as it is.
    Kept,
}

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("{0} is no month: write it as 2026-01")]
    NoMonth(String),
    #[error("{0} is not over, or has been for less than ten minutes")]
    NotOver(String),
    #[error("no merchant has the id {0}")]
    NoMerchant(Uuid),
    #[error("{0} is before the merchant was created")]
    BeforeMerchant(String),
    #[error("the file of the report of {0} is not the one that was made: its SHA-256 differs")]
    Damaged(String),
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<std::io::Error> for ReportError {
    fn from(error: std::io::Error) -> Self {
        Self::Export(error.into())
    }
}

/// A report in one format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportFormat {
    /// The ledger of the month.
    Csv,
    /// Balances and movements.
    Json,
}

impl Gateway {
    /// Makes reports that are due, the oldest first, at most `limit`. One that fails raises an
    /// alert, stops no other, and is tried again last.
    pub async fn build_due_reports(&self, limit: i64) -> Result<Batch, StorageError> {
        let mut connection = self.db.connection().await?;
        let missing = reports::missing(&mut connection, FAILED, None, limit).await?;
        drop(connection);
        let mut batch = Batch::default();
        for one in &missing {
            let subject = format!("{} {}", one.merchant_id, one.month);
            let made = match Range::month(&one.month) {
                Some(range) => self.make_report(one, range).await,
                None => Err(ReportError::NoMonth(one.month.clone())),
            };
            let mut connection = self.db.connection().await?;
            if let Err(error) = made {
                batch.failed += 1;
                let detail = with_causes(&error);
                tracing::error!(%error, subject, "a monthly report could not be made");
                alerts::raise(&mut connection, FAILED, &subject, &detail).await?;
            } else {
                batch.made += 1;
                alerts::withdraw(&mut connection, FAILED, &subject).await?;
            }
        }
        Ok(batch)
    }

    /// Makes the report of a month, unless it is there.
    pub async fn build_report(&self, merchant_id: Uuid, month: &str) -> Result<Built, ReportError> {
        let range = Range::month(month).ok_or_else(|| ReportError::NoMonth(month.to_owned()))?;
        let mut connection = self.db.connection().await?;
        let merchant = merchants::by_id(&mut connection, merchant_id).await?;
        let merchant = merchant.ok_or(ReportError::NoMerchant(merchant_id))?;
        if merchant.created_at >= range.to {
            return Err(ReportError::BeforeMerchant(month.to_owned()));
        }
        if storage::now(&mut connection).await? < range.to + SETTLES_FOR {
            return Err(ReportError::NotOver(month.to_owned()));
        }
        if reports::find(&mut connection, merchant_id, month).await?.is_some() {
            return Ok(Built::Kept);
        }
        drop(connection);
        self.make_report(&Missing { merchant_id, month: month.to_owned() }, range).await
    }

    /// Makes the reports of a month for all merchants that have none; returns how many were made.
    /// One that fails stops no other; the first error is returned once all have been tried.
    pub async fn build_reports(&self, month: &str) -> Result<usize, ReportError> {
        let range = Range::month(month).ok_or_else(|| ReportError::NoMonth(month.to_owned()))?;
        let mut connection = self.db.connection().await?;
        if storage::now(&mut connection).await? < range.to + SETTLES_FOR {
            return Err(ReportError::NotOver(month.to_owned()));
        }
        drop(connection);
        let (mut made, mut first_error, mut after) = (0, None, Uuid::nil());
        loop {
            let mut connection = self.db.connection().await?;
            let of_month = Some((month, after));
            let missing = reports::missing(&mut connection, FAILED, of_month, BATCH).await?;
            drop(connection);
            let Some(last) = missing.last() else { break };
            after = last.merchant_id;
            for one in &missing {
                match self.make_report(one, range).await {
                    Ok(Built::Made) => made += 1,
                    Ok(Built::Kept) => {}
                    Err(error) => {
                        let merchant_id = one.merchant_id;
                        tracing::error!(%error, %merchant_id, month, "a report was not made");
                        first_error.get_or_insert(error);
                    }
                }
            }
        }
        first_error.map_or(Ok(made), Err)
    }

    async fn make_report(&self, due: &Missing, range: Range) -> Result<Built, ReportError> {
        let request = Request {
            merchant_id: due.merchant_id,
            export: Export::Ledger,
            format: Format::Csv,
            range,
            choice: Choice::default(),
        };
        let (spooled, totals, generated_at) = self.spool_with_totals(&request).await?;
        let report = ReportRow {
            merchant_id: due.merchant_id,
            month: due.month.clone(),
            generated_at,
            row_count: i64::try_from(spooled.rows).unwrap_or(i64::MAX),
            byte_count: i64::try_from(spooled.bytes).unwrap_or(i64::MAX),
            sha256: spooled.sha256.clone(),
            totals: totals.to_json().to_string(),
        };
        match self.store_report(due, &report, spooled).await {
            // Another process was faster, and wrote the same.
            Err(ReportError::Storage(error))
                if error.is_constraint(ONE_AT_A_TIME) || error.is_constraint(CHUNK_IS_THERE) =>
            {
                Ok(Built::Kept)
            }
            Err(error) => Err(error),
            Ok(()) => Ok(Built::Made),
        }
    }

    async fn store_report(
        &self,
        due: &Missing,
        report: &ReportRow,
        mut spooled: Spooled,
    ) -> Result<(), ReportError> {
        let mut tx = self.db.begin().await?;
        let mut place = 0;
        loop {
            let mut chunk = Vec::with_capacity(CHUNK);
            let mut part = (&mut spooled.file).take(u64::try_from(CHUNK).unwrap_or(u64::MAX));
            if part.read_to_end(&mut chunk).await? == 0 {
                break;
            }
            reports::insert_chunk(&mut tx, due, place, &chunk).await?;
            place += 1;
        }
        reports::insert(&mut tx, report).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(())
    }

    /// The reports of a merchant, or of all, the newest first.
    pub async fn reports(&self, merchant_id: Option<Uuid>) -> Result<Vec<ReportRow>, StorageError> {
        let mut connection = self.db.connection().await?;
        reports::list(&mut connection, merchant_id).await
    }

    pub async fn report(
        &self,
        merchant_id: Uuid,
        month: &str,
    ) -> Result<Option<ReportRow>, StorageError> {
        let mut connection = self.db.connection().await?;
        reports::find(&mut connection, merchant_id, month).await
    }

    /// The file of a report; `None` if there is none of this month.
    pub(super) async fn report_file(
        &self,
        merchant_id: Uuid,
        month: &str,
        format: ReportFormat,
    ) -> Result<Option<Spooled>, ReportError> {
        let Some(report) = self.report(merchant_id, month).await? else { return Ok(None) };
        let mut spool = Spool::create().await?;
        if format == ReportFormat::Json {
            spool.buffer = to_json(&report)?.to_string();
            return Ok(Some(spool.finish(1).await?));
        }
        let rows = u64::try_from(report.row_count).unwrap_or(0);
        let mut connection = self.db.connection().await?;
        let mut place = 0;
        while let Some(chunk) = reports::chunk(&mut connection, merchant_id, month, place).await? {
            spool.write_bytes(&chunk).await?;
            place += 1;
        }
        drop(connection);
        let spooled = spool.finish(rows).await?;
        if spooled.sha256 != report.sha256 {
            return Err(ReportError::Damaged(month.to_owned()));
        }
        Ok(Some(spooled))
    }
}

/// The totals of a report, for a page.
pub fn totals(report: &ReportRow) -> Result<Vec<CurrencyTotals>, StorageError> {
    serde_json::from_str(&report.totals)
        .map_err(|_| StorageError::damaged("monthly_report", "its totals cannot be read"))
}

/// A report as its JSON file has it.
pub fn to_json(report: &ReportRow) -> Result<Value, StorageError> {
    let damaged = || StorageError::damaged("monthly_report", "its totals cannot be read");
    let totals: Value = serde_json::from_str(&report.totals).map_err(|_| damaged())?;
    let range = Range::month(&report.month).ok_or_else(damaged)?;
    Ok(json!({
        "month": report.month,
        "from": iso_8601(range.from),
        "to": iso_8601(range.to),
        "generated_at": iso_8601(report.generated_at),
        "rows": report.row_count,
        "sha256": report.sha256,
        "totals": totals,
    }))
}
