//! The HTTP faces of the gateway: the merchant API, and the checkout's origin.
//!
//! Thin: routes read a request, call one function of `gateway::app`, and spell the answer. One
//! folder per family, with its routes, its requests and its answers side by side; the codes of
//! refusals are in [`error`]. Nothing here decides a status or an amount.

pub mod auth;
pub mod balance;
pub mod body;
pub mod buyer_status;
pub mod catalogue;
pub mod checkout;
pub mod client_ip;
mod cross_origin;
pub mod docs;
pub mod error;
pub mod event;
pub mod export;
pub mod legacy;
pub mod link;
pub mod nc_payout;
pub mod nowpayments;
pub mod openapi;
pub mod payment;
pub mod payout;
pub mod query;
pub mod recipients;
pub mod refusal;
mod request_id;
pub mod sandbox;
pub mod status;
pub mod subscription;
pub mod till;
pub mod x402;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::Request,
    http::Method,
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{MethodRouter, delete, get, patch, post},
};
use gateway::{
    app::{Gateway, accounting::export::REQUEST_TIME_MAX, invoice::follow::WAIT_MAX},
    telemetry::trace::{self, Kind, Span, TraceContext},
};
use tower_http::{catch_panic::CatchPanicLayer, compression::CompressionLayer};

use tracing::Instrument;

use cross_origin::Cors;
use error::ApiError;
use request_id::RequestId;

pub type State = Arc<Gateway>;

/// The callers that may use an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Anyone,
    /// Callers with a merchant's `x-api-key`.
    Merchant,
}

/// One row of the specification's table "Endpoints".
pub struct Endpoint {
    pub method: Method,
    /// With `{id}` where the specification writes `:id`.
    pub path: &'static str,
    pub access: Access,
    /// Errors that it can answer besides those that its access implies and `INTERNAL_ERROR`.
    pub errors: &'static [ApiError],
    handler: MethodRouter<State>,
}

const INVALID: ApiError = ApiError::InvalidRequest(String::new());
const BELOW_MINIMUM: ApiError = ApiError::AmountBelowMinimum(String::new());

/// The whole merchant API. The router is built from this list alone, so a test that walks it misses
/// nothing.
pub fn endpoints() -> Vec<Endpoint> {
    use Access::{Anyone, Merchant};
    use ApiError::{
        CurrencyNotSupported, EventNotFound, NoEligibleCurrencies, PaymentNotFound, PolledTooOften,
        QuotaExceeded, RateProviderDown, UnknownPath,
    };
    use buyer_status::route as buyer;
    use catalogue::route as prices;
    use event::route as events;
    use nowpayments::route as views;
    use payment::{deposits, route as payments};
    use sandbox::route as simulated;
    const READ: &[ApiError] = &[PaymentNotFound];
    const LISTED: &[ApiError] = &[INVALID];
    const LISTED_OF: &[ApiError] = &[INVALID, PaymentNotFound];
    const SIMULATED: &[ApiError] = &[INVALID, PaymentNotFound, UnknownPath];
    const TOLD: &[ApiError] = &[EventNotFound];
    const RESENT: &[ApiError] = &[INVALID, EventNotFound];
    const PRICED: &[ApiError] = &[INVALID, CurrencyNotSupported, RateProviderDown];
    const POLLED: &[ApiError] = &[INVALID, PaymentNotFound, PolledTooOften];
    const CREATED: &[ApiError] = &[
        INVALID,
        CurrencyNotSupported,
        BELOW_MINIMUM,
        NoEligibleCurrencies,
        QuotaExceeded,
        RateProviderDown,
    ];
    let row =
        |method, path, access, errors, handler| Endpoint { method, path, access, errors, handler };
    let mut all = vec![
        row(Method::GET, "/v1/status", Anyone, &[], get(status::status)),
        row(Method::GET, "/v1/openapi.json", Anyone, &[], get(docs::route::document)),
        row(Method::GET, "/v1/currencies", Anyone, &[], get(prices::currencies)),
        row(Method::GET, "/v1/estimate", Anyone, PRICED, get(prices::estimate)),
        row(Method::GET, "/v1/min-amount", Anyone, PRICED, get(prices::min_amount)),
        row(Method::GET, "/v1/invoices/{id}/status", Anyone, POLLED, get(buyer::status)),
        row(Method::POST, "/v1/payment", Merchant, CREATED, post(payments::create)),
        row(Method::GET, "/v1/payment/{id}", Merchant, READ, get(payments::read)),
        row(Method::GET, "/v1/payment", Merchant, LISTED, get(payments::list)),
        row(Method::GET, "/v1/payment/{id}/deposits", Merchant, LISTED_OF, get(deposits::list)),
        row(Method::GET, "/v1/balance", Merchant, LISTED, get(balance::route::read)),
        row(Method::GET, "/v1/full-currencies", Merchant, &[], get(views::full_currencies)),
        row(Method::GET, "/v1/merchant/coins", Merchant, &[], get(views::merchant_coins)),
        row(Method::POST, "/v1/invoice", Merchant, CREATED, post(views::create_invoice)),
        row(Method::POST, "/v1/sandbox/deposit", Merchant, SIMULATED, post(simulated::deposit)),
        row(Method::POST, "/v1/sandbox/expire", Merchant, SIMULATED, post(simulated::expire)),
        row(Method::GET, "/v1/events", Merchant, LISTED, get(events::list)),
        row(Method::GET, "/v1/events/{id}", Merchant, TOLD, get(events::read)),
        row(Method::POST, "/v1/events/resend", Merchant, LISTED, post(event::bulk::send)),
        row(Method::POST, "/v1/events/{id}/resend", Merchant, RESENT, post(events::resend)),
        row(Method::POST, "/v1/webhooks/test", Merchant, LISTED, post(event::test_event::send)),
    ];
    all.extend(link_endpoints());
    all.extend(device_endpoints());
    all.extend(subscription_endpoints());
    all.extend(export_endpoints());
    all.extend(x402_endpoints());
    all
}

