//! The order as a merchant sees it, in responses and as the `order` of every webhook: camelCase,
//! amounts in base units as text (`…Raw`), times in ISO 8601. The fields stand in the order in
//! which they are written; signatures depend on it.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::{
    FeeMode, Funding, PayoutFamily, State,
    batch::{BatchState, Tally},
    lifecycle::CancelledBy,
    schema,
};
use crate::{
    asset::catalogue::Currency,
    invoice::{payment::iso_8601, schema as values},
    money::BaseUnits,
    vocabulary::vocabulary,
};

/// All facts of the object.
#[derive(Clone, Debug)]
pub struct OrderView {
    pub id: String,
    pub currency: &'static Currency,
    pub family: PayoutFamily,
    pub state: State,
    pub funding: Funding,
    pub label: Option<String>,
    /// The merchant's own JSON object, as it was sent.
    pub metadata: Option<String>,
    pub fee_mode: FeeMode,
    pub item_count: u32,
    pub batch_count: u32,
    pub payout_total: BaseUnits,
    pub total_to_send: BaseUnits,
    pub received: BaseUnits,
    pub paid: BaseUnits,
    pub failed: BaseUnits,
    pub deposit_address: Option<String>,
    pub refund_address: Option<String>,
    pub quote: QuoteView,
    pub progress: Tally,
    pub last_batch: Option<BatchView>,
    pub refund: Option<RefundView>,
    pub cancelled_by: Option<CancelledBy>,
    pub held: bool,
    pub expires_at: DateTime<Utc>,
    pub created_at: DateTime<Utc>,
    pub confirmed_at: Option<DateTime<Utc>>,
    pub funded_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
    pub updated_at: DateTime<Utc>,
}

#[derive(Clone, Debug)]
pub struct QuoteView {
    pub id: String,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    /// Wei per gas, or the smallest coin per virtual byte.
    pub fee_rate: u128,
    /// One whole coin in USD, in plain decimals.
    pub native_price_usd: String,
    pub asset_price_usd: String,
    pub network_fee: BaseUnits,
    pub service_fee: BaseUnits,
}

#[derive(Clone, Debug)]
pub struct BatchView {
    pub id: String,
    pub index: u32,
    pub state: BatchState,
    pub item_count: u32,
    pub failed_count: u32,
    pub amount: BaseUnits,
    /// Network fee of its confirmed transactions, in the network's own coin.
    pub fee: BaseUnits,
    /// Of its transaction, or of the first one where every recipient has one of its own.
    pub tx_hash: Option<String>,
    pub replaced_tx_hashes: Vec<String>,
    pub confirmations: u64,
    pub required_confirmations: u64,
    pub last_error: Option<String>,
    pub broadcast_at: Option<DateTime<Utc>>,
    pub confirmed_at: Option<DateTime<Utc>>,
}

vocabulary! {
    /// The state of a refund.
    pub enum RefundState: "state of a refund" {
        /// Not signed yet.
        Pending = "pending",
        Sent = "sent",
        Confirmed = "confirmed",
        /// An operator must decide.
        Held = "held",
    }
}

/// Refund to the merchant.
#[derive(Clone, Debug)]
pub struct RefundView {
    pub state: RefundState,
    pub address: Option<String>,
    pub amount: BaseUnits,
    pub tx_hash: Option<String>,
}

