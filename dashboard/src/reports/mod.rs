//! Monthly reports, and exports of any range.

pub mod download;
pub mod month;

use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};
use gateway::{
    accounting::{Export, Format},
    storage::reports::ReportRow,
};

use crate::{
    problem::Problem,
    shell::{Shell, page_with},
    visit::Visit,
};

const HERE: &str = "/reports";
/// Digits of a hash that a list shows.
const HASH_SHOWN: usize = 12;

#[derive(Template)]
#[template(path = "reports/page.html")]
struct Page {
    shell: Shell,
    reports: Vec<ReportRow>,
    /// What the form had when it was refused.
    export: String,
    format: String,
    from: String,
    to: String,
}

impl Page {
    fn is_export(&self, export: &Export) -> bool {
        self.export == export.as_str()
    }

    fn is_format(&self, format: &Format) -> bool {
        self.format == format.as_str()
    }

    fn hash<'a>(&self, report: &'a ReportRow) -> &'a str {
        report.sha256.get(..HASH_SHOWN).unwrap_or(&report.sha256)
    }
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    listed(&gateway, &visit, None).await
}

/// The page, with the reason why an export was refused.
async fn listed(
    gateway: &crate::State,
    visit: &Visit,
    refused: Option<String>,
) -> Result<Response, Problem> {
    let reports = gateway.reports(Some(visit.merchant()?.merchant_id)).await?;
    let shell = Shell::of(visit, HERE);
    let (status, shell) = match refused {
        Some(text) => (StatusCode::UNPROCESSABLE_ENTITY, shell.with_error(text)),
        None => (StatusCode::OK, shell),
    };
    let asked = |name| visit.asked(name).unwrap_or_default().to_owned();
    let page = Page {
        shell,
        reports,
        export: asked("export"),
        format: asked("format"),
        from: asked("from"),
        to: asked("to"),
    };
    page_with(status, &page)
}
