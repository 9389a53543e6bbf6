//! Files of an order: its report, and the empty file to fill in.

use axum::{
    extract::{Path, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use gateway::payout::csv;

use super::{Named, named, words};
use crate::{problem::Problem, visit::Visit};

pub async fn report(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    if named(&id)? != Named::Order {
        return Err(Problem::NotFound);
    }
    match gateway.payout_report(visit.merchant()?.merchant_id, &id).await {
        Ok(report) => Ok(file(&format!("{id}.csv"), "text/csv; charset=utf-8", report.csv())),
        Err(error) => Err(Problem::Conflict(words::of_order(error)?)),
    }
}

pub async fn template() -> Response {
    file("payout.csv", "text/csv; charset=utf-8", csv::TEMPLATE)
}

/// A download. `name` is of our own making.
pub fn file(name: &str, kind: &'static str, content: impl IntoResponse) -> Response {
    let mut response = content.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    let disposition = format!("attachment; filename=\"{name}\"");
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    response
}
