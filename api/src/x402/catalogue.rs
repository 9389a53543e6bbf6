//! The public catalogue of resources, and the discovery of the family.

use axum::{Json, extract};

use super::wire::{X402Discovery, X402Found, X402Item, X402Items, X402Pagination};
use crate::{
    State, client_ip::Client, error::ApiError, query::Parameters, x402::resource::OFFSET_MAX,
};
use gateway::{app::merchant::admit::BuyerBudget, x402::Version};

/// Discover the x402 family
///
/// The facilitator's endpoints, what it can settle, and the public catalogue.
#[utoipa::path(
    get, path = "/v1/x402/discovery", operation_id = "discoverX402", tag = "x402",
    params(
        ("limit" = Option<gateway::invoice::schema::WholeNumber>, Query, description = "Items per page: 20 if absent; values outside 1 to 100 are clamped."),
        ("offset" = Option<gateway::invoice::schema::WholeNumber>, Query, description = "Items to leave out; 0 if absent or negative."),
    ),
    responses((status = 200, description = "Where to pay, by what, for what.", body = X402Discovery)),
)]
pub async fn discovery(
    extract::State(gateway): extract::State<State>,
    Client(client): Client,
    parameters: Parameters,
) -> Result<Json<X402Discovery>, ApiError> {
    let (limit, offset) = place(&parameters)?;
    gateway.admit_buyer(BuyerBudget::Status, &client).await.map_err(ApiError::of_buyer)?;
    let found = gateway.x402_discovery(limit, offset).await?;
    Ok(Json(X402Discovery::render(found, &gateway.config.base_url, (limit, offset))))
}

/// List the resources of all sellers
///
/// Those that their sellers listed, the newest first.
#[utoipa::path(
    get, path = "/v1/x402/discovery/resources", operation_id = "listX402Resources", tag = "x402",
    params(
        ("type" = Option<String>, Query, description = "`http`; any other kind has no items."),
        ("limit" = Option<gateway::invoice::schema::WholeNumber>, Query, description = "Items per page: 20 if absent; values outside 1 to 100 are clamped."),
        ("offset" = Option<gateway::invoice::schema::WholeNumber>, Query, description = "Items to leave out; 0 if absent or negative."),
    ),
    responses((status = 200, description = "One page.", body = X402Items)),
)]
pub async fn list(
    extract::State(gateway): extract::State<State>,
    Client(client): Client,
    parameters: Parameters,
) -> Result<Json<X402Items>, ApiError> {
    let (limit, offset) = place(&parameters)?;
    gateway.admit_buyer(BuyerBudget::Status, &client).await.map_err(ApiError::of_buyer)?;
    let x402_version = Version::V2.number();
    if parameters.text("type")?.is_some_and(|kind| kind != "http") {
        let pagination = X402Pagination { limit, offset, total: 0 };
        return Ok(Json(X402Items { x402_version, items: vec![], pagination }));
    }
    let page = gateway.x402_catalogue(None, limit, offset).await?;
    let items = page.resources.iter().map(X402Item::render).collect();
    let pagination = X402Pagination { limit, offset, total: page.total };
    Ok(Json(X402Items { x402_version, items, pagination }))
}

/// Search the resources of all sellers
#[utoipa::path(
    get, path = "/v1/x402/discovery/search", operation_id = "searchX402Resources", tag = "x402",
    params(
        ("query" = String, Query, description = "Part of an address or a description, in any case."),
        ("limit" = Option<gateway::invoice::schema::WholeNumber>, Query, description = "Items per page: 20 if absent; values outside 1 to 100 are clamped."),
        ("offset" = Option<gateway::invoice::schema::WholeNumber>, Query, description = "Items to leave out; 0 if absent or negative."),
    ),
    responses((status = 200, description = "One page.", body = X402Found)),
)]
pub async fn search(
    extract::State(gateway): extract::State<State>,
    Client(client): Client,
    parameters: Parameters,
) -> Result<Json<X402Found>, ApiError> {
    let words = parameters.required("query")?;
    let (limit, offset) = place(&parameters)?;
    gateway.admit_buyer(BuyerBudget::Status, &client).await.map_err(ApiError::of_buyer)?;
    let page = gateway.x402_catalogue(Some(words), limit, offset).await?;
    let resources = page.resources.iter().map(X402Item::render).collect();
    let pagination = X402Pagination { limit, offset, total: page.total };
    Ok(Json(X402Found { x402_version: Version::V2.number(), resources, pagination }))
}

fn place(parameters: &Parameters) -> Result<(i64, i64), ApiError> {
    let limit = parameters.clamped("limit", 20, 1..=100)?;
    Ok((limit, parameters.clamped("offset", 0, 0..=OFFSET_MAX)?))
}
