//! The API's description: as OpenAPI for machines, and as a page for people that needs no script.

use std::sync::LazyLock;

use askama::Template;
use axum::{
    http::{HeaderName, HeaderValue, header},
    response::{Html, IntoResponse},
};

use crate::{docs::reference::DocsPage, error::ApiError, openapi};

/// Allows the own style sheet only: no scripts, no frames, no other content.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; \
                                       form-action 'none'; frame-ancestors 'none'";
/// The documents change only with a release.
const CACHED: HeaderValue = HeaderValue::from_static("public, max-age=300");

pub async fn document() -> impl IntoResponse {
    let json = HeaderValue::from_static("application/json");
    // Readable from any page, such as a third-party viewer: the document is public.
    let anyone = HeaderValue::from_static("*");
    let headers = [
        (header::CONTENT_TYPE, json),
        (header::CACHE_CONTROL, CACHED),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, anyone),
    ];
    (headers, openapi::json())
}

pub async fn page() -> Result<impl IntoResponse, ApiError> {
    static PAGE: LazyLock<Option<String>> = LazyLock::new(|| {
        let page = DocsPage::read(openapi::json()).render();
        page.inspect_err(|error| tracing::error!(%error, "the documentation cannot be rendered"))
            .ok()
    });
    let html = PAGE.as_deref().ok_or(ApiError::Internal)?;
    Ok((headers(), Html(html)))
}

pub async fn style() -> impl IntoResponse {
    let css = HeaderValue::from_static("text/css; charset=utf-8");
    let nosniff = HeaderValue::from_static("nosniff");
    let headers = [
        (header::CONTENT_TYPE, css),
        (header::CACHE_CONTROL, CACHED),
        (header::X_CONTENT_TYPE_OPTIONS, nosniff),
    ];
    (headers, include_str!("../../assets/docs.css"))
}

fn headers() -> [(HeaderName, HeaderValue); 4] {
    [
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY)),
        (header::CACHE_CONTROL, CACHED),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ]
}
