//! The books. See [`crate::ledger`] for the meaning of an entry.

use uuid::Uuid;

use super::{PgConnection, StorageError, numeric};
use crate::{
    ledger::{Entry, EntryKind},
    money::BaseUnits,
};

/// Books an entry. `false` if this source was booked under this kind before: then nothing happens.
pub async fn book(connection: &mut PgConnection, entry: &Entry) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        insert into ledger_entry (kind, source, asset, debit, credit, amount)
        values ($1, $2, $3, $4, $5, $6)
        on conflict (kind, source) do nothing
        "#,
        entry.kind.as_str(),
        entry.source,
        entry.asset,
        entry.debit.to_string(),
        entry.credit.to_string(),
        numeric::from_units(entry.amount)
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The amount booked of this kind for a source, if any was. Index: `ledger_entry_unique`.
pub async fn amount(
    connection: &mut PgConnection,
    kind: EntryKind,
    source: Uuid,
) -> Result<Option<BaseUnits>, StorageError> {
    let amount = sqlx::query_scalar!(
        "select amount from ledger_entry where kind = $1 and source = $2",
        kind.as_str(),
        source
    )
    .fetch_optional(connection)
    .await?;
    amount.map(|amount| numeric::to_units("ledger_entry", &amount)).transpose()
}

/// The treasury's part of an invoice's excess: the sums routed to it, less those that reversals
/// gave back, summed over all entries. Index: `ledger_entry_unique`.
pub async fn excess_of(
    connection: &mut PgConnection,
    invoice_id: Uuid,
) -> Result<BaseUnits, StorageError> {
    let sum = sqlx::query_scalar!(
        r#"
        select least(greatest(coalesce(sum(case kind when $2 then amount else -amount end), 0), 0),
                     340282366920938463463374607431768211455) as "sum!"
        from ledger_entry
        where kind in ($2, $3)
          and source in (select $1::uuid union all select id from deposit where invoice_id = $1)
        "#,
        invoice_id,
        EntryKind::Excess.as_str(),
        EntryKind::ExcessReversal.as_str()
    )
    .fetch_one(connection)
    .await?;
    numeric::to_units("ledger_entry", &sum)
}

/// An entry as the command line explains it.
#[derive(Debug, Clone)]
pub struct EntryRow {
    pub kind: String,
    pub asset: String,
    pub debit: String,
    pub credit: String,
    pub amount: BaseUnits,
}

/// Ledger entries of an invoice and its deposits: the first thousand, for
/// people. Sums are made over all of them, in SQL.
pub async fn of_invoice(
    connection: &mut PgConnection,
    invoice_id: Uuid,
) -> Result<Vec<EntryRow>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select kind, asset, debit, credit, amount
        from ledger_entry
        where source = $1 or source in (select id from deposit where invoice_id = $1)
        order by ledger_entry.id
        limit 1000
        "#,
        invoice_id
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let amount = numeric::to_units("ledger_entry", &row.amount)?;
            let (kind, asset) = (row.kind, row.asset);
            Ok(EntryRow { kind, asset, debit: row.debit, credit: row.credit, amount })
        })
        .collect()
}
