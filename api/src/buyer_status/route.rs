//! The buyer's view of an invoice. The id is the only credential, so the response is a fixed list
//! of fields.

use axum::{
    Json,
    extract::{self, Path, rejection::PathRejection},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use gateway::{app::merchant::admit::BuyerBudget, invoice::PaymentId};

use crate::{
    State,
    buyer_status::wire::{BuyerStatus, SluggedError},
    client_ip::Client,
    error::ApiError,
};

/// Read an invoice as its buyer sees it
///
/// The id is the only credential: anyone who knows it may ask, 60 times per minute and client
/// address. Pages of any origin may read it (CORS).
#[utoipa::path(
    get, path = "/v1/invoices/{id}/status", operation_id = "readBuyerStatus", tag = "Buyers",
    params(("id" = String, Path, description = "The invoice's `payment_id`.", example = "pzi_7n4c2v9k1x8m3q6w5e0r2t4y6a")),
    responses((status = 200, description = "The invoice.", body = BuyerStatus)),
)]
pub async fn status(
    extract::State(gateway): extract::State<State>,
    Client(client): Client,
    id: Result<Path<String>, PathRejection>,
) -> Response {
    let mut response = match answer(&gateway, &client, id).await {
        Ok(status) => Json(status).into_response(),
        Err(error) => SluggedError::respond(error),
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Readable from any page: the response needs no credentials and reveals only the public fields
    // to the holder of the id.
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

async fn answer(
    gateway: &State,
    client: &str,
    id: Result<Path<String>, PathRejection>,
) -> Result<BuyerStatus, ApiError> {
    gateway.admit_buyer(BuyerBudget::Status, client).await.map_err(ApiError::of_buyer)?;
    let id = id.ok().and_then(|Path(text)| text.parse::<PaymentId>().ok());
    let id = id.ok_or_else(|| ApiError::invalid("this is not an invoice id"))?;
    let status = gateway.buyer_status(id.as_str()).await?.ok_or(ApiError::PaymentNotFound)?;
    Ok(BuyerStatus::render(&status))
}
