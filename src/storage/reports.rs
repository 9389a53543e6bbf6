//! Monthly reports. A trigger keeps them as they were made.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError};

/// Months that are looked back for, if none was made at the time.
const MONTHS_BACK: i32 = 24;
/// Months that a list has.
const LISTED: i64 = 240;

/// A report without the content of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRow {
    pub merchant_id: Uuid,
    pub month: String,
    pub generated_at: DateTime<Utc>,
    pub row_count: i64,
    pub byte_count: i64,
    pub sha256: String,
    /// JSON.
    pub totals: String,
}

/// A month of a merchant that has no report yet.
#[derive(Debug, Clone)]
pub struct Missing {
    pub merchant_id: Uuid,
    pub month: String,
}

/// The oldest months without a report, at most `limit` of them; those with an alert of the kind
/// `failed` come last. Or only the named month, however old, of merchants behind an id, ordered by
/// id. A month is over ten minutes after its end: what was booked in it is committed by
/// then. Indices: `monthly_report_pkey`, `operator_alert_once`.
pub async fn missing(
    connection: &mut PgConnection,
    failed: &str,
    of_month: Option<(&str, Uuid)>,
    limit: i64,
) -> Result<Vec<Missing>, StorageError> {
    let (month, after) = of_month.unzip();
    let rows = sqlx::query_as!(
        Missing,
        r#"
        select m.id as "merchant_id!", to_char(s.first_day, 'YYYY-MM') as "month!"
        from merchant m
        cross join lateral generate_series(
            date_trunc('month', case
                when $4::text is null then greatest(m.created_at, now() - $2::integer * interval '1 month')
                else m.created_at
            end at time zone 'UTC'),
            date_trunc('month', (now() - interval '10 minutes') at time zone 'UTC') - interval '1 month',
            interval '1 month'
        ) as s (first_day)
        where not exists (
            select from monthly_report r where r.merchant_id = m.id and r.month = to_char(s.first_day, 'YYYY-MM')
        )
          and ($4::text is null or to_char(s.first_day, 'YYYY-MM') = $4 and m.id > $5::uuid)
        order by $4::text is null and exists (
            select from operator_alert a where a.kind = $3 and a.subject = m.id || ' ' || to_char(s.first_day, 'YYYY-MM')
        ), s.first_day, m.id
        limit $1
        "#,
        limit,
        MONTHS_BACK,
        failed,
        month,
        after
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Writes a piece of a file; the report itself comes last, in the same transaction.
pub async fn insert_chunk(
    connection: &mut PgConnection,
    of: &Missing,
    place: i32,
    content: &[u8],
) -> Result<(), StorageError> {
    sqlx::query!(
        "insert into report_chunk (merchant_id, month, place, content) values ($1, $2, $3, $4)",
        of.merchant_id,
        of.month,
        place,
        content
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn insert(connection: &mut PgConnection, report: &ReportRow) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into monthly_report (merchant_id, month, generated_at, row_count, byte_count, sha256, totals)
        values ($1, $2, $3, $4, $5, $6, $7)
        "#,
        report.merchant_id,
        report.month,
        report.generated_at,
        report.row_count,
        report.byte_count,
        report.sha256,
        report.totals
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The newest reports of a merchant, or of all. Index: `monthly_report_pkey`.
pub async fn list(
    connection: &mut PgConnection,
    merchant_id: Option<Uuid>,
) -> Result<Vec<ReportRow>, StorageError> {
    let rows = sqlx::query_as!(
        ReportRow,
        r#"
        select merchant_id, month, generated_at, row_count, byte_count, sha256, totals
        from monthly_report
        where $1::uuid is null or merchant_id = $1
        order by month desc, merchant_id
        limit $2
        "#,
        merchant_id,
        LISTED
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

pub async fn find(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    month: &str,
) -> Result<Option<ReportRow>, StorageError> {
    let row = sqlx::query_as!(
        ReportRow,
        r#"
        select merchant_id, month, generated_at, row_count, byte_count, sha256, totals
        from monthly_report
        where merchant_id = $1 and month = $2
        "#,
        merchant_id,
        month
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// One piece of a report's file; `None` behind the last. Index: `report_chunk_pkey`.
pub async fn chunk(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    month: &str,
    place: i32,
) -> Result<Option<Vec<u8>>, StorageError> {
    let content = sqlx::query_scalar!(
        "select content from report_chunk where merchant_id = $1 and month = $2 and place = $3",
        merchant_id,
        month,
        place
    )
    .fetch_optional(connection)
    .await?;
    Ok(content)
}
