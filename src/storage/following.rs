//! Marks of invoices: texts that change whenever something that their buyers see does.
//!
//! A mark is made of the versions of the invoice's row and of its deposits' rows, so no writer can
//! forget to change it, and what a transaction has not committed is not in it.

use super::{PgConnection, StorageError};

/// An invoice's `payment_id`, and the mark with which a page saw it.
pub type Seen = (String, String);

/// An invoice that has another mark than a page saw.
#[derive(Debug)]
pub struct Outdated {
    pub seen: Seen,
    /// The present one; `None` if there is no such invoice.
    pub mark: Option<String>,
}

/// Those among `seen` whose invoice has another mark now, or is gone. Indices:
/// `invoice_payment_id_unique`, `deposit_by_invoice`.
pub async fn outdated(
    connection: &mut PgConnection,
    seen: &[Seen],
) -> Result<Vec<Outdated>, StorageError> {
    let (payment_ids, marks): (Vec<_>, Vec<_>) = seen.iter().cloned().unzip();
    let rows = sqlx::query!(
        r#"
        select seen.payment_id as "payment_id!", seen.mark as "seen!", present.mark as "mark?"
        from unnest($1::text[], $2::text[]) as seen (payment_id, mark)
        left join lateral (
            select to_hex(hashtextextended(
                       i.xmin::text || coalesce(
                           (select string_agg(d.id::text || d.xmin::text, ',' order by d.id)
                            from deposit d
                            where d.invoice_id = i.id), ''), 0)) as mark
            from invoice i
            where i.payment_id = seen.payment_id
        ) present on true
        where present.mark is distinct from seen.mark
        "#,
        &payment_ids,
        &marks
    )
    .fetch_all(connection)
    .await?;
    let outdated = |(payment_id, seen, mark)| Outdated { seen: (payment_id, seen), mark };
    Ok(rows.into_iter().map(|row| outdated((row.payment_id, row.seen, row.mark))).collect())
}
