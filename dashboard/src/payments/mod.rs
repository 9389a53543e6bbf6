//! Payments: found by anything that names one, or page by page through filters.

pub mod by_hand;
mod checkout_code;
pub mod detail;
mod filters;
mod timeline;

use askama::Template;
use axum::{extract::State, response::Response};
use gateway::{
    account::Action,
    app::account::session::Permission,
    asset::{
        Network,
        catalogue::{Catalogue, Currency},
    },
    invoice::Status,
    storage::payment_search::{FOUND_MAX, FoundPayment, Side},
};

use crate::{
    list::{self, ROWS, ROWS_AND_NEXT},
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};
use filters::Filters;

#[derive(Template)]
#[template(path = "payments/page.html")]
struct Page {
    shell: Shell,
    words: String,
    filters: Filters,
    statuses: Vec<Status>,
    currencies: Vec<&'static Currency>,
    rows: Vec<FoundPayment>,
    may_create: bool,
    older: Option<String>,
    newer: Option<String>,
}

pub async fn list(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let may_create = visit.signed()?.may(Action::PaymentCreate) == Permission::Granted;
    let mut page = Page {
        shell: Shell::of(&visit, "/payments"),
        words: visit.asked("q").unwrap_or_default().to_owned(),
        filters: Filters::of(&visit),
        statuses: Status::ALL.into_iter().filter(|status| *status != Status::Draft).collect(),
        currencies: Catalogue::get().all().iter().collect(),
        rows: Vec::new(),
        may_create,
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
    let (place, filter) = ((side, at, id), page.filters.filter());
    let mut rows = gateway.payments_beside(merchant_id, &filter, place, ROWS_AND_NEXT).await?;
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
    /// The number of payments found; the search ends at its bound.
    fn found(&self) -> String {
        let most = usize::try_from(FOUND_MAX).unwrap_or(usize::MAX);
        if self.rows.len() >= most {
            format!("the newest {most}")
        } else {
            self.rows.len().to_string()
        }
    }

    /// The address of the page beside this one.
    fn beside(&self, side: &str, cursor: &str) -> String {
        format!("/payments?{side}={cursor}{}", self.filters.parameters())
    }
}