/// A mass payout as its merchant sees it. Fields are only ever added.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PayoutOrder)]
pub struct Order<'a> {
    /// `mpo_…` on bitcoin, litecoin and dogecoin, `empo_…` on EVM networks. Never changes.
    #[schema(value_type = String)]
    id: &'a str,
    #[schema(value_type = schema::FamilyName)]
    family: &'static str,
    #[schema(value_type = schema::OrderState)]
    state: &'static str,
    #[schema(value_type = schema::FundingStatus)]
    funding_status: &'static str,
    #[schema(value_type = values::NetworkName)]
    network: &'static str,
    /// The code of the currency that is paid out, as `GET /v1/currencies` lists it.
    #[schema(value_type = String, examples("usdtmatic"))]
    currency: &'static str,
    /// In upper case.
    #[schema(value_type = String, examples("USDT"))]
    symbol: &'static str,
    #[schema(value_type = values::StandardName)]
    standard: &'static str,
    /// Null for native coins.
    #[schema(value_type = Option<String>, required)]
    contract_address: Option<&'static str>,
    /// Decimal places of one whole coin.
    #[schema(maximum = 24)]
    decimals: u8,
    /// Chain id of an EVM network; null on other networks.
    #[schema(required)]
    chain_id: Option<u64>,
    /// The merchant's own text, as it was sent.
    #[schema(value_type = Option<String>, required)]
    label: Option<&'a str>,
    /// The merchant's own object, as it was sent.
    #[schema(value_type = Option<schema::Metadata>, required)]
    metadata: Option<Box<RawValue>>,
    #[schema(value_type = schema::FeeBearer)]
    fee_mode: &'static str,
    /// Number of recipients' rows.
    item_count: u32,
    /// Number of groups in which the rows are sent and reported.
    batch_count: u32,
    /// Sum of the requested amounts.
    #[schema(value_type = schema::RawAmount)]
    payout_total_raw: String,
    /// Network fee in the quote.
    #[schema(value_type = schema::RawAmount)]
    network_fee_raw: String,
    /// Service fee in the quote.
    #[schema(value_type = schema::RawAmount)]
    service_fee_raw: String,
    /// Amount to send to `depositAddress`.
    #[schema(value_type = schema::RawAmount)]
    total_to_send_raw: String,
    /// Confirmed at `depositAddress` so far.
    #[schema(value_type = schema::RawAmount)]
    received_raw: String,
    /// Amount by which `receivedRaw` is too low.
    #[schema(value_type = schema::RawAmount)]
    missing_raw: String,
    /// Amount by which `receivedRaw` is too high; refunded at the end.
    #[schema(value_type = schema::RawAmount)]
    surplus_raw: String,
    /// Amount paid to recipients by final transactions.
    #[schema(value_type = schema::RawAmount)]
    paid_raw: String,
    /// Amount of the rows that ended unpaid; refunded at the end.
    #[schema(value_type = schema::RawAmount)]
    failed_raw: String,
    /// The order's own address; null until it is confirmed.
    #[schema(value_type = Option<String>, required)]
    deposit_address: Option<&'a str>,
    /// Address for refunds; without it a refund waits for manual handling.
    #[schema(value_type = Option<String>, required)]
    refund_address: Option<&'a str>,
    /// Expiry of the quote in a draft; afterwards the deadline for the deposit.
    #[schema(value_type = values::Instant)]
    expires_at: String,
    quote: Quote<'a>,
    progress: Progress,
    /// The batch that an event concerns, otherwise the last batch with any progress; null before
    /// the first.
    #[schema(required)]
    last_batch: Option<Batch<'a>>,
    /// Refund of an ended order; null if there is nothing to refund.
    #[schema(required)]
    refund: Option<Refund<'a>>,
    /// True if the order is on hold: an operator must release it before anything more is sent.
    held: bool,
    #[schema(value_type = Option<schema::Canceller>, required)]
    cancelled_by: Option<&'static str>,
    #[schema(value_type = values::Instant)]
    created_at: String,
    /// When the merchant confirmed the order.
    #[schema(value_type = Option<values::Instant>, required)]
    confirmed_at: Option<String>,
    /// When the received amount became sufficient.
    #[schema(value_type = Option<values::Instant>, required)]
    funded_at: Option<String>,
    /// When its state became final.
    #[schema(value_type = Option<values::Instant>, required)]
    finished_at: Option<String>,
    /// Time of the last change.
    #[schema(value_type = values::Instant)]
    updated_at: String,
}

