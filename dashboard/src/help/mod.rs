//! Help: where things are, and the keys.

use askama::Template;
use axum::response::Response;

use crate::{
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "help/page.html")]
struct Page {
    shell: Shell,
}

pub async fn page(visit: Visit) -> Result<Response, Problem> {
    show(&Page { shell: Shell::of(&visit, "/help") })
}
