//! The facilitator: what is supported, verifying and settling, as the protocol's clients call them.

use axum::{
    Json,
    body::Body,
    extract,
    http::{HeaderMap, HeaderValue},
    response::{IntoResponse, Response},
};
use gateway::x402::{
    Version,
    answer::{X402Settled, X402Verified},
    name,
    wire::{self as payments, Refused, Request},
};

use super::{
    caller::Seller,
    wire::{X402Supported, settled, signers, unsettled, verified},
};
use crate::{
    State,
    body::{BODY_BYTES_MAX, read_bytes},
    error::ApiError,
    payment::{new_payment::idempotency_key, route::REPLAY_HEADER},
};

/// Read what the facilitator can settle
///
/// Each version of the protocol on each network that has a name in it. `{base_url}/v1/x402` is the
/// address of the facilitator for clients of x402.
#[utoipa::path(
    get, path = "/v1/x402/supported", operation_id = "readX402Supported", tag = "x402",
    responses((status = 200, description = "The kinds of payments.", body = X402Supported)),
)]
pub async fn supported(extract::State(gateway): extract::State<State>) -> Json<X402Supported> {
    let kinds = gateway.x402_kinds().into_iter().map(Into::into).collect();
    Json(X402Supported { kinds, extensions: vec![], signers: signers(gateway.x402_gas_address()) })
}

/// Verify a payment
///
/// The body of the protocol: `x402Version`, `paymentPayload`, `paymentRequirements`. A payment that
/// is refused is answered with status 200 and `isValid: false`. `payTo` must be the address of one
/// of your resources or open invoices. These requests have a budget of their own.
#[utoipa::path(
    post, path = "/v1/x402/verify", operation_id = "verifyX402", tag = "x402",
    request_body(content = serde_json::Value, description = "As clients of x402 send it, in version 1 or 2."),
    responses((status = 200, description = "Whether the payment is valid.", body = X402Verified)),
)]
pub async fn verify(
    extract::State(gateway): extract::State<State>,
    Seller(merchant_id): Seller,
    body: Body,
) -> Result<Json<X402Verified>, ApiError> {
    let request = match read(body).await? {
        Ok(request) => request,
        Err(Refused { version, reason }) => {
            return Ok(Json(X402Verified::refused(version, reason, "", None)));
        }
    };
    let verdict = gateway.verify_x402(merchant_id, &request).await?;
    Ok(Json(verified(request.payment.version, verdict)))
}

/// Settle a payment
///
/// Verifies it again, sends it to the network at our expense, and waits for its block. A repeat of
/// the same payment gets the first result; one that ran out of time gets it by a repeat. The amount
/// is booked for you once the network has its confirmations: event `x402.paid`, or the IPN of the
/// invoice behind the address.
#[utoipa::path(
    post, path = "/v1/x402/settle", operation_id = "settleX402", tag = "x402",
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255, description =
        "Your key for this one sale. A repeat under the same key is the same request, whose answer you may have lost.")),
    request_body(content = serde_json::Value, description = "As for `POST /v1/x402/verify`."),
    responses((status = 200, description = "What came of it.", body = X402Settled,
        headers(("X-Gateway-Idempotent-Replay" = String, description =
            "`true` if another request was answered that this payment is settled: deliver nothing for it again. Otherwise absent.")))),
)]
pub async fn settle(
    extract::State(gateway): extract::State<State>,
    Seller(merchant_id): Seller,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let key = idempotency_key(&headers)?;
    let request = match read(body).await? {
        Ok(request) => request,
        Err(Refused { version, reason }) => {
            let why = (reason, String::new());
            return Ok(Json(unsettled(version, String::new(), why, None)).into_response());
        }
    };
    let version = request.payment.version;
    let network = network_of(version, &request);
    let answer = gateway.settle_x402(merchant_id, &request, key.as_deref()).await?;
    let mut response = Json(settled(version, network, answer.settled)).into_response();
    if answer.is_replay {
        response.headers_mut().insert(REPLAY_HEADER, HeaderValue::from_static("true"));
    }
    Ok(response)
}

async fn read(body: Body) -> Result<Result<Request, Refused>, ApiError> {
    let bytes = read_bytes(body, BODY_BYTES_MAX).await?;
    let bytes = bytes.ok_or(ApiError::X402InvalidPayload)?;
    payments::request(&bytes).map_err(|_| ApiError::X402InvalidPayload)
}

fn network_of(version: Version, request: &Request) -> String {
    name::of(version, request.terms.chain_id).unwrap_or_default()
}
