//! Orders of invoices that the `/legacy` adapter created.

use uuid::Uuid;

use super::{PgConnection, StorageError, numeric};
use crate::{legacy::order::Order, money::Price};

/// An order as its row has it; [`StoredOrder::read`] checks it.
#[derive(Debug, Clone)]
pub struct StoredOrder {
    pub txn_id: String,
    pub view_key: String,
    pub ipn_type: String,
    pub currency1: String,
    pub amount1: String,
    pub fields: String,
}

impl StoredOrder {
    /// A damaged row is an error.
    pub fn read(&self) -> Result<Order, StorageError> {
        let fields = serde_json::from_str(&self.fields);
        Ok(Order {
            txn_id: self.txn_id.clone(),
            view_key: self.view_key.clone(),
            ipn_type: self.ipn_type.parse().map_err(damaged)?,
            currency1: self.currency1.clone(),
            amount1: Price::parse(&self.amount1).map_err(damaged)?,
            fields: fields.map_err(damaged)?,
        })
    }
}

fn damaged(reason: impl ToString) -> StorageError {
    StorageError::damaged("legacy_payment", reason)
}

/// Stores the order of a new invoice, in the transaction that creates it.
pub async fn insert(
    connection: &mut PgConnection,
    invoice_id: Uuid,
    merchant_id: Uuid,
    order: &Order,
) -> Result<(), StorageError> {
    let fields = serde_json::to_string(&order.fields).map_err(damaged)?;
    sqlx::query!(
        r#"
        insert into legacy_payment (invoice_id, merchant_id, txn_id, view_key, ipn_type, currency1, amount1, fields)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
        "#,
        invoice_id,
        merchant_id,
        order.txn_id,
        order.view_key,
        order.ipn_type.as_str(),
        order.currency1,
        numeric::from_price(order.amount1),
        fields
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// An invoice of a merchant by its `txn_id`: its `payment_id` and its order. Index:
/// `legacy_payment_txn_id_unique`.
pub async fn by_txn_id(
    connection: &mut PgConnection,
    txn_id: &str,
    merchant_id: Option<Uuid>,
) -> Result<Option<(String, Order)>, StorageError> {
    let row = sqlx::query!(
        r#"
        select i.payment_id, l.txn_id, l.view_key, l.ipn_type, l.currency1, l.amount1::text as "amount1!", l.fields
        from legacy_payment l
        join invoice i on i.id = l.invoice_id
        where l.txn_id = $1 and ($2::uuid is null or l.merchant_id = $2)
        "#,
        txn_id,
        merchant_id
    )
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let stored = StoredOrder {
        txn_id: row.txn_id,
        view_key: row.view_key,
        ipn_type: row.ipn_type,
        currency1: row.currency1,
        amount1: row.amount1,
        fields: row.fields,
    };
    Ok(Some((row.payment_id, stored.read()?)))
}

/// The order of an invoice, if the adapter created it. Index: `legacy_payment_pkey`.
pub async fn of_invoice(
    connection: &mut PgConnection,
    invoice_id: Uuid,
) -> Result<Option<Order>, StorageError> {
    let row = sqlx::query_as!(
        StoredOrder,
        r#"
        select txn_id, view_key, ipn_type, currency1, amount1::text as "amount1!", fields
        from legacy_payment
        where invoice_id = $1
        "#,
        invoice_id
    )
    .fetch_optional(connection)
    .await?;
    row.map(|row| row.read()).transpose()
}

/// A merchant's transactions, newest first, of those created after `newer` (seconds since 1970).
/// Index: `legacy_payment_by_created`.
pub async fn ids(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    newer: i64,
    limit: i64,
    offset: i64,
) -> Result<Vec<String>, StorageError> {
    let rows = sqlx::query_scalar!(
        r#"
        select txn_id
        from legacy_payment
        where merchant_id = $1 and created_at > 'epoch'::timestamptz + $2::bigint * interval '1 second'
        order by created_at desc, invoice_id desc
        limit $3 offset $4
        "#,
        merchant_id,
        newer,
        limit,
        offset
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Number of open invoices that visitors created by a merchant's hosted forms, counted no further
/// than the quota. Indices: `legacy_payment_pkey`, `invoice_open_by_link`.
pub async fn open_of_forms(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    quota: i64,
) -> Result<i64, StorageError> {
    let count = sqlx::query_scalar!(
        r#"
        select count(*) as "count!"
        from (
            select from invoice i
            join legacy_payment l on l.invoice_id = i.id
            where i.merchant_id = $1 and i.link_id is null and i.status in ('draft', 'pending', 'partial')
              and l.ipn_type <> 'api'
            limit $2
        ) as open
        "#,
        merchant_id,
        quota
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}
