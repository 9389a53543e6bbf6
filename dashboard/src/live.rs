//! Pages that a script asks for again and again: what has not changed costs a line.

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http_body_util::{BodyExt, Limited};
use sha2::{Digest, Sha256};

use crate::problem::Problem;

/// Marks a request that a script makes by itself: it does not count as a use of the session.
const MARK: &str = "x-live";
const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

pub fn is_poll(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::GET && headers.contains_key(MARK)
}

/// Names each page that a poll asks for by its content, and answers 304 where the poll has it.
pub async fn unchanged(request: Request, next: Next) -> Response {
    if !is_poll(request.method(), request.headers()) {
        return next.run(request).await;
    }
    let known = request.headers().get(header::IF_NONE_MATCH).cloned();
    let response = next.run(request).await;
    if response.status() != StatusCode::OK {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(body) = Limited::new(body, PAGE_BYTES_MAX).collect().await else {
        return Problem::Broken.into_response();
    };
    let body = body.to_bytes();
    let tag = format!("\"{}\"", hex::encode(Sha256::digest(&body)));
    let Ok(tag) = HeaderValue::from_str(&tag) else { return Problem::Broken.into_response() };
    let is_known = known.as_ref() == Some(&tag);
    parts.headers.insert(header::ETAG, tag);
    if is_known {
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(header::CONTENT_LENGTH);
        return Response::from_parts(parts, Body::empty());
    }
    Response::from_parts(parts, Body::from(body))
}
