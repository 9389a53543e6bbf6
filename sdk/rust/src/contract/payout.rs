//! Made by sdk/generate.py from api/openapi.json; do not edit.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Amount, TestMark};

/// The quote or the total that is confirmed. Without a body, or with an empty object, the order is
/// confirmed as it is.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmPayout {
    /// If sent, the order is confirmed only if its `totalToSendRaw` equals this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept_total_raw: Option<String>,
    /// If sent, the order is confirmed only if this is still its quote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote_id: Option<String>,
}

/// An order to create. Its recipients are either in `items` or in `csv`. Members that are not
/// listed are ignored; null is the same as absent.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct NewPayout {
    /// The URL for this order's webhooks, instead of the one in the merchant's settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback_url: Option<String>,
    /// The text of a file, as it would be sent as `text/csv`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csv: Option<String>,
    /// A currency's code, or its symbol on this network.
    pub currency: String,
    /// `sender` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fee_mode: Option<String>,
    /// At most 1000 recipients, on EVM networks 2000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<NewPayoutItem>>,
    /// Plain text for the merchant's own use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<RawValue>>,
    /// A network of this family.
    pub network: String,
    /// The address for refunds. Without it a refund waits for an operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refund_address: Option<String>,
}

/// One recipient. Rows with equal content each need a `reference` of their own.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct NewPayoutItem {
    /// On the order's network.
    pub address: String,
    /// Whole coins, as a number or as text. Either this or `amountRaw`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<Amount>,
    /// Base units. Either this or `amount`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount_raw: Option<String>,
    /// The merchant's own note, with the limits of `reference`, but it need not be unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memo: Option<String>,
    /// The merchant's own reference, unique within the order. It must not start like a formula
    /// (`=`, `+`, `-`, `@`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// Recipients that are sent or reported together: on bitcoin, litecoin and dogecoin the outputs of
/// one transaction, on EVM networks one transaction each, or one for many rows of a token.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PayoutBatch {
    /// Sum of the requested amounts of its rows.
    pub amount_raw: String,
    /// When a node first accepted it.
    pub broadcast_at: Option<String>,
    /// Confirmations of its transactions.
    pub confirmations: i64,
    /// When it became final.
    pub confirmed_at: Option<String>,
    /// Number of its rows that ended unpaid.
    pub failed_count: i64,
    /// Network fees of its confirmed transactions, in the network's own coin.
    pub fee_raw: String,
    /// `mpb_…`
    pub id: String,
    /// From 0, in the order in which they are sent.
    pub index: i64,
    /// Rows in it.
    pub item_count: i64,
    /// The last error, as text for people.
    pub last_error: Option<String>,
    /// Earlier versions with lower fees; none of them can confirm beside the last one.
    pub replaced_tx_hashes: Vec<String>,
    /// Confirmations after which it is final.
    pub required_confirmations: i64,
    pub state: String,
    /// Hash of its transaction, or of the first one if every recipient has a separate transaction.
    pub tx_hash: Option<String>,
}

/// A part of the API.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PayoutBatchList {
    pub data: Vec<PayoutBatch>,
    pub ok: bool,
}

/// One recipient of an order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PayoutItem {
    /// As wallets and explorers write it.
    pub address: String,
    /// The same in whole coins.
    pub amount: String,
    /// The requested amount.
    pub amount_raw: String,
    /// The batch that it is sent with.
    pub batch_id: String,
    /// For people: why it was not paid.
    pub error: Option<String>,
    /// `mpi_…`
    pub id: String,
    /// The merchant's own note, as it was sent; it is not written to the chain.
    pub memo: Option<String>,
    /// The amount that the recipient gets: the requested amount, less the fees if recipients bear
    /// them.
    pub net_amount_raw: String,
    /// The merchant's own reference, as it was sent.
    pub reference: Option<String>,
    /// In a CSV file the line number as a spreadsheet shows it, in JSON the position in `items`,
    /// from 1.
    pub row_number: i64,
    pub state: String,
    /// Hash of the transaction that pays it, or that failed to; null until one is signed.
    pub tx_hash: Option<String>,
}

/// A part of the API.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PayoutItemPage {
    pub data: Vec<PayoutItem>,
    /// Entries per page, after clamping.
    pub limit: i64,
    pub ok: bool,
    /// 0-based, after clamping.
    pub page: i64,
    /// Number of pages; at least 1, even if there are no entries.
    pub pages_count: i64,
    /// Entries on all pages.
    pub total: i64,
}

