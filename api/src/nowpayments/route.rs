//! Endpoints of NOWPayments that `/v1` has under other names.

use axum::{
    Json,
    body::Body,
    extract,
    http::{HeaderMap, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};
use gateway::invoice::schema;
use utoipa::ToSchema;

use crate::{
    State,
    auth::Merchant,
    body::read_members,
    error::ApiError,
    nowpayments::wire::{FullCurrencies, HostedInvoice, MerchantCoins},
    payment::{new_payment, route::REPLAY_HEADER},
};

/// An invoice to create. Members that are not listed are those of `POST /v1/payment`, or ignored.
///
/// It describes the input of `new_payment::parse_hosted`; nothing is read into it.
#[derive(ToSchema)]
pub struct NewHostedInvoice {
    /// The price: above 0, at most 15 integer digits and 18 decimals. A JSON number.
    #[schema(value_type = schema::AmountAsked)]
    pub price_amount: serde_json::Number,
    /// `usd`, `eur` or `gbp` in any case.
    #[schema(min_length = 2, max_length = 8, examples("usd"))]
    pub price_currency: String,
    /// A currency's code; absent, the buyer chooses.
    #[schema(min_length = 2, max_length = 32)]
    pub pay_currency: Option<String>,
    /// The merchant's own reference; need not be unique.
    #[schema(max_length = 255)]
    pub order_id: Option<String>,
    /// Shown to the buyer on the hosted checkout.
    #[schema(max_length = 2000)]
    pub order_description: Option<String>,
    /// Where signed IPNs are posted. Left out, the merchant's default holds, if there is one; so
    /// do those of the other two.
    #[schema(value_type = Option<schema::OptionalWebAddress>)]
    pub ipn_callback_url: Option<String>,
    /// Where the buyer is sent once it is paid.
    #[schema(value_type = Option<schema::OptionalWebAddress>)]
    pub success_url: Option<String>,
    /// Where the buyer is sent once it is cancelled or expired.
    #[schema(value_type = Option<schema::OptionalWebAddress>)]
    pub cancel_url: Option<String>,
}

/// List the currencies in NOWPayments' shape
#[utoipa::path(
    get, path = "/v1/full-currencies", operation_id = "listFullCurrencies", tag = "NOWPayments",
    responses((status = 200, description = "Every enabled currency.", body = FullCurrencies)),
)]
pub async fn full_currencies(
    extract::State(gateway): extract::State<State>,
    Merchant(_): Merchant,
) -> Result<Json<FullCurrencies>, ApiError> {
    Ok(Json(FullCurrencies::render(gateway.market().await?.offers())))
}

/// List the currencies that the merchant accepts
#[utoipa::path(
    get, path = "/v1/merchant/coins", operation_id = "listMerchantCoins", tag = "NOWPayments",
    responses((status = 200, description = "The allowlist, as far as it is on offer.", body = MerchantCoins)),
)]
pub async fn merchant_coins(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
) -> Result<Json<MerchantCoins>, ApiError> {
    let market = gateway.market().await?;
    Ok(Json(MerchantCoins::render(market.offers(), caller.accepted_tokens.as_deref())))
}

/// Create an invoice in NOWPayments' shape
///
/// The same as `POST /v1/payment`, with `pay_currency` = `all` if it is absent, answered in another
/// shape. Both share one space of idempotency keys.
#[utoipa::path(
    post, path = "/v1/invoice", operation_id = "createHostedInvoice", tag = "NOWPayments",
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 255, description =
        "As for `POST /v1/payment`.")),
    request_body(content = NewHostedInvoice, example = json!({
        "price_amount": 25, "price_currency": "usd", "order_id": "order-1", "ipn_callback_url": "https://shop.example/ipn",
        "success_url": "https://shop.example/thanks",
    })),
    responses((status = 201, description = "The invoice, or an equal one that the same key made before.", body = HostedInvoice,
        headers(("X-Gateway-Idempotent-Replay" = String, description = "`true` on a repeat; absent on the first answer.")))),
)]
pub async fn create_invoice(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let key = new_payment::idempotency_key(&headers)?;
    let members = read_members(body).await?;
    let request = new_payment::parse_hosted(&members, key, gateway.egress.policy())?;
    let created = gateway.create_invoice(&caller, &request).await?;
    let damaged = || {
        tracing::error!("the stored answer about an invoice cannot be read");
        ApiError::Internal
    };
    let mut invoice = HostedInvoice::render(&created.body).ok_or_else(damaged)?;
    // The payment object has neither, and defaults of the merchant may be other ones by now.
    (invoice.success_url, invoice.cancel_url) = match (request.success_url, request.cancel_url) {
        (Some(success), Some(cancel)) => (Some(success), Some(cancel)),
        _ => gateway.redirects_of_payment(&invoice.id).await?,
    };
    let mut response = (StatusCode::CREATED, Json(invoice)).into_response();
    if created.replayed {
        response.headers_mut().insert(REPLAY_HEADER, HeaderValue::from_static("true"));
    }
    Ok(response)
}
