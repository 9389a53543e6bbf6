//! Paying and expiring a merchant's own invoices in the sandbox.

use axum::{Json, body::Body, extract, http::StatusCode};
use gateway::{app::sandbox::own::OwnDepositError, invoice::payment::Payment};

use crate::{
    State,
    body::read_members,
    error::ApiError,
    sandbox::{
        SandboxMerchant,
        request::{self, NewSandboxDeposit, SandboxDeposit, SandboxExpiry},
    },
};

/// Pay on the simulated chain
///
/// Only in the sandbox; elsewhere 404. To one's own invoices and payout orders, mined and confirmed
/// at once unless `unconfirmed`. What follows is what follows any payment: the invoice's status
/// changes a moment later, and its webhook comes.
#[utoipa::path(
    post, path = "/v1/sandbox/deposit", operation_id = "sandboxDeposit", tag = "Sandbox",
    request_body(content = NewSandboxDeposit),
    responses((status = 201, description = "The transaction, new or known.", body = SandboxDeposit)),
)]
pub async fn deposit(
    extract::State(gateway): extract::State<State>,
    SandboxMerchant(caller): SandboxMerchant,
    body: Body,
) -> Result<(StatusCode, Json<SandboxDeposit>), ApiError> {
    let wanted = request::deposit(&read_members(body).await?)?;
    match gateway.simulate_own_deposit(caller.merchant_id, &wanted).await {
        Ok(done) => Ok((StatusCode::CREATED, Json(done.into()))),
        Err(OwnDepositError::NotFound) => Err(ApiError::PaymentNotFound),
        Err(OwnDepositError::Simulate(error)) => Err(error.into()),
    }
}

/// End an invoice's window
///
/// Only in the sandbox; elsewhere 404. The invoice expires a moment later, unless a payment was in
/// time. One that has ended stays as it is.
#[utoipa::path(
    post, path = "/v1/sandbox/expire", operation_id = "sandboxExpire", tag = "Sandbox",
    request_body(content = SandboxExpiry),
    responses((status = 200, description = "The invoice, with its new deadline.", body = Payment)),
)]
pub async fn expire(
    extract::State(gateway): extract::State<State>,
    SandboxMerchant(caller): SandboxMerchant,
    body: Body,
) -> Result<Json<Payment>, ApiError> {
    let payment_id = request::expiry(&read_members(body).await?)?;
    let found = gateway.simulate_expiry(caller.merchant_id, &payment_id).await?;
    found.map(Json).ok_or(ApiError::PaymentNotFound)
}
