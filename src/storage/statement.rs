//! The statement of a merchant: entries of his accounts in the books, the newest first.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError};
use crate::{
    asset::catalogue::{Catalogue, Currency},
    ledger::{Account, EntryKind},
    money::BaseUnits,
};

/// An entry of one of a merchant's accounts.
#[derive(Debug, Clone)]
pub struct StatementRow {
    pub id: i64,
    pub kind: EntryKind,
    /// `code@network`.
    pub asset: String,
    pub debit: String,
    pub credit: String,
    pub amount: BaseUnits,
    pub created_at: DateTime<Utc>,
    /// The invoice or the payout order behind it.
    pub payment_id: Option<String>,
    pub order_id: Option<String>,
}

/// The newest 26 entries before `before`, of one asset or of all: a short run of each account, side
/// and asset, merged. The number is written into the statement: of one that it does not know, the
/// planner takes a tenth of all that it expects, and would read the whole ledger for it. Indices:
/// `ledger_entry_of_credit`, `ledger_entry_of_debit`.
pub async fn page(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    asset: Option<&str>,
    before: i64,
) -> Result<Vec<StatementRow>, StorageError> {
    let accounts: Vec<_> =
        [Account::Merchant(merchant_id), Account::Late(merchant_id), Account::Foreign(merchant_id)]
            .iter()
            .map(ToString::to_string)
            .collect();
    let assets = match asset {
        Some(asset) => vec![asset.to_owned()],
        None => Catalogue::get().all().iter().map(Currency::token_id).collect(),
    };
    let rows = sqlx::query_as!(
        StatementRow,
        r#"
        with side as (
            select e.id
            from unnest($1::text[]) as account, unnest($2::text[]) as wanted, lateral (
                select id
                from ledger_entry
                where credit = account and credit not like 'custody:%' and asset = wanted and id < $3
                order by id desc
                limit 26
            ) as e
            union
            select e.id
            from unnest($1::text[]) as account, unnest($2::text[]) as wanted, lateral (
                select id
                from ledger_entry
                where debit = account and debit not like 'custody:%' and asset = wanted and id < $3
                order by id desc
                limit 26
            ) as e
        ),
        page as materialized (select id from side order by id desc limit 26)
        select l.id, l.kind as "kind: _", l.asset, l.debit, l.credit, l.amount as "amount: _", l.created_at,
               i.payment_id as "payment_id?", coalesce(o.order_id, po.order_id) as "order_id?"
        from page
        join ledger_entry l on l.id = page.id
        left join deposit d on d.id = l.source
        left join invoice i on i.id = coalesce(d.invoice_id, l.source)
        left join payout_order o on o.id = coalesce(d.payout_order_id, l.source)
        left join payout_payment p on p.id = l.source
        left join payout_order po on po.id = p.order_id
        order by l.id desc
        "#,
        &accounts,
        &assets,
        before
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}
