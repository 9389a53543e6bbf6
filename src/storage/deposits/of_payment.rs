//! The deposits of an invoice or of a payout order, as its merchant sees them.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    asset::Network,
    deposit::{BookedAs, State},
    money::BaseUnits,
    storage::{PgConnection, StorageError},
};

/// A deposit with its value and the height of its network.
#[derive(Debug, Clone)]
pub struct Row {
    pub network: Network,
    pub tx_hash: String,
    pub token_id: Option<String>,
    pub contract: Option<String>,
    pub amount: Option<BaseUnits>,
    pub amount_text: String,
    pub height: Option<i64>,
    /// The newest block that was read, if any.
    pub head: Option<i64>,
    pub min_confirmations: i64,
    pub state: State,
    pub booked_as: Option<BookedAs>,
    pub first_seen_at: DateTime<Utc>,
    pub final_at: Option<DateTime<Utc>>,
    pub fiat_currency: Option<String>,
    /// A plain decimal.
    pub fiat_value: Option<String>,
    /// No transaction showed it, so `tx_hash` names none.
    pub found_by_balance: bool,
}

/// At most `limit` deposits of an invoice: those in its own currency first, so that no stranger's
/// dust hides the buyer's payment, then the oldest. Index: `deposit_by_invoice`.
pub async fn page(
    connection: &mut PgConnection,
    invoice_id: Uuid,
    limit: i64,
) -> Result<Vec<Row>, StorageError> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        select d.network as "network: _", d.tx_hash, d.token_id, d.contract, d.amount as "amount: _", d.amount_text,
               d.height, c.height as "head?", d.min_confirmations, d.state as "state: _", d.booked_as as "booked_as: _",
               d.first_seen_at, d.final_at, d.fiat_currency, trim_scale(d.fiat_value)::text as fiat_value,
               d.found_by_balance
        from deposit d
        join invoice i on i.id = d.invoice_id
        left join chain_cursor c on c.network = d.network
        where d.invoice_id = $1
        order by d.token_id is not distinct from i.token_id and d.network is not distinct from i.network desc,
                 d.first_seen_at, d.id
        limit $2
        "#,
        invoice_id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The same of a payout order. Index: `deposit_by_payout`.
pub async fn page_of_order(
    connection: &mut PgConnection,
    payout_order_id: Uuid,
    limit: i64,
) -> Result<Vec<Row>, StorageError> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        select d.network as "network: _", d.tx_hash, d.token_id, d.contract, d.amount as "amount: _", d.amount_text,
               d.height, c.height as "head?", d.min_confirmations, d.state as "state: _", d.booked_as as "booked_as: _",
               d.first_seen_at, d.final_at, d.fiat_currency, trim_scale(d.fiat_value)::text as fiat_value,
               d.found_by_balance
        from deposit d
        join payout_order o on o.id = d.payout_order_id
        left join chain_cursor c on c.network = d.network
        where d.payout_order_id = $1
        order by d.token_id is not distinct from o.token_id and d.network is not distinct from o.network desc,
                 d.first_seen_at, d.id
        limit $2
        "#,
        payout_order_id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}
