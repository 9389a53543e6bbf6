//! Monthly reports.

use axum::{
    Json,
    extract::{self, Path, rejection::PathRejection},
    response::Response,
};
use gateway::{
    accounting::{Format, Range},
    app::accounting::report::{ReportError, ReportFormat, to_json},
    invoice::{payment::iso_8601, schema},
    serve::download,
    storage::{StorageError, reports::ReportRow},
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::{State, auth::Merchant, error::ApiError, query::Parameters};

/// The formats of a report's file.
const FORMATS: [&str; 2] = ["csv", "json"];

/// The monthly reports, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReportList {
    #[schema(max_items = 240)]
    pub data: Vec<Report>,
}

/// The report of one month. It never changes: what is corrected later is in the report of a later
/// month.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = MonthlyReport)]
pub struct Report {
    /// The month, in UTC.
    #[schema(example = "2026-01")]
    pub month: String,
    /// When it was made.
    #[schema(value_type = schema::Instant)]
    pub generated_at: String,
    /// Rows of its CSV file.
    #[schema(minimum = 0)]
    pub rows: i64,
    /// By currency: `accounts` with `opening` and `closing` balances, `movements` by `kind` with
    /// `count`, `amount` and the value in `fiat` at the time of each.
    #[schema(value_type = Vec<schema::Anything>)]
    pub totals: Value,
    /// The SHA-256 of its CSV file, in hex.
    pub sha256: String,
    /// The formats of its file.
    #[schema(value_type = Vec<String>)]
    pub formats: [&'static str; 2],
}

impl Report {
    fn render(row: ReportRow) -> Result<Self, StorageError> {
        let totals = to_json(&row)?["totals"].take();
        Ok(Self {
            month: row.month,
            generated_at: iso_8601(row.generated_at),
            rows: row.row_count,
            totals,
            sha256: row.sha256,
            formats: FORMATS,
        })
    }
}

/// List the monthly reports
///
/// A report is made on the first day of the next month.
#[utoipa::path(
    get, path = "/v1/export/reports", operation_id = "listReports", tag = "Accounting",
    responses((status = 200, description = "The reports.", body = ReportList)),
)]
pub async fn list(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
) -> Result<Json<ReportList>, ApiError> {
    let rows = gateway.reports(Some(caller.merchant_id)).await.map_err(ReportError::from)?;
    let data: Result<_, _> = rows.into_iter().map(Report::render).collect();
    Ok(Json(ReportList { data: data.map_err(ReportError::from)? }))
}

/// Read a monthly report
///
/// As CSV, the ledger of the month; as JSON, its balances and movements. The same bytes whenever it
/// is read.
#[utoipa::path(
    get, path = "/v1/export/reports/{month}", operation_id = "readReport", tag = "Accounting",
    params(
        ("month" = String, Path, description = "The month, such as `2026-01`."),
        ("format" = Option<String>, Query, max_length = 255, description = "`csv` (if absent) or `json`."),
    ),
    responses((status = 200, description = "The file, with the headers that its check needs.",
        content((String = "text/csv"), (ReportFile = "application/json")),
        headers(
            ("Content-Disposition" = String, description = "A file name with the month."),
            ("X-Gateway-Row-Count" = u64, description = "Rows below the heading."),
            ("X-Gateway-Sha256" = String, description = "The SHA-256 of the body, in hex."),
        ),
    )),
)]
pub async fn read(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    month: Result<Path<String>, PathRejection>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let (format, file_format) = match parameters.text("format")? {
        None | Some("csv") => (ReportFormat::Csv, Format::Csv),
        Some("json") => (ReportFormat::Json, Format::Json),
        Some(_) => return Err(ApiError::invalid("format must be csv or json")),
    };
    let Path(month) = month.map_err(|_| ApiError::ReportNotFound)?;
    let range = Range::month(&month).ok_or(ApiError::ReportNotFound)?;
    let held = gateway.report_held(caller.merchant_id, &month, format).await?;
    let held = held.ok_or(ApiError::ReportNotFound)?;
    let name = format!("gateway-report-{}", range.file_name());
    Ok(download::answer((&name, file_format), held))
}

/// A report as JSON.
#[derive(ToSchema)]
#[schema(as = MonthlyReportFile)]
#[expect(dead_code, reason = "it describes what `accounting::report::to_json` writes")]
pub struct ReportFile {
    /// The month, in UTC.
    month: String,
    /// Its first moment.
    #[schema(value_type = schema::Instant)]
    from: String,
    /// Its end, which is not part of it.
    #[schema(value_type = schema::Instant)]
    to: String,
    /// When the report was made.
    #[schema(value_type = schema::Instant)]
    generated_at: String,
    /// Rows of its CSV file.
    #[schema(minimum = 0)]
    rows: i64,
    /// The SHA-256 of its CSV file, in hex.
    sha256: String,
    /// As in the list.
    totals: Vec<schema::Anything>,
}

impl From<ReportError> for ApiError {
    fn from(error: ReportError) -> Self {
        if let ReportError::Export(error) = error {
            return error.into();
        }
        let source = std::error::Error::source(&error).map(ToString::to_string);
        tracing::error!(%error, source, "a monthly report could not be read");
        Self::ExportHistoryUnavailable
    }
}