/// A mass payout as its merchant sees it. Fields are only ever added.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PayoutOrder {
    /// Number of groups in which the rows are sent and reported.
    pub batch_count: i64,
    pub cancelled_by: Option<String>,
    /// Chain id of an EVM network; null on other networks.
    pub chain_id: Option<i64>,
    /// When the merchant confirmed the order.
    pub confirmed_at: Option<String>,
    /// Null for native coins.
    pub contract_address: Option<String>,
    pub created_at: String,
    /// The code of the currency that is paid out, as `GET /v1/currencies` lists it.
    pub currency: String,
    /// Decimal places of one whole coin.
    pub decimals: i64,
    /// The order's own address; null until it is confirmed.
    pub deposit_address: Option<String>,
    /// Expiry of the quote in a draft; afterwards the deadline for the deposit.
    pub expires_at: String,
    /// Amount of the rows that ended unpaid; refunded at the end.
    pub failed_raw: String,
    pub family: String,
    pub fee_mode: String,
    /// When its state became final.
    pub finished_at: Option<String>,
    /// When the received amount became sufficient.
    pub funded_at: Option<String>,
    pub funding_status: String,
    /// True if the order is on hold: an operator must release it before anything more is sent.
    pub held: bool,
    /// `mpo_…` on bitcoin, litecoin and dogecoin, `empo_…` on EVM networks. Never changes.
    pub id: String,
    /// Number of recipients' rows.
    pub item_count: i64,
    /// The merchant's own text, as it was sent.
    pub label: Option<String>,
    /// The batch that an event concerns, otherwise the last batch with any progress; null before
    /// the first.
    pub last_batch: Option<PayoutBatch>,
    /// The merchant's own object, as it was sent.
    pub metadata: Option<Box<RawValue>>,
    /// Amount by which `receivedRaw` is too low.
    pub missing_raw: String,
    pub network: String,
    /// Network fee in the quote.
    pub network_fee_raw: String,
    /// Amount paid to recipients by final transactions.
    pub paid_raw: String,
    /// Sum of the requested amounts.
    pub payout_total_raw: String,
    pub progress: PayoutProgress,
    pub quote: PayoutQuote,
    /// Confirmed at `depositAddress` so far.
    pub received_raw: String,
    /// Refund of an ended order; null if there is nothing to refund.
    pub refund: Option<PayoutRefund>,
    /// Address for refunds; without it a refund waits for manual handling.
    pub refund_address: Option<String>,
    /// Service fee in the quote.
    pub service_fee_raw: String,
    pub standard: String,
    pub state: String,
    /// Amount by which `receivedRaw` is too high; refunded at the end.
    pub surplus_raw: String,
    /// In upper case.
    pub symbol: String,
    /// Amount to send to `depositAddress`.
    pub total_to_send_raw: String,
    /// Time of the last change.
    pub updated_at: String,
}

/// A part of the API.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PayoutOrderAnswer {
    pub data: PayoutOrder,
    pub ok: bool,
}

/// A part of the API.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PayoutOrderPage {
    pub data: Vec<PayoutOrder>,
    /// Entries per page, after clamping.
    pub limit: i64,
    pub ok: bool,
    /// 0-based, after clamping.
    pub page: i64,
    /// Number of pages; at least 1, even if there are no entries.
    pub pages_count: i64,
    /// Entries on all pages.
    pub total: i64,
}

/// Number of rows in each state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PayoutProgress {
    /// Accepted by a node.
    pub broadcasted: i64,
    /// Paid by a final transaction.
    pub confirmed: i64,
    /// Ended unpaid.
    pub failed: i64,
    /// Nothing is signed yet.
    pub pending: i64,
    /// Signed, and not yet accepted by a node.
    pub signing: i64,
}

/// The price of an order, and how long it is valid.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PayoutQuote {
    /// One whole coin of the paid currency, in US dollars.
    pub asset_price_usd: String,
    pub created_at: String,
    /// After this time the quote must be refreshed before the order can be confirmed.
    pub expires_at: String,
    /// On bitcoin, litecoin and dogecoin: base units per virtual byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fee_rate_sat_vb: Option<String>,
    /// Send it as `quoteId` to confirm exactly this quote.
    pub id: String,
    /// On EVM networks: wei per unit of gas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_fee_per_gas_wei: Option<String>,
    /// One whole coin of the network, in US dollars.
    pub native_price_usd: String,
    /// The same as in the order.
    pub network_fee_raw: String,
    /// The same as in the order.
    pub service_fee_raw: String,
}

/// The quote of an order as it is now.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PayoutQuoted {
    /// The id to confirm this quote with.
    pub quote_id: String,
    /// The amount that would have to be sent.
    pub total_to_send_raw: String,
}

/// Refund to the merchant.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PayoutRefund {
    /// Null if none was given.
    pub address: Option<String>,
    pub amount_raw: String,
    pub state: String,
    /// Set once it is signed.
    pub tx_hash: Option<String>,
}

/// One cell that cannot be used.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PayoutRowFault {
    /// The column by its name, or `row` for the row as a whole.
    pub column: String,
    /// For people.
    pub reason: String,
    /// In a CSV file the line number as a spreadsheet shows it, in JSON the position in `items`,
    /// from 1.
    pub row: i64,
    /// The beginning of the cell.
    pub value: String,
}

/// The present state of an order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PayoutStanding {
    pub state: String,
}

/// One event of one order. The fields are always in this order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PayoutWebhook {
    /// Only in a test that the merchant asked for (`POST /v1/webhooks/test`).
    #[serde(rename = "_gateway", default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<TestMark>,
    /// Seconds since 1970, renewed at each attempt. Refuse events older than ten minutes.
    pub event_at: i64,
    /// `pzwe_…`, the same for all attempts: process each id only once.
    pub event_id: String,
    pub event_type: String,
    /// The order as it was when the event happened.
    pub order: PayoutOrder,
}