fn link_endpoints() -> [Endpoint; 4] {
    use ApiError::{CurrencyNotSupported, LinkNotFound};
    use link::route as links;
    const LISTED: &[ApiError] = &[INVALID];
    const READ: &[ApiError] = &[LinkNotFound];
    const CREATED: &[ApiError] = &[INVALID, CurrencyNotSupported];
    const CHANGED: &[ApiError] = &[INVALID, CurrencyNotSupported, LinkNotFound];
    let access = Access::Merchant;
    let row = |method, path, errors, handler| Endpoint { method, path, access, errors, handler };
    [
        row(Method::POST, "/v1/links", CREATED, post(links::create)),
        row(Method::GET, "/v1/links", LISTED, get(links::list)),
        row(Method::GET, "/v1/links/{id}", READ, get(links::read)),
        row(Method::PATCH, "/v1/links/{id}", CHANGED, patch(links::change)),
    ]
}

fn device_endpoints() -> [Endpoint; 3] {
    use ApiError::{DeviceNotFound, LinkNotFound};
    use till::route as devices;
    const CREATED: &[ApiError] = &[INVALID, LinkNotFound];
    const REVOKED: &[ApiError] = &[LinkNotFound, DeviceNotFound];
    const DEVICES: &str = "/v1/links/{id}/devices";
    const DEVICE: &str = "/v1/links/{id}/devices/{device_id}";
    let access = Access::Merchant;
    let row = |method, path, errors, handler| Endpoint { method, path, access, errors, handler };
    [
        row(Method::POST, DEVICES, CREATED, post(devices::create)),
        row(Method::GET, DEVICES, CREATED, get(devices::list)),
        row(Method::DELETE, DEVICE, REVOKED, delete(devices::revoke)),
    ]
}

fn subscription_endpoints() -> [Endpoint; 4] {
    use ApiError::{SubscriptionNotFound, UnknownPath};
    use subscription::route as subscriptions;
    const LISTED: &[ApiError] = &[INVALID];
    const READ: &[ApiError] = &[SubscriptionNotFound];
    const ADVANCED: &[ApiError] = &[INVALID, SubscriptionNotFound, UnknownPath];
    let access = Access::Merchant;
    let row = |method, path, errors, handler| Endpoint { method, path, access, errors, handler };
    [
        row(Method::GET, "/v1/subscriptions", LISTED, get(subscriptions::list)),
        row(Method::GET, "/v1/subscriptions/{id}", READ, get(subscriptions::read)),
        row(Method::POST, "/v1/subscriptions/{id}/cancel", READ, post(subscriptions::cancel)),
        row(Method::POST, "/v1/sandbox/advance", ADVANCED, post(subscriptions::advance)),
    ]
}

