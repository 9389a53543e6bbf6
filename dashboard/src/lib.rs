//! The dashboard: what merchants and operators see and do in a browser.
//!
//! Server-rendered pages and plain forms. One folder per screen, its route and its template side by
//! side; `guard` decides who may reach which, by the table of `gateway::account::action`. Routes
//! call functions of `gateway::app`, as the API's do.

mod account;
mod asset;
mod audit;
pub mod chart;
mod cookie;
mod dead_letters;
mod developers;
mod events;
mod form;
mod guard;
mod headers;
mod help;
mod invitation;
mod list;
mod live;
mod merchants;
mod operator;
mod origin;
mod overview;
mod payments;
mod problem;
mod settings;
mod shell;
mod sign_in;
mod visit;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{MatchedPath, Request},
    http::Method,
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};
use gateway::{account::Action, app::Gateway};
use tower_http::catch_panic::CatchPanicLayer;

use problem::Problem;

pub type State = Arc<Gateway>;

/// One row of the table of routes.
pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub action: Action,
    handler: MethodRouter<State>,
}

/// Every route but those of the assets. The router is built from this list alone, so that a test
/// that walks it misses nothing, and none is without its action.
pub fn routes() -> Vec<Route> {
    let read = |path, action, handler| Route { method: Method::GET, path, action, handler };
    let act = |path, action, handler| Route { method: Method::POST, path, action, handler };
    use Action as A;
    vec![
        read("/sign-in", A::SessionOpen, get(sign_in::page)),
        act("/sign-in", A::SessionOpen, post(sign_in::submit)),
        read("/sign-in/code", A::CodeEnter, get(sign_in::code_page)),
        act("/sign-in/code", A::CodeEnter, post(sign_in::submit_code)),
        read("/sign-in/link/{token}", A::SessionOpen, get(sign_in::link_page)),
        act("/sign-in/link/{token}", A::SessionOpen, post(sign_in::submit_link)),
        act("/sign-out", A::SessionClose, post(sign_in::close)),
        read("/invite/{token}", A::SessionOpen, get(invitation::page)),
        act("/invite/{token}", A::SessionOpen, post(invitation::accept)),
        read("/account", A::AccountView, get(account::page)),
        read("/account/confirm", A::AccountConfirm, get(account::confirm::page)),
        act("/account/confirm", A::AccountConfirm, post(account::confirm::submit)),
        act("/account/password", A::PasswordChange, post(account::change_password)),
        act("/account/codes", A::TotpBegin, post(account::codes::begin)),
        act("/account/codes/confirm", A::TotpConfirm, post(account::codes::confirm)),
        act("/account/sessions/{handle}/end", A::SessionRevoke, post(account::end_session)),
        act("/account/merchant", A::MerchantChoose, post(account::choose_merchant)),
        read("/help", A::AccountView, get(help::page)),
        read("/", A::OverviewView, get(overview::page)),
        read("/payments", A::PaymentView, get(payments::list)),
        read("/payments/{id}", A::PaymentView, get(payments::detail::page)),
        act("/payments/{id}/cancel", A::PaymentCancel, post(payments::detail::cancel)),
        read("/events", A::EventView, get(events::list)),
        read("/events/{id}", A::EventView, get(events::page)),
        act("/events/{id}/resend", A::EventResend, post(events::resend)),
        read("/developers", A::DevelopersView, get(developers::page)),
        act("/developers/key", A::KeyRotate, post(developers::rotate_key)),
        act("/developers/secret", A::SecretRotate, post(developers::rotate_secret)),
        read("/settings", A::SettingsView, get(settings::page)),
        act("/settings", A::SettingsChange, post(settings::submit)),
        read("/operator", A::OperatorView, get(operator::page)),
        read("/operator/merchants", A::MerchantView, get(merchants::list)),
        act("/operator/merchants", A::MerchantCreate, post(merchants::create)),
        read("/operator/merchants/{id}", A::MerchantView, get(merchants::page)),
        act("/operator/merchants/{id}/suspend", A::MerchantSuspend, post(merchants::suspend)),
        act("/operator/merchants/{id}/resume", A::MerchantResume, post(merchants::resume)),
        read("/operator/dead-letters", A::DeadLetterView, get(dead_letters::page)),
        act("/operator/dead-letters", A::DeadLetterRequeue, post(dead_letters::requeue)),
        read("/operator/audit", A::AuditView, get(audit::page)),
    ]
}

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
async fn within(limit: Duration, request: Request, next: Next) -> Response {
    let started = std::time::Instant::now();
    let matched = request.extensions().get::<MatchedPath>();
    let path = matched.map_or("unmatched", MatchedPath::as_str).to_owned();
    let answer = tokio::time::timeout(limit, next.run(request)).await;
    let response = answer.unwrap_or_else(|_| Problem::Busy.into_response());
    let status = response.status().as_u16().to_string();
    metrics::counter!("http_requests_total", "path" => path.clone(), "status" => status.clone())
        .increment(1);
    metrics::histogram!("http_request_seconds", "path" => path.clone()).record(started.elapsed());
    tracing::debug!(path, status, elapsed_ms = started.elapsed().as_millis(), "answered");
    response
}
