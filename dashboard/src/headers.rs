//! Headers that fence every answer in.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, header},
    middleware::Next,
    response::Response,
};

/// Nothing inline, nothing from another host, in no frame. Pages ask this origin alone.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; \
     style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// True if the origin is encrypted, so that browsers are told never to ask it otherwise.
#[derive(Debug, Clone, Copy)]
pub struct Fence {
    is_encrypted: bool,
}

impl Fence {
    pub fn of(dashboard_url: &str) -> Self {
        Self { is_encrypted: dashboard_url.starts_with("https:") }
    }
}

pub async fn fence(State(fence): State<Fence>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    put(fence, response.headers_mut());
    response
}

fn put(fence: Fence, headers: &mut HeaderMap) {
    for (name, value) in [
        ("content-security-policy", CONTENT_SECURITY_POLICY),
        // `no-referrer` would make the origin of every form null.
        ("referrer-policy", "same-origin"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("x-robots-tag", "noindex"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        (
            "permissions-policy",
            "camera=(), microphone=(), geolocation=(), payment=(), publickey-credentials-get=(self), publickey-credentials-create=(self)",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if fence.is_encrypted {
        let year = HeaderValue::from_static("max-age=31536000");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, year);
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