fn export_endpoints() -> [Endpoint; 3] {
    use ApiError::{
        CurrencyNotSupported, ExportHistoryUnavailable, RangeTooLarge, ReportNotFound,
        TooManyExports, UnknownPath,
    };
    use export::{report, route};
    const EXPORTED: &[ApiError] = &[
        INVALID,
        CurrencyNotSupported,
        RangeTooLarge,
        UnknownPath,
        TooManyExports,
        ExportHistoryUnavailable,
    ];
    const REPORTED: &[ApiError] =
        &[INVALID, ReportNotFound, TooManyExports, ExportHistoryUnavailable];
    const LISTED: &[ApiError] = &[ExportHistoryUnavailable];
    let (method, access) = (Method::GET, Access::Merchant);
    let row =
        |path, errors, handler| Endpoint { method: method.clone(), path, access, errors, handler };
    [
        row("/v1/export/reports", LISTED, get(report::list)),
        row("/v1/export/reports/{month}", REPORTED, get(report::read)),
        row("/v1/export/{export}", EXPORTED, get(route::read)),
    ]
}

fn x402_endpoints() -> [Endpoint; 11] {
    use Access::{Anyone, Merchant};
    use ApiError::{
        MerchantSuspended, PaymentNotFound, PolledTooOften, ResourceNotFound, X402InvalidPayload,
        X402Unsupported,
    };
    use x402::{catalogue, facilitator, pay, resource};
    const PUBLIC: &[ApiError] = &[INVALID, PolledTooOften];
    const ASKED: &[ApiError] = &[INVALID, X402InvalidPayload];
    const CREATED: &[ApiError] = &[INVALID, BELOW_MINIMUM, X402Unsupported, MerchantSuspended];
    const LISTED: &[ApiError] = &[INVALID];
    const READ: &[ApiError] = &[ResourceNotFound];
    const PAID: &[ApiError] = &[X402Unsupported, PaymentNotFound, PolledTooOften];
    let row =
        |method, path, access, errors, handler| Endpoint { method, path, access, errors, handler };
    let get_of = |path, access, errors, handler| row(Method::GET, path, access, errors, handler);
    let (own, one) = ("/v1/x402/resources", "/v1/x402/resources/{id}");
    let (listed, found) = ("/v1/x402/discovery/resources", "/v1/x402/discovery/search");
    [
        get_of("/v1/x402/discovery", Anyone, PUBLIC, get(catalogue::discovery)),
        get_of(listed, Anyone, PUBLIC, get(catalogue::list)),
        get_of(found, Anyone, PUBLIC, get(catalogue::search)),
        get_of("/v1/x402/supported", Anyone, &[], get(facilitator::supported)),
        row(Method::POST, "/v1/x402/verify", Merchant, ASKED, post(facilitator::verify)),
        row(Method::POST, "/v1/x402/settle", Merchant, ASKED, post(facilitator::settle)),
        row(Method::POST, own, Merchant, CREATED, post(resource::create)),
        get_of(own, Merchant, LISTED, get(resource::list)),
        get_of(one, Merchant, READ, get(resource::read)),
        row(Method::DELETE, one, Merchant, READ, delete(resource::delete)),
        get_of("/v1/x402/pay/{id}", Anyone, PAID, get(pay::pay)),
    ]
}

/// The merchant API under `{base_url}`.
pub fn api_router(gateway: State) -> Router {
    // An answer that needs no key holds no secret that its length could give away.
    let add = |router: Router<State>, row: Endpoint| match row.access {
        Access::Anyone => on_both_spellings(router, row.path, compressed(row.handler)),
        Access::Merchant => on_both_spellings(router, row.path, row.handler),
    };
    let families = payout::routes().merge(nc_payout::routes()).merge(legacy::routes());
    let pages = on_both_spellings(families, "/docs", compressed(get(docs::route::reference)))
        .route("/docs/{name}", compressed(get(docs::route::named)));
    finish(endpoints().into_iter().fold(pages, add), gateway)
}

/// A path with a slash behind it is the same path: clients that were written for other services
/// send one.
fn on_both_spellings(
    router: Router<State>,
    path: &str,
    handler: MethodRouter<State>,
) -> Router<State> {
    router.route(path, handler.clone()).route(&format!("{path}/"), handler)
}

/// The path of the route that serves a request, without the slash that may be behind it.
fn matched_path(request: &Request) -> Option<&str> {
    let path = request.extensions().get::<axum::extract::MatchedPath>()?.as_str();
    Some(path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path))
}

fn compressed(handler: MethodRouter<State>) -> MethodRouter<State> {
    handler.layer(CompressionLayer::new())
}

