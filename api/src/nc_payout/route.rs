//! Routes of non-custodial payouts.

use axum::{
    Json,
    body::Body,
    extract::Request,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use gateway::{
    invoice::schema,
    nc_payout::{State, schema as words, view::NcPayout},
};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{Asked, AskedOf, problem::Problem, request};
use crate::query::Parameters;

const REPLAY_HEADER: HeaderName = HeaderName::from_static("x-gateway-idempotent-replay");
const PAGE_MAX: i64 = i64::MAX / 1_000;

/// `{ "ok": true, "data": … }` about one payout. It describes the output of [`object`]; nothing is
/// made of it.
#[derive(ToSchema)]
#[schema(as = NcPayoutAnswer)]
pub struct Answer {
    #[schema(value_type = schema::True)]
    pub ok: bool,
    /// The payout in its present state.
    pub data: NcPayout,
}

/// One page of payouts.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NcPayoutPage)]
pub struct Page {
    #[schema(value_type = schema::True)]
    ok: bool,
    /// The payouts.
    #[schema(value_type = Vec<NcPayout>, max_items = 100)]
    data: Vec<Box<RawValue>>,
    /// Payouts per page, after clamping.
    #[schema(minimum = 1, maximum = 100)]
    limit: i64,
    /// 0-based, after clamping.
    #[schema(minimum = 0)]
    page: i64,
    /// Number of pages; at least 1, even if there are no entries.
    #[schema(minimum = 1)]
    pages_count: i64,
    /// Payouts on all pages.
    #[schema(minimum = 0)]
    total: i64,
}

/// Build a payout
///
/// On EVM networks it builds one EIP-1559 transaction per output, with consecutive nonces; no
/// contract that pays many is used. On bitcoin, litecoin and dogecoin it builds one transaction
/// that pays all outputs, as a PSBT: it spends every listed input, pays the fee of the fee level
/// and returns the rest to `fromAddress`. Nothing is reserved on the chain, and nothing is sent
/// before all signed transactions are submitted.
#[utoipa::path(
    post, path = "/", operation_id = "createNcPayout",
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255, description =
        "A repeated request gets the first response, without a time limit and also if requests are concurrent. A \
         different request under the same key is refused.")),
    request_body(content = request::NewPayout, example = json!({
        "network": "polygon", "currency": "usdtmatic", "fromAddress": "0x52908400098527886E0F7030069857D2E4169EE7",
        "outputs": [{ "address": "0x8617E340B3D01FA5F11F306F4090FD50E238070D", "amount": "1.25", "reference": "inv-1" }],
    })),
    responses((status = 201, description = "The transactions to sign, or those that the same key built before.", body = Answer,
        headers(("X-Gateway-Idempotent-Replay" = String, description = "`true` in the response to a repeated request; otherwise absent.")))),
)]
pub async fn create(asked: Asked, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let new = request::new_payout(&parts.headers, body).await?;
    let created = asked.gateway.create_nc_payout(asked.caller.merchant_id, &new).await?;
    let mut response = object(StatusCode::CREATED, &created.body);
    if created.replayed {
        response.headers_mut().insert(REPLAY_HEADER, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// List payouts
///
/// Newest first.
#[utoipa::path(
    get, path = "/", operation_id = "listNcPayouts",
    params(
        ("limit" = Option<schema::WholeNumber>, Query, description = "Payouts per page: 10 if absent; values outside 1 to 100 are clamped."),
        ("page" = Option<schema::WholeNumber>, Query, description = "0-based; 0 if absent or negative."),
        ("state" = Option<words::NcStateAsked>, Query, description = "Only payouts in this state; any if empty."),
    ),
    responses((status = 200, description = "One page.", body = Page)),
)]
pub async fn list(asked: Asked, parameters: Parameters) -> Result<Response, Problem> {
    let limit = parameters.clamped("limit", 10, 1..=100)?;
    let page = parameters.clamped("page", 0, 0..=PAGE_MAX)?;
    let state = parameters.text("state")?.map(str::parse::<State>).transpose();
    let state = state.map_err(|_| Problem::invalid("state is unknown"))?;
    let merchant_id = asked.caller.merchant_id;
    let (found, total) = asked
        .gateway
        .list_nc_payouts(merchant_id, state, limit, page.saturating_mul(limit))
        .await?;
    let data = found.into_iter().filter_map(|body| RawValue::from_string(body).ok()).collect();
    let pages_count = (total.saturating_add(limit - 1) / limit).max(1);
    Ok(Json(Page { ok: true, data, limit, page, pages_count, total }).into_response())
}

/// Read a payout
#[utoipa::path(
    get, path = "/{id}", operation_id = "readNcPayout",
    params(("id" = String, Path, description = "The payout's id.")),
    responses((status = 200, description = "The payout.", body = Answer)),
)]
pub async fn read(asked: AskedOf) -> Result<Response, Problem> {
    let body = asked.gateway.read_nc_payout(asked.merchant_id, &asked.payout_id).await?;
    Ok(object(StatusCode::OK, &body))
}

