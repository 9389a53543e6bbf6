//! The buyer's status: amounts are strings, and fields that are not listed here are not the buyer's
//! business.

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use gateway::{
    app::invoice::{
        accepted_currencies::AcceptedCurrency, buyer_status as app, happened::Happened,
    },
    invoice::{Status, buyer_phase::Phase, payment::iso_8601, schema},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::{ApiError, Envelope};

/// An invoice as its buyer sees it. All amounts are text.
#[derive(Debug, Serialize, ToSchema)]
pub struct BuyerStatus {
    /// The invoice's id.
    pub payment_id: String,
    #[schema(value_type = schema::BuyerStatusName)]
    pub status: &'static str,
    /// Whether the buyer still has to choose a currency; everything about the payment is null until
    /// then.
    pub is_draft: bool,
    /// The code of the currency to pay in.
    #[schema(required)]
    pub pay_currency: Option<String>,
    /// The symbol to show, in upper case.
    #[schema(value_type = Option<String>, required, examples("USDT"))]
    pub symbol: Option<&'static str>,
    #[schema(value_type = Option<schema::NetworkName>, required)]
    pub network: Option<&'static str>,
    #[schema(value_type = Option<schema::StandardName>, required)]
    pub standard: Option<&'static str>,
    /// The token's contract; null for native coins.
    #[schema(required)]
    pub contract_address: Option<String>,
    /// The address to pay to.
    #[schema(required)]
    pub pay_address: Option<String>,
    /// URI for wallets that pays the amount still to be sent; null if nothing is to be sent, or if
    /// the network has no convention for such URIs.
    #[schema(required)]
    pub payment_uri: Option<String>,
    /// The amount that the invoice asks for, in whole units.
    #[schema(value_type = Option<schema::DecimalText>, required)]
    pub amount_due: Option<String>,
    /// The amount that has been counted.
    #[schema(value_type = Option<schema::DecimalText>, required)]
    pub amount_received: Option<String>,
    /// The amount still to be sent, after everything that was counted or seen; it is the amount in
    /// `payment_uri`.
    #[schema(value_type = Option<schema::DecimalText>, required)]
    pub amount_remaining: Option<String>,
    /// The amount that was seen but does not count yet, for lack of confirmations.
    #[schema(value_type = Option<schema::DecimalText>, required)]
    pub amount_unconfirmed: Option<String>,
    /// The price, in `price_currency`.
    #[schema(value_type = schema::DecimalText)]
    pub price_amount: String,
    /// The currency of the price, in lower case.
    pub price_currency: String,
    /// The merchant's own words. Show them as text, never as markup.
    #[schema(required, max_length = 2000)]
    pub order_description: Option<String>,
    #[schema(value_type = schema::InvoiceType)]
    pub invoice_type: String,
    #[schema(value_type = schema::Instant)]
    pub created_at: String,
    /// When the payment window ends.
    #[schema(value_type = schema::Instant)]
    pub expires_at: String,
    #[schema(value_type = schema::Instant)]
    pub updated_at: String,
    /// Whole seconds until the payment window ends, by the server's clock.
    pub seconds_left: i64,
    /// Confirmations of the newest unconfirmed deposit; null if there is none.
    #[schema(required)]
    pub confirmations: Option<u64>,
    /// The number of confirmations that makes a deposit count on this network.
    #[schema(required)]
    pub required_confirmations: Option<u64>,
    /// The transactions that paid, up to 20.
    #[schema(max_items = 20)]
    pub tx_hashes: Vec<String>,
    /// Whether the buyer may still cancel: nothing has been seen, and the invoice is open.
    pub cancellable: bool,
    /// Where to redirect the buyer once the invoice has ended, if the merchant set an address.
    #[schema(required)]
    pub redirect_url: Option<String>,
    /// Payments that did not simply count, up to 10: what arrived, where it is, and what to do.
    /// Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 10)]
    pub happened: Vec<PaymentHappening>,
    /// Present only while the buyer has to choose a currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_currencies: Option<Vec<AcceptedCurrency>>,
}

impl BuyerStatus {
    pub fn render(status: &app::BuyerStatus) -> Self {
        let asset = status.asset.as_ref();
        let amount = |of: fn(&app::BuyerAsset) -> gateway::money::BaseUnits| {
            asset.map(|asset| of(asset).to_decimal(asset.decimals))
        };
        Self {
            payment_id: status.payment_id.clone(),
            status: status.status.for_buyer(),
            is_draft: status.status == Status::Draft,
            pay_currency: asset.map(|asset| asset.pay_currency.clone()),
            symbol: asset.map(|asset| asset.symbol),
            network: asset.map(|asset| asset.network.name()),
            standard: asset.map(|asset| asset.standard),
            contract_address: asset.and_then(|asset| asset.contract_address.clone()),
            pay_address: asset.map(|asset| asset.pay_address.clone()),
            payment_uri: asset.and_then(|asset| asset.payment_uri.clone()),
            amount_due: amount(|asset| asset.due),
            amount_received: amount(|asset| asset.received),
            amount_remaining: amount(|asset| asset.to_send),
            amount_unconfirmed: amount(|asset| asset.unconfirmed),
            price_amount: status.price_amount.to_decimal(),
            price_currency: status.price_currency.clone(),
            order_description: status.order_description.clone(),
            invoice_type: status.invoice_type.to_string(),
            created_at: iso_8601(status.created_at),
            expires_at: iso_8601(status.expires_at),
            updated_at: iso_8601(status.updated_at),
            seconds_left: status.seconds_left,
            confirmations: asset.and_then(|asset| asset.confirmations),
            required_confirmations: asset.map(|asset| asset.required_confirmations),
            tx_hashes: asset.map(|asset| asset.tx_hashes.clone()).unwrap_or_default(),
            cancellable: status.cancellable,
            redirect_url: status.redirect_url.clone(),
            happened: status
                .happened
                .iter()
                .map(|one| PaymentHappening::render(one, status.phase))
                .collect(),
            accepted_currencies: status.accepted_currencies.clone(),
        }
    }
}

/// A payment that did not simply count.
#[derive(Debug, Serialize, ToSchema)]
pub struct PaymentHappening {
    #[schema(value_type = schema::HappeningKind)]
    pub kind: &'static str,
    #[schema(value_type = schema::PaymentFate)]
    pub fate: &'static str,
    #[schema(value_type = schema::BuyerAdvice)]
    pub advice: &'static str,
    /// The transaction that brought it, or was to bring it.
    pub tx_hash: String,
    #[schema(value_type = schema::NetworkName)]
    pub network: &'static str,
    /// The symbol of what arrived; null for a token outside the catalogue.
    #[schema(value_type = Option<String>, required, examples("USDT"))]
    pub symbol: Option<&'static str>,
    /// The amount that arrived, in whole units; null for a token outside the catalogue.
    #[schema(value_type = Option<schema::DecimalText>, required)]
    pub amount: Option<String>,
    /// When it was first seen.
    #[schema(value_type = schema::Instant)]
    pub seen_at: String,
    /// The transaction that took its place; null unless `kind` is `replaced`.
    #[schema(required)]
    pub replaced_by: Option<String>,
    /// A page of a public block explorer; null on networks that none shows.
    #[schema(required)]
    pub explorer_url: Option<String>,
    /// The text by which the merchant finds the payment.
    pub reference: String,
}

impl PaymentHappening {
    fn render(one: &Happened, phase: Phase) -> Self {
        Self {
            kind: one.kind.as_str(),
            fate: one.kind.fate().as_str(),
            advice: one.kind.advice_in(phase).as_str(),
            tx_hash: one.tx_hash.clone(),
            network: one.network.name(),
            symbol: one.symbol,
            amount: one.amount.clone(),
            seen_at: iso_8601(one.seen_at),
            replaced_by: one.replaced_by.clone(),
            explorer_url: one.explorer_url.clone(),
            reference: one.reference.clone(),
        }
    }
}

// The legacy slug belongs to this one surface (spec, "Other surfaces").
/// The envelope, with a legacy slug beside the code.
#[derive(Serialize, ToSchema)]
pub struct SluggedError {
    #[serde(flatten)]
    envelope: Envelope,
    /// `invalid_invoice_id`, `rate_limited` or `not_found`; absent on other errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    error: Option<&'static str>,
}

impl SluggedError {
    pub fn respond(error: ApiError) -> Response {
        let slugs = [
            ("INVALID_REQUEST", "invalid_invoice_id"),
            ("RATE_LIMIT_EXCEEDED", "rate_limited"),
            ("PAYMENT_NOT_FOUND", "not_found"),
        ];
        let (_, code) = error.status_and_code();
        let slug = slugs.into_iter().find(|(known, _)| *known == code).map(|(_, slug)| slug);
        let body = Self { envelope: error.envelope(), error: slug };
        let plain = error.into_response();
        let (parts, _) = plain.into_parts();
        let mut response = (parts.status, Json(body)).into_response();
        if let Some(retry) = parts.headers.get(axum::http::header::RETRY_AFTER) {
            response.headers_mut().insert(axum::http::header::RETRY_AFTER, retry.clone());
        }
        response
    }
}
