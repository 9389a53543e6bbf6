//! The currencies on offer, and the cost of a price in them.

use axum::{Json, extract};
use gateway::{app::market::quote::AskError, asset::Fiat, invoice::schema, money::Price};

use crate::{
    State,
    catalogue::wire::{Currencies, Estimate, MinAmount},
    error::ApiError,
    query::Parameters,
};

/// List the currencies on offer
#[utoipa::path(
    get, path = "/v1/currencies", operation_id = "listCurrencies", tag = "Prices",
    responses((status = 200, description = "Every enabled currency.", body = Currencies)),
)]
pub async fn currencies(
    extract::State(gateway): extract::State<State>,
) -> Result<Json<Currencies>, ApiError> {
    let market = gateway.market().await?;
    Ok(Json(Currencies::render(&gateway, market.offers())))
}

/// Estimate a price in a currency now
#[utoipa::path(
    get, path = "/v1/estimate", operation_id = "readEstimate", tag = "Prices",
    params(
        ("amount" = schema::DecimalText, Query, description = "The price, above 0: at most 15 integer digits and 18 decimals.", example = "25"),
        ("currency_from" = String, Query, description = "The currency of the price: `usd`, `eur` or `gbp`.", example = "usd"),
        ("currency_to" = String, Query, description = "The code of the currency to pay in, or with `network` a bare symbol.", max_length = 255, example = "usdtmatic"),
        ("network" = Option<String>, Query, description = "If sent, `currency_to` is read as a symbol on this chain.", max_length = 255),
    ),
    responses((status = 200, description = "The estimate.", body = Estimate)),
)]
pub async fn estimate(
    extract::State(gateway): extract::State<State>,
    parameters: Parameters,
) -> Result<Json<Estimate>, ApiError> {
    let amount = parameters.required("amount")?;
    let price = Price::parse(amount).map_err(|e| ApiError::invalid(format!("amount {e}")))?;
    if price.is_zero() {
        return Err(ApiError::invalid("amount must be greater than 0"));
    }
    let from = parameters.required("currency_from")?;
    let fiat: Fiat = from
        .parse()
        .map_err(|_| ApiError::invalid("currency_from must be one of usd, eur, gbp"))?;
    let to = parameters.required("currency_to")?;
    let network = parameters.text("network")?;
    let estimate = gateway.estimate(price, fiat, to, network).await?;
    Ok(Json(Estimate::render(&estimate, price, from, to)))
}

/// Read the smallest invoice in a currency
///
/// The authoritative minimum. This endpoint never returns `AMOUNT_BELOW_MINIMUM`.
#[utoipa::path(
    get, path = "/v1/min-amount", operation_id = "readMinAmount", tag = "Prices",
    params(
        ("currency_to" = String, Query, description = "The code of the currency to pay in, or with `network` a bare symbol.", max_length = 255, example = "usdtmatic"),
        ("currency_from" = Option<String>, Query, description = "Only repeated in the response; `usd` if absent.", max_length = 255),
        ("network" = Option<String>, Query, description = "If sent, `currency_to` is read as a symbol on this chain.", max_length = 255),
    ),
    responses((status = 200, description = "The minimum.", body = MinAmount)),
)]
pub async fn min_amount(
    extract::State(gateway): extract::State<State>,
    parameters: Parameters,
) -> Result<Json<MinAmount>, ApiError> {
    let to = parameters.required("currency_to")?;
    let from = parameters.text("currency_from")?.unwrap_or("usd");
    let minimum = match gateway.minimum(to, parameters.text("network")?).await {
        // There is no amount in this question, so none can be at fault.
        Err(AskError::Quote(error)) => {
            return Err(ApiError::invalid(format!("currency_to: {error}")));
        }
        other => other?,
    };
    Ok(Json(MinAmount::render(&minimum, from, to)))
}
