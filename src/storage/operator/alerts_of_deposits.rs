//! Alerts about deposits, with the transaction that each is about.

use chrono::{DateTime, Utc};

use crate::{
    asset::Network,
    storage::{PgConnection, StorageError},
};

/// An alert whose subject is a deposit.
#[derive(Debug, Clone)]
pub struct DepositAlert {
    pub kind: String,
    pub detail: String,
    pub created_at: DateTime<Utc>,
    pub network: Network,
    /// A transaction's hash, or the key of what was found by balance.
    pub name: String,
}

/// The newest alerts about deposits.
pub async fn newest(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<Vec<DepositAlert>, StorageError> {
    let rows = sqlx::query_as!(
        DepositAlert,
        r#"
        select a.kind, a.detail, a.created_at, d.network as "network: _",
               case when d.found_by_balance then d.deposit_key else d.tx_hash end as "name!"
        from operator_alert a
        join deposit d on d.id = case when a.subject ~ '^[0-9a-f-]{36}$' then a.subject::uuid end
        where a.kind in ('deposit_reversed', 'deposit_changed', 'reversed_deposit_returned', 'payout_foreign_deposit')
        order by a.created_at desc, a.id desc
        limit $1
        "#,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}
