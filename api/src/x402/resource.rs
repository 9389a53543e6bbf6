//! A merchant's own resources.

use axum::{
    Json,
    body::Body,
    extract::{self, Path, rejection::PathRejection},
    http::StatusCode,
};
use gateway::{app::x402::ResourceError, invoice::schema, x402::resource};

use super::{
    request::{self, NewPaidResource},
    wire::{PaidResource, PaidResourceList},
};
use crate::{State, auth::Merchant, body::read_members, error::ApiError, query::Parameters};

/// Rows that a reader may leave out: beyond it the database would count for nobody.
pub(super) const OFFSET_MAX: i64 = 100_000;

/// Sell a resource to programs
///
/// Gives it an address of its own, where payments arrive, and the terms for your 402: `accepts`.
#[utoipa::path(
    post, path = "/v1/x402/resources", operation_id = "createX402Resource", tag = "x402",
    request_body(content = NewPaidResource, example = json!({
        "url": "https://api.example/weather", "description": "The weather of tomorrow", "price_amount": 0.01, "listed": true,
    })),
    responses((status = 201, description = "The new resource.", body = PaidResource)),
)]
pub async fn create(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    body: Body,
) -> Result<(StatusCode, Json<PaidResource>), ApiError> {
    let terms = request::parse(&read_members(body).await?, gateway.x402_networks())?;
    let created = gateway.create_x402_resource(caller.merchant_id, &terms).await?;
    Ok((StatusCode::CREATED, Json(PaidResource::render(&created))))
}

/// Read a resource
#[utoipa::path(
    get, path = "/v1/x402/resources/{id}", operation_id = "readX402Resource", tag = "x402",
    params(("id" = String, Path, description = "The `resource_id`.")),
    responses((status = 200, description = "The resource.", body = PaidResource)),
)]
pub async fn read(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<PaidResource>, ApiError> {
    let found = gateway.x402_resource(caller.merchant_id, &resource_id(id)?).await?;
    Ok(Json(PaidResource::render(&found)))
}

/// List your resources
#[utoipa::path(
    get, path = "/v1/x402/resources", operation_id = "listOwnX402Resources", tag = "x402",
    params(
        ("limit" = Option<schema::WholeNumber>, Query, description = "Resources per page: 10 if absent; values outside 1 to 100 are clamped."),
        ("page" = Option<schema::WholeNumber>, Query, description = "0-based; 0 if absent or negative."),
    ),
    responses((status = 200, description = "One page, the newest first.", body = PaidResourceList)),
)]
pub async fn list(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    parameters: Parameters,
) -> Result<Json<PaidResourceList>, ApiError> {
    let limit = parameters.clamped("limit", 10, 1..=100)?;
    let page = parameters.clamped("page", 0, 0..=OFFSET_MAX / 100)?;
    let found =
        gateway.list_x402_resources(caller.merchant_id, limit, page.saturating_mul(limit)).await?;
    let data = found.resources.iter().map(PaidResource::render).collect();
    Ok(Json(PaidResourceList { data, limit, page, total: found.total }))
}

/// Stop selling a resource
///
/// Payments that are under way still arrive, and are booked for you.
#[utoipa::path(
    delete, path = "/v1/x402/resources/{id}", operation_id = "deleteX402Resource", tag = "x402",
    params(("id" = String, Path, description = "The `resource_id`.")),
    responses((status = 204, description = "It is sold no more.")),
)]
pub async fn delete(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    id: Result<Path<String>, PathRejection>,
) -> Result<StatusCode, ApiError> {
    gateway.delete_x402_resource(caller.merchant_id, &resource_id(id)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The `resource_id` of a path. A text that cannot be one names no resource.
fn resource_id(path: Result<Path<String>, PathRejection>) -> Result<String, ApiError> {
    let id = path.ok().map(|Path(id)| id).filter(|id| resource::is_id(id));
    id.ok_or(ApiError::ResourceNotFound)
}

impl From<ResourceError> for ApiError {
    fn from(error: ResourceError) -> Self {
        match error {
            ResourceError::NotFound => Self::ResourceNotFound,
            ResourceError::NotOffered(_) => Self::X402Unsupported,
            ResourceError::BelowMinimum { .. } => Self::AmountBelowMinimum(error.to_string()),
            ResourceError::Suspended => Self::MerchantSuspended,
            ResourceError::Terms(_) | ResourceError::TooMany { .. } => {
                Self::invalid(error.to_string())
            }
            ResourceError::Unavailable => {
                tracing::error!("a token of x402 could not be read for a merchant");
                Self::Internal
            }
            ResourceError::NoAddress(error) => {
                tracing::error!(%error, "a resource could not get an address");
                Self::Internal
            }
            ResourceError::Storage(error) => error.into(),
        }
    }
}
