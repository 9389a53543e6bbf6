//! x402: resources that a merchant sells to programs, and the settlements of their payments.

pub mod detail;
pub mod new;
pub mod settlements;

use askama::Template;
use axum::{extract::State, response::Response};
use gateway::{
    account::Action,
    app::account::session::Permission,
    asset::Network,
    storage::x402::resources::Resource,
    x402::resource::{self, Terms},
};
use url::Url;

use crate::{
    list::{Asked, Pages, ROWS_AND_NEXT},
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

const HERE: &str = "/x402";
/// The id in a snippet before there is a resource.
const SOME_ID: &str = "pzx_…";
const SOME_PATH: &str = "/weather";

#[derive(Template)]
#[template(path = "x402/page.html")]
struct Page {
    shell: Shell,
    /// The list of those that are switched off.
    is_off: bool,
    rows: Vec<Resource>,
    pages: Pages,
    /// Networks on which programs can pay.
    offered: Vec<Network>,
    /// Shown while the merchant has no resource at all.
    snippet: Option<String>,
    docs: String,
    may_create: bool,
}

pub async fn list(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let is_off = visit.asked("state") == Some("off");
    let asked = Asked::of(&visit);
    let beside =
        |is_off| gateway.x402_resources_beside(merchant_id, is_off, asked.place(), ROWS_AND_NEXT);
    let mut rows = beside(is_off).await?;
    let is_new = rows.is_empty() && beside(!is_off).await?.is_empty();
    let filters = [("state", if is_off { "off" } else { "" })];
    let pages =
        Pages::cut(&mut rows, asked, HERE, &filters, |row: &Resource| (row.created_at, row.id));
    let base = base_url(&gateway);
    show(&Page {
        shell: Shell::of(&visit, HERE),
        is_off,
        rows,
        pages,
        offered: gateway.x402_networks(),
        snippet: is_new.then(|| snippet(base, SOME_ID, SOME_PATH)),
        docs: format!("{base}/docs/x402"),
        may_create: visit.signed()?.may(Action::X402Create) == Permission::Granted,
    })
}

fn base_url(gateway: &crate::State) -> &str {
    gateway.config.base_url.trim_end_matches('/')
}

fn price(terms: &Terms) -> String {
    format!("{} USD", terms.price.to_decimal())
}

fn networks(terms: &Terms) -> String {
    terms.networks.iter().map(|network| network.title()).collect::<Vec<_>>().join(", ")
}

/// The lines that charge for a path of a server, in TypeScript.
fn snippet(base_url: &str, resource_id: &str, path: &str) -> String {
    format!(
        "import {{ Gateway, requirePayment }} from 'gateway-sdk';\n\
         const gateway = new Gateway({{ baseUrl: '{base_url}', apiKey: process.env.GATEWAY_API_KEY }});\n\
         app.get('{path}', requirePayment(gateway, '{resource_id}'), handler);"
    )
}

/// The path of a resource, as it stands between quotes in a snippet.
fn path_of(url: &str) -> String {
    let path = Url::parse(url).map(|url| url.path().to_owned()).unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.~%".contains(c);
    if path.chars().all(is_plain) && !path.is_empty() { path } else { SOME_PATH.to_owned() }
}

/// A text that cannot be an id names no resource.
fn known(id: &str) -> Result<&str, Problem> {
    if resource::is_id(id) { Ok(id) } else { Err(Problem::NotFound) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_names_the_path_that_is_sold_and_nothing_that_ends_its_quotes() {
        for (url, path) in [
            ("https://api.example/v2/weather?day=1", "/v2/weather"),
            ("https://api.example", "/"),
            ("https://api.example/a'b", SOME_PATH),
            ("no address", SOME_PATH),
        ] {
            assert_eq!(path_of(url), path, "{url}");
        }
        let lines = snippet("https://pay.example", SOME_ID, SOME_PATH);
        assert_eq!(lines.lines().count(), 3);
        assert!(lines.ends_with("app.get('/weather', requirePayment(gateway, 'pzx_…'), handler);"));
    }
}