/// The checkout's origin under `{checkout_url}`: the buyer's actions, keyed by the invoice's id
/// alone.
pub fn checkout_router(gateway: State) -> Router {
    use buyer_status::route as buyer;
    use checkout::{action, route as pages};
    let mut routes = Router::new()
        .route("/assets/{name}", get(pages::asset))
        .route("/logo/{name}", get(pages::logo))
        .route("/widget/v1.js", get(pages::widget))
        .route("/api/pay/{id}/select", post(action::select))
        .route("/api/pay/{id}/cancel", post(action::cancel))
        .route("/v1/invoices/{id}/status", get(buyer::follow));
    for page in ["/pay/{id}", "/embed/{id}"] {
        routes = routes
            .route(page, get(pages::page))
            .route(&format!("{page}/receipt"), get(checkout::receipt::page))
            .route(&format!("{page}/select"), post(action::select_form))
            .route(&format!("{page}/cancel"), post(action::cancel_form))
            .route(&format!("{page}/simulate"), post(action::simulate_form));
    }
    for page in ["/l/{id}", "/embed/l/{id}"] {
        routes = routes.route(page, get(link::page::show).post(link::page::order));
    }
    routes = routes
        .route("/renew/{token}", get(subscription::page::show).post(subscription::page::renew))
        .route("/renew/{token}/cancel", post(subscription::page::cancel))
        .route(
            "/unsubscribe/{token}",
            get(subscription::unsubscribe::show).post(subscription::unsubscribe::stop),
        );
    routes = routes.route("/l/{id}/button.svg", get(link::button::picture));
    routes = till::page::add_to(routes);
    finish(routes.layer(CompressionLayer::new()), gateway)
}

/// Unknown paths, wrong methods, panics and slow handlers all answer with the envelope. Thousands
/// of pages wait inside these layers: each one more costs each page a kilobyte.
fn finish(routes: Router<State>, gateway: State) -> Router {
    let limits = Limits {
        usual: Duration::from_secs(gateway.config.api.request_timeout_seconds),
        settling: Duration::from_secs(gateway.config.x402.settle_wait_seconds)
            .saturating_add(BESIDE_THE_WAIT),
    };
    routes
        .fallback(|| async { ApiError::UnknownPath })
        .method_not_allowed_fallback(|| async { ApiError::MethodNotAllowed })
        .layer(CatchPanicLayer::custom(|_| ApiError::panicked().into_response()))
        .layer(middleware::from_fn(move |request, next| within(limits, request, next)))
        .with_state(gateway)
}

/// Time of a settlement beside the wait for its block.
const BESIDE_THE_WAIT: Duration = Duration::from_secs(10);

/// The longest that requests may take.
#[derive(Clone, Copy)]
struct Limits {
    usual: Duration,
    /// Of one that waits for a block.
    settling: Duration,
}

impl Limits {
    fn of(self, path: &str) -> Duration {
        match path {
            "/v1/x402/settle" | "/v1/x402/pay/{id}" => self.usual.max(self.settling),
            // A year of records is read before the first byte of its answer.
            path if path.starts_with("/v1/export/") => REQUEST_TIME_MAX,
            // A page waits for a change, and is answered like any other after that.
            "/v1/invoices/{id}/status" => self.usual.saturating_add(WAIT_MAX),
            _ => self.usual,
        }
    }
}

async fn within(limits: Limits, request: Request, next: Next) -> Response {
    let started = std::time::Instant::now();
    let method = request.method().clone();
    let path = matched_path(&request).unwrap_or("unmatched").to_owned();
    let limit = limits.of(&path);
    let id = RequestId::of(request.headers());
    let cors = Cors::of(&request);
    let header = request.headers().get(trace::HEADER).and_then(|value| value.to_str().ok());
    let caller = header.and_then(TraceContext::parse);
    let span = Span::begin(format!("{method} {path}"), Kind::Server, caller);
    let lines = tracing::info_span!("request", request.id = id.as_str());
    let work = async {
        if let Some(answer) = cors.preflight() {
            return answer;
        }
        let answer = tokio::time::timeout(limit, next.run(request)).await;
        answer.unwrap_or_else(|_| ApiError::timed_out().into_response())
    };
    let mut response = span.scope(work.instrument(lines)).await;
    cors.expose(response.headers_mut());
    response.headers_mut().insert(request_id::HEADER, id.value());
    let status = response.status().as_u16().to_string();
    let request_id = id.as_str().to_owned();
    span.end(vec![("http.response.status_code", status.clone()), ("request.id", request_id)]);
    metrics::counter!("http_requests_total", "path" => path.clone(), "status" => status.clone())
        .increment(1);
    metrics::histogram!("http_request_seconds", "path" => path.clone()).record(started.elapsed());
    let request_id = id.as_str();
    tracing::debug!(%method, path, status, request_id, elapsed_ms = started.elapsed().as_millis(), "answered");
    response
}
