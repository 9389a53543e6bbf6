//! `qrgen.php`: the QR code of a transaction, for its shop's own page.

use axum::{
    extract::{Request, State as Shared},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use super::params::Params;
use crate::{State, checkout::qr, error::ApiError};

const SVG: HeaderValue = HeaderValue::from_static("image/svg+xml");

/// Anybody who has the transaction's key sees its address and, while it can be paid, the amount.
pub async fn picture(Shared(gateway): Shared<State>, request: Request) -> Response {
    let params = Params::parse(request.uri().query().unwrap_or_default().as_bytes());
    match content(&gateway, &params).await {
        Ok(Some(content)) => drawn(&content),
        Ok(None) => ApiError::PaymentNotFound.into_response(),
        Err(error) => error.into_response(),
    }
}

async fn content(gateway: &State, params: &Params) -> Result<Option<String>, ApiError> {
    let (id, key) = (params.raw("id").trim(), params.raw("key").trim());
    let Some(payment_id) = gateway.legacy_transaction_of_buyer(id, key).await? else {
        return Ok(None);
    };
    let status = gateway.buyer_status(&payment_id).await?;
    let asset = status.and_then(|status| status.asset);
    Ok(asset.map(|asset| asset.scannable_uri.unwrap_or(asset.pay_address)))
}

fn drawn(content: &str) -> Response {
    let Some(svg) = qr::svg(content, "QR") else { return StatusCode::NO_CONTENT.into_response() };
    // A picture of its own, not a part of a page, names its language.
    let svg = svg.0.replacen("<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 1);
    let headers = [
        (header::CONTENT_TYPE, SVG),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (headers, svg).into_response()
}
