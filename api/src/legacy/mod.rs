//! The `/legacy` adapter: version 1 of the CoinPayments API, its hosted forms, and their QR codes.
//!
//! Every answer of the API has HTTP 200, refusals too: clients retry or throw at other statuses
//! before they read the body. Only an exhausted budget is HTTP 429.

mod command;
mod form;
mod hosted;
mod params;
mod qr;
mod route;
mod terms;
mod transaction;
mod wire;
mod withdrawal;

use axum::{
    Router,
    routing::{any, get},
};

use crate::{State, on_both_spellings};

/// Paths of the endpoint. The last is for clients whose path is fixed, behind a host name of its
/// own.
const API: [&str; 2] = ["/legacy/api.php", "/api.php"];
const HOSTED: [&str; 2] = ["/legacy/index.php", "/index.php"];
const QR: [&str; 2] = ["/legacy/qrgen.php", "/qrgen.php"];

/// All routes of the adapter.
pub fn routes() -> Router<State> {
    let mut routes = on_both_spellings(Router::new(), "/legacy", any(route::answer));
    for path in API {
        routes = routes.route(path, any(route::answer));
    }
    for path in HOSTED {
        routes = routes.route(path, get(hosted::of_query).post(hosted::of_body));
    }
    for path in QR {
        routes = routes.route(path, get(qr::picture));
    }
    routes
}
