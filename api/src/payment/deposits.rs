//! What reached an invoice's address: `GET /v1/payment/:id/deposits`.

use axum::{
    Json,
    extract::{self, Path, rejection::PathRejection},
};
use gateway::{
    app::invoice::deposits::{DepositPage, PaymentDeposit},
    invoice::{payment::iso_8601, schema},
    webhook::ipn::{IN_BASE_UNITS, IN_COINS},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{State, auth::Merchant, error::ApiError, payment::route, query::Parameters};

/// The first deposits of an invoice: those in its own currency, oldest first, then all others.
#[derive(Debug, Serialize, ToSchema)]
pub struct PaymentDeposits {
    #[schema(max_items = 100)]
    pub data: Vec<Deposit>,
    /// Deposits per answer, after clamping.
    #[schema(minimum = 1, maximum = 100)]
    pub limit: usize,
    /// True if there are more than `limit`: strangers may send dust to any address.
    pub has_more: bool,
}

/// Value that reached the address of an invoice, on any network that the address exists on.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PaymentDeposit)]
pub struct Deposit {
    /// The transaction that brought it; one transaction may bring several deposits.
    pub tx_hash: String,
    /// Whole coins if the token's decimals are known, else base units.
    #[schema(value_type = schema::DecimalText)]
    pub amount: String,
    /// The unit of `amount`: `coins` or `base_units`.
    #[schema(value_type = String)]
    pub amount_unit: &'static str,
    /// The code of the currency that came; null for a token that is not in the catalogue.
    #[schema(value_type = Option<String>, required)]
    pub currency: Option<&'static str>,
    /// The chain on which it came.
    #[schema(value_type = schema::NetworkName)]
    pub network: &'static str,
    /// The token's contract; null for native coins.
    #[schema(required)]
    pub contract_address: Option<String>,
    /// One in the newest block that was read, none in the mempool; grows beyond
    /// `required_confirmations`.
    pub confirmations: u64,
    /// The confirmations with which it becomes final; more for large amounts.
    #[schema(minimum = 1)]
    pub required_confirmations: u64,
    /// `seen`, `final` (confirmed, not booked yet), `settled` (booked), `withdrawn` (replaced or
    /// dropped before it was final) or `reversed` (left the chain after it was booked; the books
    /// were corrected). More may come.
    #[schema(value_type = String)]
    pub state: &'static str,
    /// Null until it is booked: `credit`, `late` (after the end), `foreign` (another currency of
    /// the catalogue), `suspicious` (an unknown token or an impossible amount, worth nothing) or
    /// `nothing`. More may come.
    #[schema(value_type = Option<String>, required)]
    pub booked_as: Option<&'static str>,
    /// When it was first seen, in the mempool or in a block.
    #[schema(value_type = schema::Instant)]
    pub first_seen_at: String,
    /// When it had its confirmations; null before, and for deposits older than this field.
    #[schema(value_type = Option<schema::Instant>, required)]
    pub final_at: Option<String>,
    /// Its value at the rate of its booking, in `fiat_currency`; null before, and where there was
    /// no rate.
    #[schema(value_type = Option<schema::DecimalText>, required)]
    pub fiat_value: Option<String>,
    /// The invoice's fiat currency, `usd` if it is priced in coins; null with `fiat_value`.
    #[schema(required)]
    pub fiat_currency: Option<String>,
    /// The transaction in a public block explorer; null where none can know it, as in the sandbox.
    #[schema(required)]
    pub explorer_url: Option<String>,
}

impl Deposit {
    fn render(deposit: PaymentDeposit) -> Self {
        Self {
            tx_hash: deposit.tx_hash,
            amount: deposit.amount,
            amount_unit: if deposit.in_coins { IN_COINS } else { IN_BASE_UNITS },
            currency: deposit.currency,
            network: deposit.network.name(),
            contract_address: deposit.contract,
            confirmations: deposit.confirmations,
            required_confirmations: deposit.required_confirmations,
            state: deposit.state.as_str(),
            booked_as: deposit.booked_as.map(|booked_as| booked_as.as_str()),
            first_seen_at: iso_8601(deposit.first_seen_at),
            final_at: deposit.final_at.map(iso_8601),
            fiat_value: deposit.fiat_value,
            fiat_currency: deposit.fiat_currency,
            explorer_url: deposit.explorer_url,
        }
    }
}

/// List the deposits of an invoice
///
/// Everything that reached its address, also what came late, in another currency or as an unknown
/// token.
#[utoipa::path(
    get, path = "/v1/payment/{id}/deposits", operation_id = "listDeposits", tag = "Invoices",
    params(
        ("id" = String, Path, max_length = 255, description =
            "The `payment_id`, or the merchant's `order_id`; of several with one `order_id` an arbitrary one is read."),
        ("limit" = Option<schema::WholeNumber>, Query, description = "Deposits per answer: 10 if absent, moved into 1 to 100."),
    ),
    responses((status = 200, description = "The deposits.", body = PaymentDeposits)),
)]
pub async fn list(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    reference: Result<Path<String>, PathRejection>,
    parameters: Parameters,
) -> Result<Json<PaymentDeposits>, ApiError> {
    let reference = route::reference(reference)?;
    let limit = parameters.clamped("limit", 10, 1..=100)?;
    let limit = usize::try_from(limit).unwrap_or(1);
    let found = gateway.payment_deposits(caller.merchant_id, &reference, limit).await?;
    let DepositPage { deposits, has_more } = found.ok_or(ApiError::PaymentNotFound)?;
    let data = deposits.into_iter().map(Deposit::render).collect();
    Ok(Json(PaymentDeposits { data, limit, has_more }))
}
