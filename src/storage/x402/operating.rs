//! Settlements as operators look at them.

use crate::storage::{PgConnection, StorageError};

/// The settlements of a network that have not ended.
#[derive(Debug, Clone)]
pub struct Open {
    pub network: String,
    /// Nothing is signed for these.
    pub verified: i64,
    /// These are signed, and no block holds them.
    pub submitted: i64,
    /// These wait in a block for their confirmations.
    pub in_block: i64,
    /// Age of the oldest of those that no block holds; zero without any.
    pub waits_seconds: i64,
}

/// Of every network that has any, by name. Index: `x402_settlement_open`.
pub async fn open(connection: &mut PgConnection) -> Result<Vec<Open>, StorageError> {
    let rows = sqlx::query_as!(
        Open,
        r#"
        select network, count(*) filter (where state = 'verified') as "verified!",
               count(*) filter (where state = 'submitted' and height is null) as "submitted!",
               count(*) filter (where height is not null) as "in_block!",
               coalesce(extract(epoch from now() - min(created_at) filter (where height is null))::bigint, 0) as "waits_seconds!"
        from x402_settlement
        where state in ('verified', 'submitted')
        group by network
        order by network
        "#
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}
