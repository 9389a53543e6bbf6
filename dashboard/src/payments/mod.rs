//! Payments: found by anything that names one, or page by page.

pub mod detail;

use askama::Template;
use axum::{extract::State, response::Response};
use gateway::{invoice::Status, storage::payment_search::FoundPayment};

use crate::{
    list::{Asked, Pages, ROWS_AND_NEXT},
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
    pages: Pages,
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
        pages: Pages::default(),
    };
    if !page.words.is_empty() {
        page.rows = gateway.payments_named(merchant_id, &page.words).await?;
        return show(&page);
    }
    let asked = Asked::of(&visit);
    let mut rows =
        gateway.payments_beside(merchant_id, status, asked.place(), ROWS_AND_NEXT).await?;
    let filter = status.map(|status| status.to_string()).unwrap_or_default();
    let filters = [("status", filter.as_str())];
    page.pages = Pages::cut(&mut rows, asked, "/payments", &filters, |row: &FoundPayment| {
        (row.created_at, row.id)
    });
    page.rows = rows;
    show(&page)
}

impl Page {
    fn is_status(&self, status: &Status) -> bool {
        self.status.as_ref() == Some(status)
    }
}
