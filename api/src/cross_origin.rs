//! Endpoints that need no key, for the scripts of any page.

use std::sync::LazyLock;

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
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

/// The rights of other pages' scripts to an answer. No credentials go with them: a merchant's key
/// has no business in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cors {
    Closed,
    Open,
    /// A browser asks whether it is open, before it sends the script's request.
    Preflight,
}

impl Cors {
    pub fn of(request: &Request) -> Self {
        let is_preflight = request.method() == Method::OPTIONS
            && request.headers().contains_key(header::ORIGIN)
            && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        match (is_open(request), is_preflight) {
            (false, _) => Self::Closed,
            (true, false) => Self::Open,
            (true, true) => Self::Preflight,
        }
    }

    /// The answer to a preflight; `None` to any other request, which its handler answers.
    pub fn preflight(self) -> Option<Response> {
        (self == Self::Preflight).then(|| {
            let mut response = StatusCode::NO_CONTENT.into_response();
            allow(response.headers_mut());
            response
        })
    }

    /// Lets the scripts of any page read an answer, also that of a handler that failed.
    pub fn expose(self, headers: &mut HeaderMap) {
        if self != Self::Closed {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
            let exposed = HeaderValue::from_static(EXPOSED);
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
    }
}

fn allow(headers: &mut HeaderMap) {
    let methods = HeaderValue::from_static("GET, HEAD");
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, KEPT_SECONDS);
}