/// The price of an order, and how long it is valid.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PayoutQuote)]
struct Quote<'a> {
    /// Send it as `quoteId` to confirm exactly this quote.
    #[schema(value_type = String)]
    id: &'a str,
    #[schema(value_type = values::Instant)]
    created_at: String,
    /// After this time the quote must be refreshed before the order can be confirmed.
    #[schema(value_type = values::Instant)]
    expires_at: String,
    /// On bitcoin, litecoin and dogecoin: base units per virtual byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::RawAmount>, nullable = false)]
    fee_rate_sat_vb: Option<String>,
    /// On EVM networks: wei per unit of gas.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::RawAmount>, nullable = false)]
    max_fee_per_gas_wei: Option<String>,
    /// One whole coin of the network, in US dollars.
    #[schema(value_type = values::DecimalText)]
    native_price_usd: &'a str,
    /// One whole coin of the paid currency, in US dollars.
    #[schema(value_type = values::DecimalText)]
    asset_price_usd: &'a str,
    /// The same as in the order.
    #[schema(value_type = schema::RawAmount)]
    network_fee_raw: String,
    /// The same as in the order.
    #[schema(value_type = schema::RawAmount)]
    service_fee_raw: String,
}

/// Number of rows in each state.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PayoutProgress)]
struct Progress {
    /// Nothing is signed yet.
    pending: u32,
    /// Signed, and not yet accepted by a node.
    signing: u32,
    /// Accepted by a node.
    broadcasted: u32,
    /// Paid by a final transaction.
    confirmed: u32,
    /// Ended unpaid.
    failed: u32,
}

/// Recipients that are sent or reported together: on bitcoin, litecoin and dogecoin the outputs of
/// one transaction, on EVM networks one transaction each, or one for many rows of a token.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PayoutBatch)]
pub struct Batch<'a> {
    /// `mpb_…`
    #[schema(value_type = String)]
    id: &'a str,
    /// From 0, in the order in which they are sent.
    index: u32,
    #[schema(value_type = schema::BatchStateName)]
    state: &'static str,
    /// Rows in it.
    item_count: u32,
    /// Number of its rows that ended unpaid.
    failed_count: u32,
    /// Sum of the requested amounts of its rows.
    #[schema(value_type = schema::RawAmount)]
    amount_raw: String,
    /// Network fees of its confirmed transactions, in the network's own coin.
    #[schema(value_type = schema::RawAmount)]
    fee_raw: String,
    /// Hash of its transaction, or of the first one if every recipient has a separate transaction.
    #[schema(value_type = Option<String>, required)]
    tx_hash: Option<&'a str>,
    /// Earlier versions with lower fees; none of them can confirm beside the last one.
    replaced_tx_hashes: &'a [String],
    /// Confirmations of its transactions.
    confirmations: u64,
    /// Confirmations after which it is final.
    required_confirmations: u64,
    /// The last error, as text for people.
    #[schema(value_type = Option<String>, required)]
    last_error: Option<&'a str>,
    /// When a node first accepted it.
    #[schema(value_type = Option<values::Instant>, required)]
    broadcast_at: Option<String>,
    /// When it became final.
    #[schema(value_type = Option<values::Instant>, required)]
    confirmed_at: Option<String>,
}

/// Refund to the merchant.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PayoutRefund)]
struct Refund<'a> {
    #[schema(value_type = schema::RefundState)]
    state: &'static str,
    /// Null if none was given.
    #[schema(value_type = Option<String>, required)]
    address: Option<&'a str>,
    #[schema(value_type = schema::RawAmount)]
    amount_raw: String,
    /// Set once it is signed.
    #[schema(value_type = Option<String>, required)]
    tx_hash: Option<&'a str>,
}

