//! Payout orders of one recipient that the `/legacy` adapter created.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError};
use crate::{
    asset::catalogue::{Catalogue, Currency},
    money::BaseUnits,
    payout::State,
};

/// The part of a withdrawal that its IPNs need and no snapshot of its order has.
#[derive(Debug, Clone)]
pub struct StoredWithdrawal {
    pub withdrawal_id: String,
    /// The recipient's.
    pub address: String,
}

/// A withdrawal as it is now.
#[derive(Debug, Clone)]
pub struct WithdrawalRow {
    pub withdrawal_id: String,
    /// The payout order's own id.
    pub order_id: String,
    pub state: State,
    pub is_held: bool,
    pub currency: &'static Currency,
    /// As it was ordered.
    pub amount: BaseUnits,
    /// What the recipient gets: less than that by the fees, unless they were added.
    pub net_amount: BaseUnits,
    pub address: String,
    pub tx_hash: Option<String>,
    /// Amount due at the deposit address, which is given once the order is confirmed.
    pub total_to_send: BaseUnits,
    pub deposit_address: Option<String>,
    pub note: Option<String>,
    pub created_at: DateTime<Utc>,
}

struct RawWithdrawal {
    withdrawal_id: String,
    order_id: String,
    state: State,
    is_held: bool,
    token_id: String,
    amount: BaseUnits,
    net_amount: BaseUnits,
    address: String,
    tx_hash: Option<String>,
    total_to_send: BaseUnits,
    deposit_address: Option<String>,
    note: Option<String>,
    created_at: DateTime<Utc>,
}

impl TryFrom<RawWithdrawal> for WithdrawalRow {
    type Error = StorageError;

    fn try_from(raw: RawWithdrawal) -> Result<Self, StorageError> {
        let currency = Catalogue::get().by_token_id(&raw.token_id);
        let unknown = || StorageError::damaged("payout_order", "its currency is unknown");
        Ok(Self {
            withdrawal_id: raw.withdrawal_id,
            order_id: raw.order_id,
            state: raw.state,
            is_held: raw.is_held,
            currency: currency.ok_or_else(unknown)?,
            amount: raw.amount,
            net_amount: raw.net_amount,
            address: raw.address,
            tx_hash: raw.tx_hash,
            total_to_send: raw.total_to_send,
            deposit_address: raw.deposit_address,
            note: raw.note,
            created_at: raw.created_at,
        })
    }
}

/// Query for withdrawals, selected and ordered by the end of the query.
macro_rules! withdrawals {
    ($chosen:tt, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            RawWithdrawal,
            r#"
            select w.withdrawal_id, o.order_id, o.state as "state: _", o.held_at is not null as "is_held!", o.token_id,
                   i.amount as "amount: _", i.net_amount as "net_amount: _", i.address, p.tx_hash as "tx_hash?", o.total_to_send as "total_to_send: _",
                   o.deposit_address, o.label as note, w.created_at
            from legacy_withdrawal w
            join payout_order o on o.id = w.payout_order_id
            join payout_item i on i.order_id = o.id
            left join payout_payment p on p.id = i.payment_id and i.state <> 'pending'
            "# + $chosen,
            $($argument),+
        )
    };
}

/// Notes that a new order is a withdrawal, in the transaction that creates it.
pub async fn insert(
    connection: &mut PgConnection,
    payout_order_id: Uuid,
    merchant_id: Uuid,
    withdrawal_id: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        "insert into legacy_withdrawal (payout_order_id, merchant_id, withdrawal_id) values ($1, $2, $3)",
        payout_order_id,
        merchant_id,
        withdrawal_id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A merchant's withdrawal. Index: `legacy_withdrawal_id_unique`.
pub async fn of_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    withdrawal_id: &str,
) -> Result<Option<WithdrawalRow>, StorageError> {
    let row = withdrawals!(
        "where w.withdrawal_id = $2 and w.merchant_id = $1",
        merchant_id,
        withdrawal_id
    )
    .fetch_optional(connection)
    .await?;
    row.map(TryInto::try_into).transpose()
}

/// A merchant's withdrawals, newest first, of those created after `newer` (seconds since 1970).
/// Index: `legacy_withdrawal_by_created`.
pub async fn page(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    newer: i64,
    limit: i64,
    offset: i64,
) -> Result<Vec<WithdrawalRow>, StorageError> {
    let rows = withdrawals!(
        "where w.merchant_id = $1 and w.created_at > 'epoch'::timestamptz + $2::bigint * interval '1 second'
         order by w.created_at desc, w.payout_order_id desc
         limit $3 offset $4",
        merchant_id,
        newer,
        limit,
        offset
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// Returns true if the adapter created this order. Index: `legacy_withdrawal_pkey`.
pub async fn is_one(
    connection: &mut PgConnection,
    payout_order_id: Uuid,
) -> Result<bool, StorageError> {
    let found = sqlx::query_scalar!(
        r#"select exists (select from legacy_withdrawal where payout_order_id = $1) as "is_one!""#,
        payout_order_id
    )
    .fetch_one(connection)
    .await?;
    Ok(found)
}
