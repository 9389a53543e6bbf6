//! Files of the bookkeeping, as the API serves them.

use std::error::Error;

use axum::{
    extract::{Path, State},
    response::Response,
};
use chrono::{Days, NaiveDate};
use gateway::{
    accounting::{Export, Format, Range, file::Choice},
    app::accounting::{
        export::{ExportError, Request},
        report::{ReportError, ReportFormat},
    },
    serve::download,
};
use uuid::Uuid;

use super::listed;
use crate::{problem::Problem, visit::Visit};

const DAY: &str = "%Y-%m-%d";
const NOT_MADE: &str = "The file could not be made. Nothing is lost: try again in a minute.";
const TOO_MANY: &str =
    "Two downloads of this merchant are under way already. Wait until one of them has ended.";

pub async fn export(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    if visit.asked("export").is_none() {
        return listed(&gateway, &visit, None).await;
    }
    let request = match request(&visit)? {
        Ok(request) => request,
        Err(refused) => return listed(&gateway, &visit, Some(refused)).await,
    };
    let held = match gateway.export_held(&request).await {
        Ok(held) => held,
        Err(ExportError::NoSlot) => {
            return listed(&gateway, &visit, Some(TOO_MANY.to_owned())).await;
        }
        Err(ExportError::TwoCurrencies(error)) => {
            return listed(&gateway, &visit, Some(format!("Not exported: {error}."))).await;
        }
        Err(error) => return Err(failed(&error)),
    };
    let Request { export, format, range, .. } = request;
    let name = format!("gateway-{export}{}-{}", format.name_suffix(), range.file_name());
    Ok(download::answer((&name, format), held))
}

/// The file of a closed month; `file` is `report.csv` or `report.json`.
pub async fn report(
    State(gateway): State<crate::State>,
    Path((month, file)): Path<(String, String)>,
    visit: Visit,
) -> Result<Response, Problem> {
    let (format, file_format) = match file.as_str() {
        "report.csv" => (ReportFormat::Csv, Format::Csv),
        "report.json" => (ReportFormat::Json, Format::Json),
        _ => return Err(Problem::NotFound),
    };
    let merchant_id = visit.merchant()?.merchant_id;
    let range = Range::month(&month).ok_or(Problem::NotFound)?;
    let held = gateway.report_held(merchant_id, &month, format).await;
    let held = held.map_err(|error| broken(&error))?.ok_or(Problem::NotFound)?;
    let name = format!("gateway-report-{}", range.file_name());
    Ok(download::answer((&name, file_format), held))
}

/// The export of the form, or why it is none.
fn request(visit: &Visit) -> Result<Result<Request, String>, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let asked = |name| visit.asked(name).unwrap_or_default();
    Ok(read(merchant_id, asked("export"), asked("format"), (asked("from"), asked("to"))))
}

fn read(
    merchant_id: Uuid,
    export: &str,
    format: &str,
    (first, last): (&str, &str),
) -> Result<Request, String> {
    let export: Export = export.parse().map_err(|_| "Choose what to export.".to_owned())?;
    let format: Format = if format.is_empty() {
        Format::Csv
    } else {
        format.parse().map_err(|_| "Choose one of the formats.".to_owned())?
    };
    if !export.is_written_as(format) {
        return Err(format!("{export} cannot be written as {format}: choose csv, json or ndjson."));
    }
    let day = |text: &str| NaiveDate::parse_from_str(text, DAY).ok();
    let (Some(first), Some(last)) = (day(first), day(last)) else {
        return Err("Choose the first and the last day.".to_owned());
    };
    // The range of an export ends before its last moment; people name the last day that they want.
    let end = last.checked_add_days(Days::new(1)).unwrap_or(last);
    let range = Range::parse(&first.to_string(), &end.to_string());
    let range = range.map_err(|error| format!("Not exported: {error}."))?;
    Ok(Request { merchant_id, export, format, range, choice: Choice::default() })
}

fn failed(error: &ExportError) -> Problem {
    tracing::error!(%error, source = error.source().map(ToString::to_string), "an export failed");
    Problem::Conflict(NOT_MADE.to_owned())
}

fn broken(error: &ReportError) -> Problem {
    if let ReportError::Export(ExportError::NoSlot) = error {
        return Problem::Conflict(TOO_MANY.to_owned());
    }
    tracing::error!(%error, source = error.source().map(ToString::to_string), "no report was read");
    Problem::Conflict(NOT_MADE.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_day_is_part_of_the_file() {
        let days = ("2026-01-01", "2026-01-31");
        let request = read(Uuid::nil(), "ledger", "", days).unwrap();
        assert_eq!(request.range, Range::month("2026-01").unwrap());
        assert_eq!(request.format, Format::Csv);
        let one = read(Uuid::nil(), "ledger", "json", ("2026-01-31", "2026-01-31")).unwrap();
        assert_eq!((one.range.to - one.range.from).num_days(), 1);
    }

    #[test]
    fn a_wrong_form_is_refused_in_words() {
        let good = ("2026-01-01", "2026-01-31");
        for (export, format, days, words) in [
            ("", "csv", good, "what to export"),
            ("ledger", "xlsx", good, "formats"),
            ("fees", "koinly", good, "cannot be written"),
            ("ledger", "csv", ("", ""), "first and the last day"),
            ("ledger", "csv", ("2026-01-01", "31.1.2026"), "first and the last day"),
            ("ledger", "csv", ("2026-02-02", "2026-01-31"), "before"),
            ("ledger", "csv", ("2024-01-01", "2025-01-01"), "366"),
        ] {
            let error = read(Uuid::nil(), export, format, days).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
