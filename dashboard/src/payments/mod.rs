//! Payments: found by anything that names one, or page by page through filters.

pub mod by_hand;
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
    storage::payment_search::{FOUND_MAX, FoundPayment},
};

use crate::{
    list::{Asked, Pages, ROWS_AND_NEXT},
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
    pages: Pages,
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
        pages: Pages::default(),
    };
    if !page.words.is_empty() {
        page.rows = gateway.payments_named(merchant_id, &page.words).await?;
        return show(&page);
    }
    let asked = Asked::of(&visit);
    let filter = page.filters.filter();
    let mut rows =
        gateway.payments_beside(merchant_id, &filter, asked.place(), ROWS_AND_NEXT).await?;
    let kept = page.filters.parameters();
    let filters: Vec<_> = kept.iter().map(|(name, value)| (*name, value.as_str())).collect();
    page.pages = Pages::cut(&mut rows, asked, "/payments", &filters, |row: &FoundPayment| {
        (row.created_at, row.id)
    });
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
}
