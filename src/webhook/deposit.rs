//! A deposit at an address that belongs to no invoice, as the feed of events tells it.

use serde::Serialize;
use serde_json::Number;

/// A credited deposit. Fields are only ever added.
#[derive(Debug, Clone, Serialize)]
pub struct DepositBody {
    /// 32 hex digits; never changes.
    pub deposit_id: String,
    pub address: String,
    pub network: String,
    /// The currency's code, as `GET /v1/currencies` lists it.
    pub currency: String,
    /// Whole coins.
    pub amount: Number,
    pub tx_hash: String,
    /// Those that its network requires; it had as many when it was credited.
    pub confirmations: u64,
    /// The merchant's own name of the address.
    pub label: Option<String>,
    /// The currency of its value, in lower case, and that value; null without a rate.
    pub fiat_currency: Option<String>,
    pub fiat_amount: Option<Number>,
    pub received_at: String,
}
