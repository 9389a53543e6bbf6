//! Exports of a merchant's records.

use axum::{
    extract::{self, Path, rejection::PathRejection},
    response::Response,
};
use gateway::{
    accounting::{Export, Format, Range, RangeError, file::Choice},
    app::accounting::export::{ExportError, Request},
    asset::{Fiat, catalogue::Catalogue},
    serve::download,
};
use uuid::Uuid;

use crate::{State, auth::Merchant, error::ApiError, query::Parameters};

/// Export records for bookkeeping
///
/// A file of the merchant's invoices, payments, payouts, fees or ledger entries in a range of time.
/// All of it is read in one moment and complete before its first byte: a failure is an error and
/// never a short file. Amounts are exact decimals in whole coins; every fiat value, rate and source
/// is of the row's own moment. See the guide "Accounting" for the columns.
#[utoipa::path(
    get, path = "/v1/export/{export}", operation_id = "readExport", tag = "Accounting",
    params(
        ("export" = String, Path, description = "`invoices`, `payments`, `payouts`, `fees` or `ledger`."),
        ("from" = String, Query, max_length = 255, description =
            "The first moment of the range: a date (`2026-01-31`) or an RFC 3339 time, in UTC."),
        ("to" = String, Query, max_length = 255, description =
            "The end of the range, which is not part of it. At most 366 days after `from`."),
        ("format" = Option<String>, Query, max_length = 255, description =
            "`csv` (if absent), `json`, `ndjson`; for payments, payouts and the ledger also `koinly`, `cointracker`, `quickbooks`."),
        ("currency" = Option<String>, Query, max_length = 255, description =
            "Only rows of this currency (`usdtmatic`), or, by the code of a fiat currency (`eur`), only rows that are valued in it."),
        ("status" = Option<String>, Query, max_length = 255, description =
            "Only rows of this `payment_status` (invoices, payments) or `state` (payouts). The other exports have none."),
    ),
    responses((status = 200, description = "The file, with the headers that its check needs.",
        content(
            (String = "text/csv"),
            (Sheet = "application/json"),
            (String = "application/x-ndjson"),
        ),
        headers(
            ("Content-Disposition" = String, description = "A file name with the export and its range."),
            ("X-Gateway-Row-Count" = u64, description = "Rows below the heading."),
            ("X-Gateway-Sha256" = String, description = "The SHA-256 of the body, in hex."),
        ),
    )),
)]
pub async fn read(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    export: Result<Path<String>, PathRejection>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let Path(export) = export.map_err(|_| ApiError::UnknownPath)?;
    let export: Export = export.parse().map_err(|_| ApiError::UnknownPath)?;
    let request = request(caller.merchant_id, export, &parameters)?;
    let held = gateway.export_held(&request).await?;
    let Request { export, format, range, .. } = request;
    let name = format!("gateway-{export}{}-{}", format.name_suffix(), range.file_name());
    Ok(download::answer((&name, format), held))
}

/// An export as JSON.
#[derive(utoipa::ToSchema)]
#[schema(as = ExportSheet)]
#[expect(dead_code, reason = "it describes what `accounting::Table` writes piece by piece")]
pub struct Sheet {
    /// The columns, in the order of the cells of each row.
    fields: Vec<SheetField>,
    /// The rows; a cell is text, a whole number or null. Decimals and times are texts.
    data: Vec<Vec<gateway::invoice::schema::Anything>>,
    /// The first moment of the range.
    #[schema(value_type = gateway::invoice::schema::Instant)]
    from: String,
    /// The end of the range, which is not part of it.
    #[schema(value_type = gateway::invoice::schema::Instant)]
    to: String,
    /// The moment whose records these are.
    #[schema(value_type = gateway::invoice::schema::Instant)]
    generated_at: String,
}

/// A column.
#[derive(utoipa::ToSchema)]
#[schema(as = ExportField)]
#[expect(dead_code, reason = "it describes what `accounting::Table` writes piece by piece")]
pub struct SheetField {
    /// The name, as in the heading of the CSV file.
    name: String,
    /// `text`, `decimal`, `integer` or `time`.
    r#type: String,
}

fn request(
    merchant_id: Uuid,
    export: Export,
    parameters: &Parameters,
) -> Result<Request, ApiError> {
    let range = Range::parse(parameters.required("from")?, parameters.required("to")?)?;
    let format = format(parameters)?;
    if !export.is_written_as(format) {
        let message =
            format!("format: {export} cannot be written as {format}; use csv, json or ndjson");
        return Err(ApiError::invalid(message));
    }
    let choice = choice(export, parameters)?;
    Ok(Request { merchant_id, export, format, range, choice })
}

fn format(parameters: &Parameters) -> Result<Format, ApiError> {
    let Some(text) = parameters.text("format")? else { return Ok(Format::Csv) };
    text.parse().map_err(|_| {
        ApiError::invalid(
            "format must be one of csv, json, ndjson, koinly, cointracker, quickbooks",
        )
    })
}

fn choice(export: Export, parameters: &Parameters) -> Result<Choice, ApiError> {
    let mut choice = Choice::default();
    if let Some(text) = parameters.text("currency")? {
        let mut all = Catalogue::get().all().iter();
        if let Ok(fiat) = text.parse::<Fiat>() {
            choice.fiat = Some(fiat.code().to_owned());
        } else if let Some(known) = all.find(|known| known.code.eq_ignore_ascii_case(text)) {
            choice.currency = Some(known.code.to_owned());
        } else {
            return Err(ApiError::CurrencyNotSupported);
        }
    }
    if let Some(status) = parameters.text("status")? {
        if !export.has_statuses().contains(&status) {
            return Err(ApiError::invalid(format!("status: {export} have no rows of this status")));
        }
        choice.status = Some(status.to_owned());
    }
    Ok(choice)
}

impl From<RangeError> for ApiError {
    fn from(error: RangeError) -> Self {
        match error {
            RangeError::TooLarge => Self::RangeTooLarge,
            RangeError::Unreadable(_) | RangeError::NotUtc(_) | RangeError::Empty => {
                Self::invalid(error.to_string())
            }
        }
    }
}

impl From<ExportError> for ApiError {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::TwoCurrencies(error) => Self::invalid(error.to_string()),
            ExportError::NoSlot => Self::TooManyExports,
            ExportError::Storage(_)
            | ExportError::File(_)
            | ExportError::TooSlow
            | ExportError::Crowded
            | ExportError::Stale { .. }
            | ExportError::OtherDatabase => {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                tracing::error!(%error, source, "an export could not be made");
                Self::ExportHistoryUnavailable
            }
        }
    }
}
