//! Subscriptions, for their merchant.

use axum::{
    Json,
    body::Body,
    extract::{self, Path, rejection::PathRejection},
};
use gateway::{
    app::subscription::{self as app, advance::DAYS_MAX},
    invoice::schema,
    subscription,
    webhook::subscription::SubscriptionBody,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    State,
    auth::Merchant,
    body::{read_members, required},
    error::ApiError,
    query::Parameters,
    sandbox::SandboxMerchant,
};

/// One page of subscriptions, the newest first. Each was paid at least once.
#[derive(Debug, Serialize, ToSchema)]
pub struct SubscriptionList {
    #[schema(max_items = 100)]
    pub data: Vec<SubscriptionBody>,
    /// True if there are older ones: ask again with `after` = `next`.
    pub has_more: bool,
    /// The last one of this page; null if it is empty.
    #[schema(required)]
    pub next: Option<String>,
}

/// Days to let pass.
#[derive(ToSchema)]
pub struct SandboxAdvance {
    /// The subscription whose clock is moved on.
    #[schema(min_length = 30, max_length = 30)]
    pub subscription_id: String,
    /// Whole days, 1 to 3660.
    #[schema(minimum = 1, maximum = 3660)]
    pub days: u32,
}

/// List subscriptions
///
/// The newest first. A subscription begins with its first payment.
#[utoipa::path(
    get, path = "/v1/subscriptions", operation_id = "listSubscriptions", tag = "Payment links",
    params(
        ("after" = Option<String>, Query, max_length = 255, description = "A `subscription_id`: only those that are older."),
        ("limit" = Option<schema::WholeNumber>, Query, description = "Subscriptions per page: 10 if absent; values outside 1 to 100 are clamped."),
    ),
    responses((status = 200, description = "One page.", body = SubscriptionList)),
)]
pub async fn list(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    parameters: Parameters,
) -> Result<Json<SubscriptionList>, ApiError> {
    let limit = parameters.clamped("limit", 10, 1..=100)?;
    let limit = usize::try_from(limit).unwrap_or(1);
    let after = parameters.text("after")?;
    let found = gateway.list_subscriptions(caller.merchant_id, after, limit).await?;
    let found = found.ok_or_else(|| ApiError::invalid("after names no subscription of yours"))?;
    let data: Vec<_> = found.subscriptions.iter().map(app::body).collect();
    let next = data.last().map(|one| one.subscription_id.clone());
    Ok(Json(SubscriptionList { data, has_more: found.has_more, next }))
}

/// Read a subscription
#[utoipa::path(
    get, path = "/v1/subscriptions/{id}", operation_id = "readSubscription", tag = "Payment links",
    params(("id" = String, Path, description = "The `subscription_id`.")),
    responses((status = 200, description = "The subscription.", body = SubscriptionBody)),
)]
pub async fn read(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<SubscriptionBody>, ApiError> {
    let found = gateway.find_subscription(caller.merchant_id, &named(id)?).await?;
    found.map(|one| Json(app::body(&one))).ok_or(ApiError::SubscriptionNotFound)
}

/// Cancel a subscription
///
/// No reminder is sent any more. An open invoice of it can still be paid; one that is over stays as
/// it is.
#[utoipa::path(
    post, path = "/v1/subscriptions/{id}/cancel", operation_id = "cancelSubscription", tag = "Payment links",
    params(("id" = String, Path, description = "The `subscription_id`.")),
    responses((status = 200, description = "The subscription as it is now.", body = SubscriptionBody)),
)]
pub async fn cancel(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<SubscriptionBody>, ApiError> {
    let found = gateway.cancel_subscription(caller.merchant_id, &named(id)?).await?;
    found.map(|one| Json(app::body(&one))).ok_or(ApiError::SubscriptionNotFound)
}

/// Let days of a subscription pass
///
/// Only in the sandbox; elsewhere 404. Reminders that are due by then are sent a moment later, in
/// order.
#[utoipa::path(
    post, path = "/v1/sandbox/advance", operation_id = "sandboxAdvance", tag = "Sandbox",
    request_body(content = SandboxAdvance),
    responses((status = 200, description = "The subscription.", body = SubscriptionBody)),
)]
pub async fn advance(
    extract::State(gateway): extract::State<State>,
    SandboxMerchant(caller): SandboxMerchant,
    body: Body,
) -> Result<Json<SubscriptionBody>, ApiError> {
    let members = read_members(body).await?;
    let id = required("subscription_id", members.string("subscription_id", 1..=64)?)?;
    let days = required("days", members.number("days")?)?;
    let days = days.parse().ok().filter(|days| (1..=DAYS_MAX).contains(days));
    let days = days.ok_or_else(|| {
        ApiError::invalid(format!("days must be a whole number, 1 to {DAYS_MAX}"))
    })?;
    let found = gateway.advance_subscription(caller.merchant_id, &id, days).await?;
    found.map(|one| Json(app::body(&one))).ok_or(ApiError::SubscriptionNotFound)
}

/// The `subscription_id` of a path. A text that cannot be one names no subscription.
fn named(path: Result<Path<String>, PathRejection>) -> Result<String, ApiError> {
    let id = path.ok().map(|Path(id)| id).filter(|id| subscription::is_id(id));
    id.ok_or(ApiError::SubscriptionNotFound)
}
