//! What the payout API answers: `{ "ok": true, "data": … }`.

use gateway::{
    asset::catalogue::Currency,
    payout::order::{Batch, BatchView},
    storage::payouts::items::ItemRow,
};
use serde::Serialize;
use serde_json::value::RawValue;

/// One object that is rendered already.
pub fn data(object: &str) -> String {
    format!(r#"{{"ok":true,"data":{object}}}"#)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    ok: bool,
    data: Vec<T>,
    limit: i64,
    page: i64,
    /// At least 1, also when there is nothing.
    pages_count: i64,
    total: i64,
}

impl<T> Page<T> {
    pub fn new(data: Vec<T>, total: i64, limit: i64, page: i64) -> Self {
        let pages_count = (total.saturating_add(limit - 1) / limit).max(1);
        Self { ok: true, data, limit, page, pages_count, total }
    }
}

/// Objects that are rendered already.
pub fn rendered(bodies: Vec<String>) -> Vec<Box<RawValue>> {
    bodies.into_iter().filter_map(|body| RawValue::from_string(body).ok()).collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    id: String,
    row_number: i32,
    address: String,
    amount_raw: String,
    amount: String,
    net_amount_raw: String,
    reference: Option<String>,
    memo: Option<String>,
    batch_id: String,
    state: &'static str,
    tx_hash: Option<String>,
    error: Option<String>,
}

impl Item {
    pub fn render(row: ItemRow, currency: &Currency) -> Self {
        Self {
            id: row.item_id,
            row_number: row.row_number,
            address: row.address,
            amount_raw: row.amount.get().to_string(),
            amount: row.amount.to_decimal(u32::from(currency.decimals)),
            net_amount_raw: row.net_amount.get().to_string(),
            reference: row.reference,
            memo: row.memo,
            batch_id: row.batch_id,
            state: row.state.as_str(),
            tx_hash: row.tx_hash,
            error: row.error,
        }
    }
}

#[derive(Serialize)]
pub struct Batches<'a> {
    ok: bool,
    data: Vec<Batch<'a>>,
}

impl<'a> Batches<'a> {
    pub fn render(views: &'a [BatchView]) -> Self {
        Self { ok: true, data: views.iter().map(Batch::render).collect() }
    }
}