impl<'a> Order<'a> {
    pub fn render(view: &'a OrderView) -> Self {
        let (currency, quote) = (view.currency, &view.quote);
        let time = |at: Option<DateTime<Utc>>| at.map(iso_8601);
        Self {
            id: &view.id,
            family: view.family.as_str(),
            state: view.state.as_str(),
            funding_status: view.funding.as_str(),
            network: currency.network.name(),
            currency: currency.code,
            symbol: currency.symbol,
            standard: currency.standard.name(),
            contract_address: currency.contract,
            decimals: currency.decimals,
            chain_id: currency.network.evm_chain_id(),
            label: view.label.as_deref(),
            metadata: view
                .metadata
                .as_ref()
                .and_then(|text| RawValue::from_string(text.clone()).ok()),
            fee_mode: view.fee_mode.as_str(),
            item_count: view.item_count,
            batch_count: view.batch_count,
            payout_total_raw: raw(view.payout_total),
            network_fee_raw: raw(quote.network_fee),
            service_fee_raw: raw(quote.service_fee),
            total_to_send_raw: raw(view.total_to_send),
            received_raw: raw(view.received),
            missing_raw: raw(view.total_to_send.remaining_after(view.received)),
            surplus_raw: raw(view.received.remaining_after(view.total_to_send)),
            paid_raw: raw(view.paid),
            failed_raw: raw(view.failed),
            deposit_address: view.deposit_address.as_deref(),
            refund_address: view.refund_address.as_deref(),
            expires_at: iso_8601(view.expires_at),
            quote: Quote::render(view.family, quote),
            progress: Progress::of(view.progress),
            last_batch: view.last_batch.as_ref().map(Batch::render),
            refund: view.refund.as_ref().map(Refund::render),
            held: view.held,
            cancelled_by: view.cancelled_by.map(CancelledBy::as_str),
            created_at: iso_8601(view.created_at),
            confirmed_at: time(view.confirmed_at),
            funded_at: time(view.funded_at),
            finished_at: time(view.finished_at),
            updated_at: iso_8601(view.updated_at),
        }
    }
}

/// Renders the object for a webhook and a response.
pub fn snapshot(view: &OrderView) -> String {
    serde_json::to_string(&Order::render(view)).expect("an order is plain data")
}

impl<'a> Quote<'a> {
    fn render(family: PayoutFamily, view: &'a QuoteView) -> Self {
        let rate = |of: PayoutFamily| (of == family).then(|| view.fee_rate.to_string());
        Self {
            id: &view.id,
            created_at: iso_8601(view.created_at),
            expires_at: iso_8601(view.expires_at),
            fee_rate_sat_vb: rate(PayoutFamily::Utxo),
            max_fee_per_gas_wei: rate(PayoutFamily::Evm),
            native_price_usd: &view.native_price_usd,
            asset_price_usd: &view.asset_price_usd,
            network_fee_raw: raw(view.network_fee),
            service_fee_raw: raw(view.service_fee),
        }
    }
}

impl Progress {
    const fn of(rows: Tally) -> Self {
        Self {
            pending: rows.pending,
            signing: rows.signed,
            broadcasted: rows.sent,
            confirmed: rows.confirmed,
            failed: rows.failed,
        }
    }
}

impl<'a> Batch<'a> {
    pub fn render(view: &'a BatchView) -> Self {
        Self {
            id: &view.id,
            index: view.index,
            state: view.state.as_str(),
            item_count: view.item_count,
            failed_count: view.failed_count,
            amount_raw: raw(view.amount),
            fee_raw: raw(view.fee),
            tx_hash: view.tx_hash.as_deref(),
            replaced_tx_hashes: &view.replaced_tx_hashes,
            confirmations: view.confirmations,
            required_confirmations: view.required_confirmations,
            last_error: view.last_error.as_deref(),
            broadcast_at: view.broadcast_at.map(iso_8601),
            confirmed_at: view.confirmed_at.map(iso_8601),
        }
    }
}

impl<'a> Refund<'a> {
    fn render(view: &'a RefundView) -> Self {
        Self {
            state: view.state.as_str(),
            address: view.address.as_deref(),
            amount_raw: raw(view.amount),
            tx_hash: view.tx_hash.as_deref(),
        }
    }
}