/// Rebuild a payout
///
/// Rebuilds it with current fees, the same nonces or inputs, and a new deadline: only one of the
/// two builds can ever be mined, whoever submits them. Possible until the payout is submitted. Once
/// one of its nonces is used, submit the signed transactions, or cancel the payout and create it
/// again.
#[utoipa::path(
    post, path = "/{id}/refresh", operation_id = "refreshNcPayout",
    params(("id" = String, Path, description = "The payout's id.")),
    request_body(content = Option<request::Refresh>),
    responses((status = 200, description = "The transactions to sign now.", body = Answer)),
)]
pub async fn refresh(asked: AskedOf, body: Body) -> Result<Response, Problem> {
    let fee_level = request::refresh(body).await?;
    let (merchant_id, id) = (asked.merchant_id, &asked.payout_id);
    let body = asked.gateway.refresh_nc_payout(merchant_id, id, fee_level).await?;
    Ok(object(StatusCode::OK, &body))
}

/// Submit the signed transactions
///
/// Submit all transactions at once. Each must equal the built one exactly and be signed by
/// `fromAddress` (with `SIGHASH_ALL` on bitcoin, litecoin and dogecoin); otherwise nothing is
/// stored. The transactions are stored before they are sent, and sent again until a block contains
/// them, so a submission cannot be undone. Submitting the same bytes again changes nothing.
#[utoipa::path(
    post, path = "/{id}/submit", operation_id = "submitNcPayout",
    params(("id" = String, Path, description = "The payout's id.")),
    request_body(content = request::Submission, example = json!({ "signed": ["0x02f86c…"] })),
    responses((status = 200, description = "The payout as it is now.", body = Answer)),
)]
pub async fn submit(asked: AskedOf, body: Body) -> Result<Response, Problem> {
    let signed = request::signed(body).await?;
    let (merchant_id, id) = (asked.merchant_id, &asked.payout_id);
    let body = asked.gateway.submit_nc_payout(merchant_id, id, &signed).await?;
    Ok(object(StatusCode::OK, &body))
}

/// Cancel a payout
///
/// Possible until the payout is submitted. Cancelling it again changes nothing.
#[utoipa::path(
    post, path = "/{id}/cancel", operation_id = "cancelNcPayout",
    params(("id" = String, Path, description = "The payout's id.")),
    responses((status = 200, description = "The payout, cancelled.", body = Answer)),
)]
pub async fn cancel(asked: AskedOf) -> Result<Response, Problem> {
    let body = asked.gateway.cancel_nc_payout(asked.merchant_id, &asked.payout_id).await?;
    Ok(object(StatusCode::OK, &body))
}

/// Response with one already rendered object.
fn object(status: StatusCode, object: &str) -> Response {
    let body = format!(r#"{{"ok":true,"data":{object}}}"#);
    let mut response = (status, body).into_response();
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
