//! Endpoints that need no key, for the scripts of any page.

use std::sync::LazyLock;

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::{Access, endpoints, matched_path};

/// A day, which is more than browsers keep it.
const KEPT_SECONDS: HeaderValue = HeaderValue::from_static("86400");

/// Headers of answers that scripts may read; the last ones carry terms and outcomes of x402.
const EXPOSED: &str =
    "retry-after, x-request-id, payment-required, payment-response, x-payment-response";

/// True if the table of endpoints asks for no key at the path of `request`.
fn is_open(request: &Request) -> bool {
    static OPEN: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let open = endpoints().into_iter().filter(|endpoint| endpoint.access == Access::Anyone);
        open.map(|endpoint| endpoint.path).collect()
    });
    matched_path(request).is_some_and(|path| OPEN.contains(&path))
}

/// Lets the scripts of any page read the answers, and answers their browsers' question before (a
/// preflight). No credentials go with it: a merchant's key has no business in a page.
pub async fn allow_any_page(request: Request, next: Next) -> Response {
    if !is_open(&request) {
        return next.run(request).await;
    }
    let is_preflight = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ORIGIN)
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if is_preflight {
        let mut response = StatusCode::NO_CONTENT.into_response();
        allow(response.headers_mut());
        response
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    let exposed = HeaderValue::from_static(EXPOSED);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    response
}

fn allow(headers: &mut HeaderMap) {
    let methods = HeaderValue::from_static("GET, HEAD");
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, KEPT_SECONDS);
}
