//! Marks of invoices: texts that change whenever something that their buyers see does.
//!
//! A mark is made of the versions of the invoice's row and of its deposits' rows, so no writer can
//! forget to change it, and what a transaction has not committed is not in it.

use super::{PgConnection, StorageError};

/// An invoice's `payment_id`, and the mark with which a page saw it.
pub type Seen = (String, String);

/// The mark of an invoice; `None` if there is no such invoice. Indices:
/// `invoice_payment_id_unique`, `deposit_by_invoice`.
pub async fn mark(
    connection: &mut PgConnection,
    payment_id: &str,
) -> Result<Option<String>, StorageError> {
    let mark = sqlx::query_scalar!(
        r#"
        select to_hex(hashtextextended(
                   i.xmin::text || coalesce(
                       (select string_agg(d.id::text || d.xmin::text, ',' order by d.id)
                        from deposit d
                        where d.invoice_id = i.id), ''), 0)) as "mark!"
        from invoice i
        where i.payment_id = $1
        "#,
        payment_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(mark)
}

/// Those among `seen` whose invoice has another mark now, or is gone: in one statement for all who
/// wait. The marks are those of [`mark`], and so are the indices.
pub async fn outdated(
    connection: &mut PgConnection,
    seen: &[Seen],
) -> Result<Vec<Seen>, StorageError> {
    let (payment_ids, marks): (Vec<_>, Vec<_>) = seen.iter().cloned().unzip();
    let rows = sqlx::query!(
        r#"
        select seen.payment_id as "payment_id!", seen.mark as "mark!"
        from unnest($1::text[], $2::text[]) as seen (payment_id, mark)
        left join invoice i on i.payment_id = seen.payment_id
        where to_hex(hashtextextended(
                   i.xmin::text || coalesce(
                       (select string_agg(d.id::text || d.xmin::text, ',' order by d.id)
                        from deposit d
                        where d.invoice_id = i.id), ''), 0)) is distinct from seen.mark
        "#,
        &payment_ids,
        &marks
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.payment_id, row.mark)).collect())
}
