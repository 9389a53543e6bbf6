//! Deposits by replacement transactions, which spend an output that another transaction spends.

use uuid::Uuid;

use crate::{
    asset::Network,
    storage::{PgConnection, StorageError},
};

/// Notes what the transactions of deposits spend, each a text of outputs with blanks between them.
/// Returns those for which it was not known yet. Index: `deposit_unique`.
pub async fn note_spends(
    connection: &mut PgConnection,
    network: Network,
    (keys, spends): (&[&str], &[String]),
) -> Result<Vec<Uuid>, StorageError> {
    let ids = sqlx::query_scalar!(
        r#"
        update deposit d
        set spends = string_to_array(told.spends, ' ')
        from unnest($2::text[], $3::text[]) as told (key, spends)
        where d.network = $1 and d.deposit_key = told.key and d.spends is null
        returning d.id
        "#,
        network.name(),
        keys as &[&str],
        spends
    )
    .fetch_all(connection)
    .await?;
    Ok(ids)
}

/// Lets those of `ids` that take the place of an unmined deposit at the same address count as first
/// seen when that one was: a payment with a raised fee was made when it was first made. Returns
/// how many. Index: `deposit_by_address`.
///
/// Call it under the locks under which they were recorded.
pub async fn inherit_first_seen(
    connection: &mut PgConnection,
    ids: &[Uuid],
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        update deposit
        set first_seen_at = replaced.first_seen_at
        from (select d.id, min(other.first_seen_at) as first_seen_at
              from deposit d
              join deposit other on other.network = d.network and other.address_id = d.address_id
                   and other.tx_hash <> d.tx_hash and other.height is null and other.state in ('seen', 'withdrawn')
                   and other.spends && d.spends
              where d.id = any ($1) and d.state = 'seen'
              group by d.id) as replaced
        where deposit.id = replaced.id and replaced.first_seen_at < deposit.first_seen_at
        "#,
        ids
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}
