//! The columns of an order, and their conversion to types.

use std::str::FromStr;

use bigdecimal::BigDecimal;
use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{Books, DepositPlace, PayoutOrder, StoredQuote};
use crate::{
    asset::catalogue::Catalogue,
    money::BaseUnits,
    payout::{PayoutFamily, hold::Hold, lifecycle::CancelledBy},
    storage::{StorageError, numeric},
};

const TABLE: &str = "payout_order";

pub(super) fn small(value: u32) -> Result<i32, StorageError> {
    i32::try_from(value).map_err(|_| StorageError::damaged(TABLE, "a count is too large"))
}

pub(super) struct RawOrder {
    pub(super) id: Uuid,
    pub(super) order_id: String,
    pub(super) merchant_id: Uuid,
    pub(super) family: String,
    pub(super) state: String,
    pub(super) funding: String,
    pub(super) token_id: String,
    pub(super) fee_mode: String,
    pub(super) label: Option<String>,
    pub(super) metadata: Option<String>,
    pub(super) refund_address: Option<String>,
    pub(super) callback_url: Option<String>,
    pub(super) item_count: i32,
    pub(super) batch_count: i32,
    pub(super) payout_total: BigDecimal,
    pub(super) network_fee: BigDecimal,
    pub(super) service_fee: BigDecimal,
    pub(super) total_to_send: BigDecimal,
    pub(super) quote_id: String,
    pub(super) quote_created_at: DateTime<Utc>,
    pub(super) quote_expires_at: DateTime<Utc>,
    pub(super) fee_rate: BigDecimal,
    pub(super) native_price_usd: BigDecimal,
    pub(super) asset_price_usd: BigDecimal,
    pub(super) credited: BigDecimal,
    pub(super) late: BigDecimal,
    pub(super) kept: BigDecimal,
    pub(super) reserved: BigDecimal,
    pub(super) paid: BigDecimal,
    pub(super) returned: BigDecimal,
    pub(super) failed: BigDecimal,
    pub(super) deposit_address: Option<String>,
    pub(super) derivation_index: Option<i64>,
    pub(super) expires_at: DateTime<Utc>,
    pub(super) abandoned_at: DateTime<Utc>,
    pub(super) cancelled_by: Option<String>,
    pub(super) hold_reason: Option<String>,
    pub(super) gas_open: bool,
    pub(super) waits_for: Option<String>,
    pub(super) digest: Option<Vec<u8>>,
    pub(super) created_at: DateTime<Utc>,
    pub(super) confirmed_at: Option<DateTime<Utc>>,
    pub(super) funded_at: Option<DateTime<Utc>>,
    pub(super) finished_at: Option<DateTime<Utc>>,
    pub(super) updated_at: DateTime<Utc>,
}

fn units(value: &BigDecimal) -> Result<BaseUnits, StorageError> {
    numeric::to_units(TABLE, value)
}

impl RawOrder {
    fn books(&self) -> Result<Books, StorageError> {
        Ok(Books {
            credited: units(&self.credited)?,
            late: units(&self.late)?,
            kept: units(&self.kept)?,
            reserved: units(&self.reserved)?,
            paid: units(&self.paid)?,
            returned: units(&self.returned)?,
            failed: units(&self.failed)?,
        })
    }

    fn quote(&self) -> Result<StoredQuote, StorageError> {
        Ok(StoredQuote {
            id: self.quote_id.clone(),
            created_at: self.quote_created_at,
            expires_at: self.quote_expires_at,
            fee_rate: units(&self.fee_rate)?.get(),
            native_price_usd: numeric::to_decimal(TABLE, &self.native_price_usd)?,
            asset_price_usd: numeric::to_decimal(TABLE, &self.asset_price_usd)?,
            network_fee: units(&self.network_fee)?,
            service_fee: units(&self.service_fee)?,
        })
    }
}

impl TryFrom<RawOrder> for PayoutOrder {
    type Error = StorageError;

    fn try_from(raw: RawOrder) -> Result<Self, StorageError> {
        let damaged = |reason: &dyn ToString| StorageError::damaged(TABLE, reason.to_string());
        let (books, quote) = (raw.books()?, raw.quote()?);
        let currency = Catalogue::get().by_token_id(&raw.token_id);
        let currency = currency.ok_or_else(|| damaged(&"its currency is not in the catalogue"))?;
        let family = PayoutFamily::of(currency.network);
        let family = family.filter(|family| family.as_str() == raw.family);
        let cancelled_by = raw.cancelled_by.as_deref().map(CancelledBy::from_str);
        let deposit = raw.deposit_address.zip(raw.derivation_index);
        Ok(Self {
            id: raw.id,
            order_id: raw.order_id,
            merchant_id: raw.merchant_id,
            family: family.ok_or_else(|| damaged(&"its family does not fit its currency"))?,
            state: raw.state.parse().map_err(|e| damaged(&e))?,
            funding: raw.funding.parse().map_err(|e| damaged(&e))?,
            currency,
            fee_mode: raw.fee_mode.parse().map_err(|e| damaged(&e))?,
            label: raw.label,
            metadata: raw.metadata,
            refund_address: raw.refund_address,
            callback_url: raw.callback_url,
            item_count: raw.item_count.unsigned_abs(),
            batch_count: raw.batch_count.unsigned_abs(),
            payout_total: units(&raw.payout_total)?,
            total_to_send: units(&raw.total_to_send)?,
            quote,
            books,
            deposit: deposit
                .map(|(address, derivation_index)| DepositPlace { address, derivation_index }),
            expires_at: raw.expires_at,
            abandoned_at: raw.abandoned_at,
            cancelled_by: cancelled_by.transpose().map_err(|e| damaged(&e))?,
            held: raw.hold_reason.map(Hold::from_stored),
            waits_for: raw.waits_for,
            gas_open: raw.gas_open,
            digest: raw.digest,
            created_at: raw.created_at,
            confirmed_at: raw.confirmed_at,
            funded_at: raw.funded_at,
            finished_at: raw.finished_at,
            updated_at: raw.updated_at,
        })
    }
}
