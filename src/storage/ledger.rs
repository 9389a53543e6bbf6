//! The books. See [`crate::ledger`] for the meaning of an entry.

use uuid::Uuid;

use super::{PgConnection, StorageError, numeric};
use crate::{
    ledger::{Entry, EntryKind},
    money::BaseUnits,
};

/// Books an entry. It is an error if this source was booked under this kind before: then the state
/// by which the caller decided to book it was wrong.
pub async fn book(connection: &mut PgConnection, entry: &Entry) -> Result<(), StorageError> {
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
    if done.rows_affected() == 1 {
        return Ok(());
    }
    let reason = format!("{} was booked as {} before", entry.source, entry.kind);
    Err(StorageError::damaged("ledger_entry", reason))
}

/// The amount booked of this kind for a source, if any was. Index: `ledger_entry_unique`.
pub async fn amount(
    connection: &mut PgConnection,
    kind: EntryKind,
    source: Uuid,
) -> Result<Option<BaseUnits>, StorageError> {
    let amount = sqlx::query_scalar!(
        r#"select amount as "amount: BaseUnits" from ledger_entry where kind = $1 and source = $2"#,
        kind.as_str(),
        source
    )
    .fetch_optional(connection)
    .await?;
    Ok(amount)
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
                     340282366920938463463374607431768211455) as "sum!: BaseUnits"
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
    Ok(sum)
}

/// An entry as the command line explains it.
#[derive(Debug, Clone)]
pub struct EntryRow {
    pub kind: EntryKind,
    pub asset: String,
    pub debit: String,
    pub credit: String,
    pub amount: BaseUnits,
}

/// Ledger entries of an invoice and its deposits: the first thousand, for people. Sums are made
/// over all of them, in SQL. One list of sources, since the planner walks the whole ledger for an
/// `or`. Indices: `deposit_by_invoice`, `ledger_entry_by_source`.
pub async fn of_invoice(
    connection: &mut PgConnection,
    invoice_id: Uuid,
) -> Result<Vec<EntryRow>, StorageError> {
    let rows = sqlx::query_as!(
        EntryRow,
        r#"
        select kind as "kind: _", asset, debit, credit, amount as "amount: _"
        from ledger_entry
        where source = any (array(select id from deposit where invoice_id = $1) || $1::uuid)
        order by ledger_entry.id
        limit 1000
        "#,
        invoice_id
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}
