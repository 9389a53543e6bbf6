//! The balance of a merchant, from the books, the deposits and the payout orders.

use uuid::Uuid;

use super::{PgConnection, StorageError};
use crate::ledger::Account;

/// The amounts of one asset. Base units as digits, with a minus sign where a reversal took more
/// than there was.
#[derive(Debug, Clone)]
pub struct AssetRow {
    pub token_id: String,
    pub available: String,
    pub pending: String,
    pub late: String,
    pub foreign: String,
    pub in_payouts: String,
}

/// One row for each asset of which any amount is not zero, of one moment: the subtotals of what is
/// sealed, and the entries behind it. An entry behind the last sealed one has a larger id, and its
/// transaction cannot have begun an hour before that one's. Pending are deposits of invoices and
/// those at the merchant's own addresses. Indices: `ledger_subtotal_pkey`,
/// `ledger_entry_by_credit_time`, `ledger_entry_by_debit_time`, `deposit_unsettled`,
/// `payout_order_by_merchant`.
pub async fn of_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
) -> Result<Vec<AssetRow>, StorageError> {
    Ok(sqlx::query_as!(
        AssetRow,
        r#"
        with sealed as (
            select coalesce(max(through_id), 0) as id from ledger_seal_batch
        ),
        newer as (
            select s.id, coalesce(l.created_at - interval '1 hour', '-infinity') as since
            from sealed s
            left join ledger_entry l on l.id = s.id
        ),
        entry as (
            select account, asset, units as amount
            from ledger_subtotal
            where account in ($2, $3, $4)
            union all
            select credit, asset, amount
            from ledger_entry
            where credit in ($2, $3, $4) and credit not like 'custody:%' and credit <> 'treasury'
              and created_at >= (select since from newer) and id > (select id from newer)
            union all
            select debit, asset, -amount
            from ledger_entry
            where debit in ($2, $3, $4) and debit not like 'custody:%' and debit <> 'treasury'
              and created_at >= (select since from newer) and id > (select id from newer)
        ),
        part as (
            select asset as token_id,
                   case account when $2 then 'available' when $3 then 'late' else 'foreign' end as word, amount
            from entry
            union all
            select d.token_id, 'pending', d.amount
            from deposit d
            join invoice i on i.id = d.invoice_id
            where d.state in ('seen', 'final') and d.token_id is not null and d.amount is not null and i.merchant_id = $1
            union all
            select d.token_id, 'pending', d.amount
            from deposit d
            join legacy_address a on a.address_id = d.address_id
            where d.state in ('seen', 'final') and d.invoice_id is null and d.payout_order_id is null
              and d.token_id is not null and d.amount is not null and a.merchant_id = $1
            union all
            select o.token_id, 'in_payouts', o.credited + o.late - o.kept - o.paid - o.returned
            from payout_order o
            where o.merchant_id = $1
        ),
        summed as (
            select token_id,
                   coalesce(sum(amount) filter (where word = 'available'), 0) as available,
                   coalesce(sum(amount) filter (where word = 'pending'), 0) as pending,
                   coalesce(sum(amount) filter (where word = 'late'), 0) as late,
                   coalesce(sum(amount) filter (where word = 'foreign'), 0) as "foreign",
                   coalesce(sum(amount) filter (where word = 'in_payouts'), 0) as in_payouts
            from part
            group by token_id
        )
        select token_id as "token_id!", available::text as "available!", pending::text as "pending!",
               late::text as "late!", "foreign"::text as "foreign!", in_payouts::text as "in_payouts!"
        from summed
        where available <> 0 or pending <> 0 or late <> 0 or "foreign" <> 0 or in_payouts <> 0
        "#,
        merchant_id,
        Account::Merchant(merchant_id).to_string(),
        Account::Late(merchant_id).to_string(),
        Account::Foreign(merchant_id).to_string()
    )
    .fetch_all(connection)
    .await?)
}
