//! Deposits of an invoice that are in no block: what is known of the reason.

use uuid::Uuid;

use crate::storage::{PgConnection, StorageError};

/// Rows of one answer. Anybody may send an address any number of transactions.
const ROWS_MAX: i64 = 20;

/// A deposit in no block.
#[derive(Debug, Clone)]
pub struct Row {
    pub id: Uuid,
    /// It was in one, which left the chain.
    pub left_block: bool,
    /// The transaction of another deposit of the invoice that spends the same coins.
    pub replaced_by: Option<String>,
}

/// The oldest deposits of an invoice that were never booked and are in no block. Index:
/// `deposit_by_invoice`.
pub async fn of_invoice(
    connection: &mut PgConnection,
    invoice_id: Uuid,
) -> Result<Vec<Row>, StorageError> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        select d.id, d.left_block_at is not null as "left_block!",
               (select o.tx_hash
                from deposit o
                where o.invoice_id = $1 and o.id <> d.id and o.tx_hash <> d.tx_hash
                  and o.state in ('seen', 'final', 'settled') and o.spends && d.spends
                order by o.first_seen_at, o.id
                limit 1) as "replaced_by?"
        from deposit d
        where d.invoice_id = $1 and d.state in ('seen', 'withdrawn') and d.height is null
        order by d.first_seen_at, d.id
        limit $2
        "#,
        invoice_id,
        ROWS_MAX
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}
