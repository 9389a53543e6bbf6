//! The dashboard: what merchants and operators see and do in a browser.
//!
//! Server-rendered pages and plain forms. One folder per screen, its route and its template side by
//! side; `guard` decides who may reach which, by the table of `gateway::account::action`. Routes
//! call functions of `gateway::app`, as the API's do.

mod account;
mod announcements;
mod asset;
mod audit;
mod balance;
pub mod chart;
mod cookie;
mod currencies;
mod dead_letters;
mod deposits;
mod developers;
mod events;
mod form;
mod guard;
mod headers;
mod help;
mod invitation;
mod links;
mod list;
mod live;
mod merchants;
mod names;
mod networks;
mod next_page;
mod operator;
mod operator_payouts;
mod origin;
mod overview;
mod passkey;
mod payments;
mod payouts;
mod problem;
mod qr;
mod reports;
mod routes;
mod settings;
mod shell;
mod sign_in;
mod subscriptions;
mod team;
mod upload;
mod visit;
mod x402;
mod x402_health;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{MatchedPath, Request},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use gateway::app::{Gateway, accounting::export::REQUEST_TIME_MAX};
use tower_http::catch_panic::CatchPanicLayer;

use problem::Problem;

pub type State = Arc<Gateway>;

pub use routes::{Route, routes};

/// The dashboard's origin under `{dashboard_url}`.
pub fn router(gateway: State) -> Router {
    let limit = Duration::from_secs(gateway.config.api.request_timeout_seconds);
    let add = |router: Router<State>, route: Route| {
        let gate = guard::Gate { gateway: gateway.clone(), action: route.action };
        let guarded = middleware::from_fn_with_state(gate, guard::guard);
        router.route(route.path, route.handler.route_layer(guarded))
    };
    let fence = headers::Fence::of(&gateway.config.dashboard_url);
    routes()
        .into_iter()
        .fold(Router::new(), add)
        .route(passkey::SCRIPT_PATH.as_str(), get(passkey::serve_script))
        .merge(asset::router())
        .fallback(|| async { Problem::NotFound })
        .method_not_allowed_fallback(|| async { Problem::NotFound })
        .layer(middleware::from_fn(live::unchanged))
        .layer(CatchPanicLayer::custom(|_| Problem::Broken.into_response()))
        .layer(middleware::from_fn(move |request, next| within(limit, request, next)))
        .layer(middleware::from_fn_with_state(fence, headers::fence))
        .with_state(gateway)
}

/// Bounds and counts a request. Its path is never noted: the ends of links are secret.
async fn within(usual: Duration, request: Request, next: Next) -> Response {
    let started = std::time::Instant::now();
    let matched = request.extensions().get::<MatchedPath>();
    let path = matched.map_or("unmatched", MatchedPath::as_str).to_owned();
    // A year of records is read before the first byte of its file.
    let limit = if path.starts_with("/reports/") { REQUEST_TIME_MAX } else { usual };
    let answer = tokio::time::timeout(limit, next.run(request)).await;
    let response = answer.unwrap_or_else(|_| Problem::Busy.into_response());
    let status = response.status().as_u16().to_string();
    metrics::counter!("http_requests_total", "path" => path.clone(), "status" => status.clone())
        .increment(1);
    metrics::histogram!("http_request_seconds", "path" => path.clone()).record(started.elapsed());
    tracing::debug!(path, status, elapsed_ms = started.elapsed().as_millis(), "answered");
    response
}