fn raw(amount: BaseUnits) -> String {
    amount.get().to_string()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::asset::catalogue::Catalogue;

    fn view() -> OrderView {
        let at = |second: i64| DateTime::from_timestamp(1_700_000_000 + second, 0).unwrap();
        OrderView {
            id: "mpo_0".into(),
            currency: Catalogue::get().by_token_id("ltc@litecoin").unwrap(),
            family: PayoutFamily::Utxo,
            state: State::Processing,
            funding: Funding::Overfunded,
            label: Some("wages".into()),
            metadata: Some(r#"{"z":1.10,"a":[]}"#.into()),
            fee_mode: FeeMode::Sender,
            item_count: 2,
            batch_count: 1,
            payout_total: BaseUnits::new(130),
            total_to_send: BaseUnits::new(140),
            received: BaseUnits::new(150),
            paid: BaseUnits::new(125),
            failed: BaseUnits::ZERO,
            deposit_address: Some("ltc1qa".into()),
            refund_address: None,
            quote: QuoteView {
                id: "mpq_0".into(),
                created_at: at(0),
                expires_at: at(900),
                fee_rate: 10,
                native_price_usd: "80".into(),
                asset_price_usd: "80".into(),
                network_fee: BaseUnits::new(9),
                service_fee: BaseUnits::new(1),
            },
            progress: Tally { sent: 1, confirmed: 1, ..Tally::default() },
            last_batch: Some(BatchView {
                id: "mpb_0".into(),
                index: 0,
                state: BatchState::Broadcasted,
                item_count: 2,
                failed_count: 0,
                amount: BaseUnits::new(130),
                fee: BaseUnits::ZERO,
                tx_hash: Some("ab".into()),
                replaced_tx_hashes: vec![],
                confirmations: 1,
                required_confirmations: 6,
                last_error: None,
                broadcast_at: Some(at(5)),
                confirmed_at: None,
            }),
            refund: None,
            cancelled_by: None,
            held: false,
            expires_at: at(3600),
            created_at: at(0),
            confirmed_at: Some(at(1)),
            funded_at: Some(at(2)),
            finished_at: None,
            updated_at: at(5),
        }
    }

    #[test]
    fn an_order_is_written_in_one_fixed_order_with_exact_amounts() {
        expect![[r#"{"id":"mpo_0","family":"utxo","state":"processing","fundingStatus":"overfunded","network":"litecoin","currency":"ltc","symbol":"LTC","standard":"native","contractAddress":null,"decimals":8,"chainId":null,"label":"wages","metadata":{"z":1.10,"a":[]},"feeMode":"sender","itemCount":2,"batchCount":1,"payoutTotalRaw":"130","networkFeeRaw":"9","serviceFeeRaw":"1","totalToSendRaw":"140","receivedRaw":"150","missingRaw":"0","surplusRaw":"10","paidRaw":"125","failedRaw":"0","depositAddress":"ltc1qa","refundAddress":null,"expiresAt":"2023-11-14T23:13:20.000Z","quote":{"id":"mpq_0","createdAt":"2023-11-14T22:13:20.000Z","expiresAt":"2023-11-14T22:28:20.000Z","feeRateSatVb":"10","nativePriceUsd":"80","assetPriceUsd":"80","networkFeeRaw":"9","serviceFeeRaw":"1"},"progress":{"pending":0,"signing":0,"broadcasted":1,"confirmed":1,"failed":0},"lastBatch":{"id":"mpb_0","index":0,"state":"broadcasted","itemCount":2,"failedCount":0,"amountRaw":"130","feeRaw":"0","txHash":"ab","replacedTxHashes":[],"confirmations":1,"requiredConfirmations":6,"lastError":null,"broadcastAt":"2023-11-14T22:13:25.000Z","confirmedAt":null},"refund":null,"held":false,"cancelledBy":null,"createdAt":"2023-11-14T22:13:20.000Z","confirmedAt":"2023-11-14T22:13:21.000Z","fundedAt":"2023-11-14T22:13:22.000Z","finishedAt":null,"updatedAt":"2023-11-14T22:13:25.000Z"}"#]].assert_eq(&snapshot(&view()));
    }

    #[test]
    fn evm_orders_name_their_chain_and_their_gas() {
        let currency = Catalogue::get().by_token_id("usdtmatic@polygon").unwrap();
        let evm = OrderView { currency, family: PayoutFamily::Evm, ..view() };
        let json: serde_json::Value = serde_json::from_str(&snapshot(&evm)).unwrap();
        assert_eq!(json["chainId"], 137);
        assert_eq!(json["quote"]["maxFeePerGasWei"], "10");
        assert!(json["quote"].get("feeRateSatVb").is_none());
        assert_eq!(json["surplusRaw"], "10");
        assert_eq!(json["missingRaw"], "0");
    }
}
