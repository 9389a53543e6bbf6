//! Payment links: listed, created, shown with their button and code, switched on and off.

pub mod detail;
pub mod devices;
pub mod new;

use askama::Template;
use axum::{extract::State, response::Response};
use gateway::{
    account::Action, app::account::session::Permission, link::LinkKind, storage::links::Link,
};

use crate::{
    list::{Asked, Pages, ROWS_AND_NEXT},
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
    may_create: bool,
    pages: Pages,
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let asked = Asked::of(&visit);
    let mut links = gateway.links_beside(merchant_id, asked.place(), ROWS_AND_NEXT).await?;
    let pages = Pages::cut(&mut links, asked, HERE, &[], |link: &Link| (link.created_at, link.id));
    show(&Page {
        shell: Shell::of(&visit, HERE),
        links,
        may_create: visit.signed()?.may(Action::LinkCreate) == Permission::Granted,
        pages,
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
