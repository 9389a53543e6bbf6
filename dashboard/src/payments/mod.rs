//! Payments: found by anything that names one, or page by page.

pub mod detail;

use askama::Template;
use axum::{extract::State, response::Response};
use gateway::{
    invoice::Status,
    storage::payment_search::{FoundPayment, Side},
};

use crate::{
    list::{self, ROWS, ROWS_AND_NEXT},
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "payments/page.html")]
struct Page {
    shell: Shell,
    words: String,
    status: Option<Status>,
    statuses: Vec<Status>,
    rows: Vec<FoundPayment>,
    older: Option<String>,
    newer: Option<String>,
}

pub async fn list(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let status: Option<Status> = visit.asked("status").and_then(|text| text.parse().ok());
    let words = visit.asked("q").unwrap_or_default().to_owned();
    let mut page = Page {
        shell: Shell::of(&visit, "/payments"),
        words,
        status,
        statuses: Status::ALL.into_iter().filter(|status| *status != Status::Draft).collect(),
        rows: Vec::new(),
        older: None,
        newer: None,
    };
    if !page.words.is_empty() {
        page.rows = gateway.payments_named(merchant_id, &page.words).await?;
        return show(&page);
    }
    let after = visit.asked("newer").and_then(list::place);
    let before = visit.asked("older").and_then(list::place);
    let (side, (at, id)) = match (after, before) {
        (Some(place), _) => (Side::Newer, place),
        (None, Some(place)) => (Side::Older, place),
        (None, None) => (Side::Older, list::newest()),
    };
    let place = (side, at, id);
    let mut rows = gateway.payments_beside(merchant_id, status, place, ROWS_AND_NEXT).await?;
    let is_more = rows.len() > ROWS;
    if is_more && side == Side::Newer {
        rows.remove(0);
    }
    rows.truncate(ROWS);
    let (more_older, more_newer) = match side {
        Side::Older => (is_more, before.is_some()),
        Side::Newer => (true, is_more),
    };
    let cursor = |row: Option<&FoundPayment>| row.map(|row| list::cursor(row.created_at, row.id));
    page.older = cursor(rows.last()).filter(|_| more_older);
    page.newer = cursor(rows.first()).filter(|_| more_newer);
    page.rows = rows;
    show(&page)
}

impl Page {
    fn is_status(&self, status: &Status) -> bool {
        self.status.as_ref() == Some(status)
    }

    /// The address of the page beside this one.
    fn beside(&self, side: &str, cursor: &str) -> String {
        let status = self.status.map(|status| format!("&status={status}")).unwrap_or_default();
        format!("/payments?{side}={cursor}{status}")
    }
}
