//! What a merchant has.

use axum::{Json, extract};
use gateway::asset::Fiat;

use crate::{State, auth::Merchant, balance::wire::Balance, error::ApiError, query::Parameters};

/// Read the balance
///
/// Sums of the ledger, by currency and network. Nothing here is a promise to pay out: the gateway
/// keeps the books of what invoices received, and moves none of it.
#[utoipa::path(
    get, path = "/v1/balance", operation_id = "readBalance", tag = "Balance",
    params(
        ("fiat" = Option<String>, Query, description = "The currency of the estimates: `usd` (if absent), `eur` or `gbp`.", max_length = 255),
    ),
    responses((status = 200, description = "The balance.", body = Balance)),
)]
pub async fn read(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    parameters: Parameters,
) -> Result<Json<Balance>, ApiError> {
    let fiat = match parameters.text("fiat")? {
        None => Fiat::Usd,
        Some(text) => {
            text.parse().map_err(|_| ApiError::invalid("fiat must be one of usd, eur, gbp"))?
        }
    };
    let found = gateway.balance(caller.merchant_id, fiat).await?;
    Ok(Json(Balance::render(found, fiat)))
}
