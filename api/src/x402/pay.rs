//! The paywall of an invoice.

use axum::{
    Json,
    extract::{self, Path, rejection::PathRejection},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use gateway::{
    app::{
        merchant::admit::BuyerBudget,
        x402::{Paywall, PaywallError},
    },
    invoice::PaymentId,
    x402::{
        Reason, Version,
        answer::{
            Offer, REQUIRED_HEADER, X402RequiredV1, X402Settled, header_value, response_header,
        },
        wire::{self as payments, PAYMENT_HEADER, Payment, SIGNATURE_HEADER},
    },
};
use serde::Serialize;
use utoipa::ToSchema;

use super::wire::settled;
use crate::{State, client_ip::Client, error::ApiError};

/// A paid invoice, as the program that paid it sees it.
#[derive(Debug, Serialize, ToSchema)]
pub struct X402Paid {
    /// The invoice.
    pub payment_id: String,
    /// Always true.
    pub paid: bool,
    /// Hash of the payment's transaction; null if the invoice was paid otherwise.
    #[schema(required)]
    pub transaction: Option<String>,
}

/// Pay an invoice by a program
///
/// Without a payment the answer is 402 with the terms: in the header `PAYMENT-REQUIRED` for clients
/// of version 2, in the body for those of version 1. With `PAYMENT-SIGNATURE` or `X-PAYMENT` the
/// payment is settled; the invoice is paid once the network has its confirmations. Any open invoice
/// that is to be paid in the USDC of a supported network can be paid here.
#[utoipa::path(
    get, path = "/v1/x402/pay/{id}", operation_id = "payInvoiceByX402", tag = "x402",
    params(
        ("id" = String, Path, description = "The invoice's `payment_id`."),
        ("PAYMENT-SIGNATURE" = Option<String>, Header, description = "A payment of version 2: base64 of its JSON."),
        ("X-PAYMENT" = Option<String>, Header, description = "A payment of version 1: base64 of its JSON."),
    ),
    responses(
        (status = 200, description = "It is paid.", body = X402Paid),
        (status = 402, description = "The terms, or why the payment was refused.", body = X402RequiredV1),
    ),
)]
pub async fn pay(
    extract::State(gateway): extract::State<State>,
    Client(client): Client,
    id: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    gateway.admit_buyer(BuyerBudget::Status, &client).await.map_err(ApiError::of_buyer)?;
    let id = id.ok().and_then(|Path(text)| text.parse::<PaymentId>().ok());
    let id = id.ok_or(ApiError::PaymentNotFound)?;
    let payment = match payment(&headers) {
        Ok(payment) => payment,
        Err(reason) => {
            // The terms are told again, with what was wrong.
            return match gateway.x402_paywall(&id, None).await? {
                Paywall::Asks(offer) => Ok(required(&offer, reason.as_str())),
                Paywall::Paid | Paywall::Answered { .. } => Ok(paid(&id, None)),
            };
        }
    };
    Ok(match gateway.x402_paywall(&id, payment).await? {
        Paywall::Asks(offer) => required(&offer, "Payment required"),
        Paywall::Paid => paid(&id, None),
        Paywall::Answered { version, network, settled: outcome, offer } => {
            let answer = settled(version, network, outcome);
            let mut response = if answer.success {
                paid(&id, Some(answer.transaction.clone()))
            } else {
                required(&offer, answer.error_reason.unwrap_or("payment refused"))
            };
            tell(&mut response, version, &answer);
            response
        }
    })
}

/// The payment of either version; version 2 first, because its clients may send both.
fn payment(headers: &HeaderMap) -> Result<Option<Payment>, Reason> {
    for (name, version) in [(SIGNATURE_HEADER, Version::V2), (PAYMENT_HEADER, Version::V1)] {
        if let Some(value) = headers.get(name) {
            return payments::of_header(version, value.as_bytes()).map(Some);
        }
    }
    Ok(None)
}

fn required(offer: &Offer, error: &str) -> Response {
    let body = Json(offer.required_v1(error));
    let mut response = (StatusCode::PAYMENT_REQUIRED, body).into_response();
    insert(&mut response, REQUIRED_HEADER, &header_value(&offer.required(error)));
    without_cache(response)
}

fn paid(id: &PaymentId, transaction: Option<String>) -> Response {
    let body = X402Paid { payment_id: id.to_string(), paid: true, transaction };
    without_cache(Json(body).into_response())
}

fn tell(response: &mut Response, version: Version, answer: &X402Settled) {
    insert(response, response_header(version), &header_value(answer));
}

fn insert(response: &mut Response, name: &'static str, value: &str) {
    // Base64 is always a header's value.
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(HeaderName::from_static(name), value);
    }
}

fn without_cache(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl From<PaywallError> for ApiError {
    fn from(error: PaywallError) -> Self {
        match error {
            PaywallError::NotFound => Self::PaymentNotFound,
            PaywallError::Unsupported => Self::X402Unsupported,
            PaywallError::Unavailable => {
                tracing::error!("the token of an invoice could not be read");
                Self::Internal
            }
            PaywallError::Storage(error) => error.into(),
        }
    }
}
