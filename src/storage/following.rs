//! Marks of invoices: texts that change whenever something that their buyers see does.

use std::collections::HashMap;

use super::{PgConnection, StorageError};

/// The mark of each of these invoices that exists, read in one statement for all who wait for a
/// change. It is made of the versions of its row and of its deposits' rows, so no writer can forget
/// to change it, and what a transaction has not committed is not in it. Indexes:
/// `invoice_payment_id_unique`, `deposit_by_invoice`.
pub async fn marks(
    connection: &mut PgConnection,
    payment_ids: &[String],
) -> Result<HashMap<String, String>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select i.payment_id,
               to_hex(hashtextextended(
                   i.xmin::text || coalesce(
                       (select string_agg(d.id::text || d.xmin::text, ',' order by d.id)
                        from deposit d
                        where d.invoice_id = i.id), ''), 0)) as "mark!"
        from invoice i
        where i.payment_id = any($1)
        "#,
        payment_ids
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.payment_id, row.mark)).collect())
}
