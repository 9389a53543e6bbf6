//! The report of one month, to be read and printed.

use askama::Template;
use axum::{
    extract::{Path, State},
    response::Response,
};
use gateway::{
    accounting::report::{CurrencyTotals, MovementTotal},
    app::accounting::report,
    storage::reports::ReportRow,
};

use crate::{
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "reports/month.html")]
struct Page {
    shell: Shell,
    merchant: String,
    report: ReportRow,
    currencies: Vec<CurrencyTotals>,
}

pub async fn page(
    State(gateway): State<crate::State>,
    Path(month): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let chosen = visit.merchant()?;
    let found = gateway.report(chosen.merchant_id, &month).await?;
    let report = found.ok_or(Problem::NotFound)?;
    let page = Page {
        merchant: chosen.name.to_owned(),
        currencies: report::totals(&report)?,
        shell: Shell::of(&visit, super::HERE),
        report,
    };
    show(&page)
}

/// The values of movements at their own times, by currency.
fn worth(movement: &MovementTotal) -> String {
    let values = movement.fiat.iter();
    let values: Vec<_> =
        values.map(|one| format!("{} {}", one.value, one.currency.to_uppercase())).collect();
    if values.is_empty() { "–".to_owned() } else { values.join(", ") }
}
