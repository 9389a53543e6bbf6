//! The one endpoint of the API: authentication, then a command.

use axum::{
    body::Body,
    extract::{Request, State as Shared},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use gateway::{
    app::legacy::{LegacyError, admit::Signed},
    legacy::{Refusal, envelope::Format, sign},
};
use serde_json::Value;
use tokio::time::Instant;

use super::{command, params::Params};
use crate::{
    State,
    body::{BODY_BYTES_MAX, read_bytes},
};

const VERSION: &str = "1";
/// Window of the budget in seconds, and its size.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("60");
const RATE_LIMIT: HeaderValue = HeaderValue::from_static("60");

/// `POST /legacy/api.php`. The checks come in this order: version, key, HMAC, suspension, nonce,
/// budget, command. Other methods get the same answer: theirs have no signed body.
pub async fn answer(Shared(gateway): Shared<State>, request: Request) -> Response {
    let begun = Instant::now();
    let (parts, body) = request.into_parts();
    let Some(bytes) = bytes(body).await else {
        return respond(Format::Json, Err(&Refusal::Unreadable));
    };
    let params = Params::parse(&bytes);
    let format = Format::named(params.raw("format").trim());
    let result = match result(&gateway, &parts.headers, (&bytes, &params), begun).await {
        Ok(result) => Ok(result),
        Err(LegacyError::Refused(refusal)) => Err(refusal),
        Err(LegacyError::Storage(error)) => {
            tracing::error!(%error, "a legacy command failed");
            Err(Refusal::Internal)
        }
    };
    respond(format, result.as_ref())
}

async fn bytes(body: Body) -> Option<Vec<u8>> {
    read_bytes(body, BODY_BYTES_MAX).await.ok().flatten()
}

async fn result(
    gateway: &State,
    headers: &HeaderMap,
    (bytes, params): (&[u8], &Params),
    begun: Instant,
) -> Result<Value, LegacyError> {
    if params.raw("version").trim() != VERSION {
        return Err(Refusal::Version.into());
    }
    let signature = headers.get(sign::HEADER).and_then(|value| value.to_str().ok());
    let public_key = params.raw("key").trim();
    let nonce = Some(params.raw("nonce").trim()).filter(|nonce| !nonce.is_empty());
    let signature = signature.map(str::trim);
    let signed = Signed { public_key, signature, nonce, body: bytes };
    let caller = gateway.admit_legacy(&signed).await?;
    command::run(gateway, &caller, params, begun).await
}

fn respond(format: Format, result: Result<&Value, &Refusal>) -> Response {
    let exhausted = result == Err(&Refusal::TooManyRequests);
    let said = result.map_err(ToString::to_string);
    let body = format.render(said.as_ref().map(|value| *value).map_err(String::as_str));
    let status = if exhausted { StatusCode::TOO_MANY_REQUESTS } else { StatusCode::OK };
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if exhausted {
        headers.insert(header::RETRY_AFTER, RETRY_AFTER);
        headers.insert("x-ratelimit-limit", RATE_LIMIT);
    }
    response
}
