//! The API's description, as OpenAPI for machines and as a page for people, and the site around it.

use axum::{
    body::Body,
    extract::{Path, State as Shared},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};

use crate::{
    State,
    docs::{postman, sdk, site::SITE},
    error::ApiError,
    openapi,
};

/// Allows files of this server only, and none of them inside the page: no frames, no other content.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; \
                                       base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The same, and requests to this server, for the forms of the sandbox.
const SANDBOX_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; \
                              base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The documents change only with a release.
const CACHED: HeaderValue = HeaderValue::from_static("public, max-age=300");
/// Bytes of the hash in an entity tag: enough to distinguish releases.
const TAG_BYTES: usize = 12;

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const GZIP: &str = "application/gzip";

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

/// The reference, which is the site's first page.
pub async fn reference(
    Shared(gateway): Shared<State>,
    asked: HeaderMap,
) -> Result<Response, ApiError> {
    let is_sandbox = gateway.config.is_sandbox();
    let site = SITE.as_ref().ok_or(ApiError::Internal)?;
    let policy = if is_sandbox { SANDBOX_POLICY } else { CONTENT_SECURITY_POLICY };
    Ok(page(&asked, site.reference(is_sandbox), policy))
}

/// A guide, an SDK, or one of the site's files. Files have a dot in their names.
pub async fn named(
    Shared(gateway): Shared<State>,
    Path(name): Path<String>,
    asked: HeaderMap,
) -> Result<Response, ApiError> {
    let answer = match name.as_str() {
        "docs.css" => file(&asked, CSS, include_str!("../../assets/docs.css")),
        "docs.js" => file(&asked, JAVASCRIPT, include_str!("../../assets/docs.js")),
        "try.js" => file(&asked, JAVASCRIPT, include_str!("../../assets/try.js")),
        "postman.json" => {
            let text = postman::collection(&gateway.config.base_url);
            file(&asked, "application/json", text)
        }
        name if name.starts_with("gateway-sdk-") => {
            let archive = sdk::download(name).ok_or(ApiError::UnknownPath)?;
            file(&asked, GZIP, archive)
        }
        name => {
            let site = SITE.as_ref().ok_or(ApiError::Internal)?;
            let guide = site.guide(name).ok_or(ApiError::UnknownPath)?;
            page(&asked, guide, CONTENT_SECURITY_POLICY)
        }
    };
    Ok(answer)
}

fn page(asked: &HeaderMap, html: &'static str, policy: &'static str) -> Response {
    let mut response = file(asked, HTML, html);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// The content, or only the word that the caller's copy of it is current.
fn file(
    asked: &HeaderMap,
    content_type: &'static str,
    content: impl AsRef<[u8]> + Into<Body>,
) -> Response {
    let tag = tag(content.as_ref());
    let known = asked.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let is_known = known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag));
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Response::new(content.into())
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, CACHED);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// A weak entity tag: the same content may travel compressed or not.
fn tag(content: &[u8]) -> String {
    let hash = Sha256::digest(content);
    format!("W/\"{}\"", hex::encode(&hash[..TAG_BYTES]))
}
