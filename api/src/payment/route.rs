//! Invoices, for their merchant.

use axum::{
    Json,
    body::Body,
    extract::{self, Path, rejection::PathRejection},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use gateway::{
    app::invoice::read::PaymentDetail,
    invoice::{payment::Payment, schema},
    storage::invoices::ListOrder,
};

use crate::{
    State,
    auth::Merchant,
    body::read_members,
    error::ApiError,
    payment::{
        list::PaymentList,
        new_payment::{self, NewPayment},
    },
    query::Parameters,
};

pub(crate) const REPLAY_HEADER: HeaderName = HeaderName::from_static("x-gateway-idempotent-replay");
const REFERENCE_CHARS_MAX: usize = 255;
const PAGE_MAX: i64 = i64::MAX / 1_000;

/// Create an invoice
///
/// With `pay_currency` = `all` the response is a draft: address, amount and currency are null until
/// the buyer chooses a currency on `invoice_url`.
#[utoipa::path(
    post, path = "/v1/payment", operation_id = "createPayment", tag = "Invoices",
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255, description =
        "A repeated request gets the first response for 24 hours, also if requests are concurrent. A different body \
         under the same key is refused with `INVALID_REQUEST`.")),
    request_body(content = NewPayment, example = json!({
        "price_amount": 25, "price_currency": "usd", "pay_currency": "usdtmatic", "order_id": "order-1",
        "ipn_callback_url": "https://shop.example/ipn",
    })),
    responses((status = 201, description = "The new invoice, or the one that the same key created before.", body = Payment,
        headers(("X-Gateway-Idempotent-Replay" = String, description = "`true` in the response to a repeated request; otherwise absent.")))),
)]
pub async fn create(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let key = new_payment::idempotency_key(&headers)?;
    let members = read_members(body).await?;
    let request = new_payment::parse(&members, key, gateway.egress.policy())?;
    let created = gateway.create_invoice(&caller, &request).await?;
    let json = HeaderValue::from_static("application/json");
    let mut response = (StatusCode::CREATED, created.body).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    if created.replayed {
        response.headers_mut().insert(REPLAY_HEADER, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// Read an invoice
#[utoipa::path(
    get, path = "/v1/payment/{id}", operation_id = "readPayment", tag = "Invoices",
    params(("id" = String, Path, max_length = 255, description =
        "The `payment_id`, or the merchant's `order_id`; if several invoices have this `order_id`, an arbitrary one of \
         them is returned.")),
    responses((status = 200, description = "The invoice.", body = PaymentDetail)),
)]
pub async fn read(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    reference: Result<Path<String>, PathRejection>,
) -> Result<Json<PaymentDetail>, ApiError> {
    let reference = self::reference(reference)?;
    let found = gateway.find_payment(caller.merchant_id, &reference).await?;
    found.map(Json).ok_or(ApiError::PaymentNotFound)
}

/// The `payment_id` or `order_id` of a path. A text that can be neither names no payment.
pub(super) fn reference(path: Result<Path<String>, PathRejection>) -> Result<String, ApiError> {
    let Path(reference) = path.map_err(|_| ApiError::PaymentNotFound)?;
    if reference.contains('\0') || reference.chars().count() > REFERENCE_CHARS_MAX {
        return Err(ApiError::PaymentNotFound);
    }
    Ok(reference)
}

/// List invoices
#[utoipa::path(
    get, path = "/v1/payment", operation_id = "listPayments", tag = "Invoices",
    params(
        ("limit" = Option<schema::WholeNumber>, Query, description = "Invoices per page: 10 if absent; values outside 1 to 100 are clamped."),
        ("page" = Option<schema::WholeNumber>, Query, description = "0-based; 0 if absent or negative."),
        ("sortBy" = Option<String>, Query, description = "`created_at` or `updated_at`; anything else is read as `created_at`."),
        ("orderBy" = Option<String>, Query, description = "`desc` or `asc`; anything else is read as `desc`."),
    ),
    responses((status = 200, description = "One page.", body = PaymentList)),
)]
pub async fn list(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    parameters: Parameters,
) -> Result<Json<PaymentList>, ApiError> {
    let limit = parameters.clamped("limit", 10, 1..=100)?;
    let page = parameters.clamped("page", 0, 0..=PAGE_MAX)?;
    let by_update = parameters.text("sortBy")? == Some("updated_at");
    let ascending = parameters.text("orderBy")? == Some("asc");
    let order = match (by_update, ascending) {
        (false, false) => ListOrder::CreatedDesc,
        (false, true) => ListOrder::CreatedAsc,
        (true, false) => ListOrder::UpdatedDesc,
        (true, true) => ListOrder::UpdatedAsc,
    };
    let found = gateway.list_payments(caller.merchant_id, order, limit, page * limit).await?;
    Ok(Json(PaymentList::render(found, limit, page)))
}
