//! Payment links: listed, created, shown with their button and code, switched on and off.

pub mod detail;
pub mod devices;
pub mod new;

use askama::Template;
use axum::{extract::State, response::Response};
use gateway::{
    account::Action,
    app::account::session::Permission,
    link::LinkKind,
    storage::{invoices::ListOrder, links::Link},
};

use crate::{
    list::ROWS,
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

const HERE: &str = "/links";

#[derive(Template)]
#[template(path = "links/page.html")]
struct Page {
    shell: Shell,
    links: Vec<Link>,
    total: i64,
    may_create: bool,
    newer: Option<i64>,
    older: Option<i64>,
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let rows = i64::try_from(ROWS).unwrap_or(i64::MAX);
    let number = visit.asked("page").and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
    // A merchant has 10,000 links at most, so no offset is far.
    let number = number.clamp(0, gateway::link::LINKS_MAX / rows);
    let merchant_id = visit.merchant()?.merchant_id;
    let newest = ListOrder::CreatedDesc;
    let found = gateway.list_links(merchant_id, newest, rows, number * rows).await?;
    let is_more = (number + 1) * rows < found.total;
    show(&Page {
        shell: Shell::of(&visit, HERE),
        links: found.links,
        total: found.total,
        may_create: visit.signed()?.may(Action::LinkCreate) == Permission::Granted,
        newer: (number > 0).then(|| number - 1),
        older: is_more.then(|| number + 1),
    })
}

/// What a visitor pays, in words.
fn price(link: &Link) -> String {
    let terms = &link.terms;
    let code = terms.price_currency.code_upper();
    match terms.price_amount {
        Some(price) if !terms.is_open() => format!("{} {code}", price.to_decimal()),
        _ => format!("{} to {} {code}", terms.least().to_decimal(), terms.most().to_decimal()),
    }
}

/// The address of a link's page: of the configured checkout, never of a request's host.
fn address(gateway: &crate::State, link: &Link) -> String {
    let folder = if link.terms.kind == LinkKind::Pos { "pos" } else { "l" };
    format!("{}/{folder}/{}", gateway.config.checkout_url.trim_end_matches('/'), link.link_id)
}
