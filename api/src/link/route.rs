//! Links, for their merchant.

use axum::{
    Json,
    body::Body,
    extract::{self, Path, rejection::PathRejection},
    http::{HeaderMap, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use gateway::{app::link::LinkError, invoice::schema, link, storage::invoices::ListOrder};

use crate::{
    State,
    auth::Merchant,
    body::read_members,
    error::ApiError,
    link::{
        request::{self, NewPaymentLink, PaymentLinkChanges},
        wire::{PaymentLink, PaymentLinkList},
    },
    payment::{new_payment::idempotency_key, route::REPLAY_HEADER},
    query::Parameters,
};

const PAGE_MAX: i64 = i64::MAX / 1_000;

/// Create a payment link
///
/// A page whose visitors create invoices without your server: `url` in the answer. Its invoices
/// send their IPNs to the link's `ipn_callback_url`.
#[utoipa::path(
    post, path = "/v1/links", operation_id = "createLink", tag = "Payment links",
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255, description =
        "A repeated request gets the same link for 24 hours. A different body under the same key is refused with \
         `INVALID_REQUEST`.")),
    request_body(content = NewPaymentLink, example = json!({
        "type": "donation", "title": "Keep the lights on", "price_currency": "usd", "suggested_amounts": [5, 10, 25],
        "min_amount": 2, "ipn_callback_url": "https://shop.example/ipn",
    })),
    responses((status = 201, description = "The new link, or the one that the same key created before.", body = PaymentLink,
        headers(("X-Gateway-Idempotent-Replay" = String, description = "`true` in the response to a repeated request; otherwise absent.")))),
)]
pub async fn create(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let key = idempotency_key(&headers)?;
    let members = read_members(body).await?;
    let terms = request::parse(&members, gateway.egress.policy())?;
    let idempotency = request::idempotency(key, &terms);
    let pin = request::pin(&members)?;
    let (merchant, idempotency) = (caller.merchant_id, idempotency.as_ref());
    let created = gateway.create_link(merchant, &terms, pin.as_ref(), idempotency).await?;
    let link = PaymentLink::render(created.link, &gateway.config.checkout_url);
    let mut response = (StatusCode::CREATED, Json(link)).into_response();
    if created.replayed {
        response.headers_mut().insert(REPLAY_HEADER, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// Read a payment link
#[utoipa::path(
    get, path = "/v1/links/{id}", operation_id = "readLink", tag = "Payment links",
    params(("id" = String, Path, description = "The `link_id`.")),
    responses((status = 200, description = "The link.", body = PaymentLink)),
)]
pub async fn read(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<PaymentLink>, ApiError> {
    let found = gateway.find_link(caller.merchant_id, &link_id(id)?).await?;
    let link = found.ok_or(ApiError::LinkNotFound)?;
    Ok(Json(PaymentLink::render(link, &gateway.config.checkout_url)))
}

/// Change a payment link
///
/// What is absent stays as it is. Invoices that exist keep their price, and an open one can still
/// be paid after the link was switched off.
#[utoipa::path(
    patch, path = "/v1/links/{id}", operation_id = "changeLink", tag = "Payment links",
    params(("id" = String, Path, description = "The `link_id`.")),
    request_body(content = PaymentLinkChanges, example = json!({ "active": false })),
    responses((status = 200, description = "The link as it is now.", body = PaymentLink)),
)]
pub async fn change(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    id: Result<Path<String>, PathRejection>,
    body: Body,
) -> Result<Json<PaymentLink>, ApiError> {
    let id = link_id(id)?;
    let changes = request::changes(&read_members(body).await?, gateway.egress.policy())?;
    let link = gateway.change_link(caller.merchant_id, &id, changes).await?;
    Ok(Json(PaymentLink::render(link, &gateway.config.checkout_url)))
}

/// List payment links
#[utoipa::path(
    get, path = "/v1/links", operation_id = "listLinks", tag = "Payment links",
    params(
        ("limit" = Option<schema::WholeNumber>, Query, description = "Links per page: 10 if absent; values outside 1 to 100 are clamped."),
        ("page" = Option<schema::WholeNumber>, Query, description = "0-based; 0 if absent or negative."),
        ("sortBy" = Option<String>, Query, description = "`created_at` or `updated_at`; anything else is read as `created_at`."),
        ("orderBy" = Option<String>, Query, description = "`desc` or `asc`; anything else is read as `desc`."),
    ),
    responses((status = 200, description = "One page.", body = PaymentLinkList)),
)]
pub async fn list(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    parameters: Parameters,
) -> Result<Json<PaymentLinkList>, ApiError> {
    let limit = parameters.clamped("limit", 10, 1..=100)?;
    let page = parameters.clamped("page", 0, 0..=PAGE_MAX)?;
    let order = order(&parameters)?;
    let found = gateway.list_links(caller.merchant_id, order, limit, page * limit).await?;
    Ok(Json(PaymentLinkList::render(found, limit, page, &gateway.config.checkout_url)))
}

/// As in the list of invoices.
fn order(parameters: &Parameters) -> Result<ListOrder, ApiError> {
    let by_update = parameters.text("sortBy")? == Some("updated_at");
    let ascending = parameters.text("orderBy")? == Some("asc");
    Ok(match (by_update, ascending) {
        (false, false) => ListOrder::CreatedDesc,
        (false, true) => ListOrder::CreatedAsc,
        (true, false) => ListOrder::UpdatedDesc,
        (true, true) => ListOrder::UpdatedAsc,
    })
}

/// The `link_id` of a path. A text that cannot be one names no link.
pub(crate) fn link_id(path: Result<Path<String>, PathRejection>) -> Result<String, ApiError> {
    let id = path.ok().map(|Path(id)| id).filter(|id| link::is_id(id));
    id.ok_or(ApiError::LinkNotFound)
}

impl From<LinkError> for ApiError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::NotFound => Self::LinkNotFound,
            LinkError::UnknownToken(_) => Self::CurrencyNotSupported,
            LinkError::Suspended => Self::MerchantSuspended,
            LinkError::Terms(_)
            | LinkError::TooMany { .. }
            | LinkError::SandboxOnly
            | LinkError::UnknownTimeZone
            | LinkError::PinWithoutTill
            | LinkError::IdempotencyMismatch => Self::invalid(error.to_string()),
            LinkError::Storage(error) => error.into(),
        }
    }
}
