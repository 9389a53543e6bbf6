//! Deposits by replacement transactions, which spend an output that another transaction spends.

use uuid::Uuid;

use crate::{
    asset::Network,
    storage::{PgConnection, StorageError},
};

/// Rows that one statement writes.
const ROWS_MAX: usize = 1_000;

/// Notes the outputs that the transactions of deposits spend, each a text of outputs with blanks
/// between them. Returns the deposits for which they were not known yet. Index: `deposit_unique`.
pub async fn note_spends(
    connection: &mut PgConnection,
    network: Network,
    (keys, spends): (&[&str], &[String]),
) -> Result<Vec<Uuid>, StorageError> {
    let mut noted = Vec::new();
    for (keys, spends) in keys.chunks(ROWS_MAX).zip(spends.chunks(ROWS_MAX)) {
        noted.extend(note_some(connection, network, (keys, spends)).await?);
    }
    Ok(noted)
}

async fn note_some(
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
/// Anybody can send any number of transactions to an address, so of each address some new deposits
/// are compared with some of the oldest: beyond that, a replacement counts from its own sighting.
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
              from (select id, network, address_id, tx_hash, spends,
                           row_number() over (partition by address_id order by id) as place
                    from deposit
                    where id = any ($1) and state = 'seen') as d
              join lateral (
                  select o.tx_hash, o.spends, o.first_seen_at
                  from deposit o
                  where o.address_id = d.address_id and o.network = d.network and o.height is null
                    and o.state in ('seen', 'withdrawn') and o.spends is not null
                    and o.updated_at > clock_timestamp() - interval '1 day'
                  order by o.first_seen_at
                  limit 100
              ) as other on other.tx_hash <> d.tx_hash and other.spends && d.spends
              where d.place <= 20
              group by d.id) as replaced
        where deposit.id = replaced.id and replaced.first_seen_at < deposit.first_seen_at
        "#,
        ids
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}
