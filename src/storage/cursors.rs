//! The position up to which each network has been read.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::{PgConnection, StorageError};
use crate::asset::Network;

/// Blocks kept per network to find a common ancestor. Deeper reorganisations stop the watcher and
/// raise an alert.
pub const BLOCKS_KEPT: i64 = 1_000;

#[derive(Debug, Clone)]
pub struct Cursor {
    pub height: u64,
    pub hash: String,
    /// The moment up to which every payment is known.
    pub watched_through: Option<DateTime<Utc>>,
    /// When the last look began that reached the head.
    pub looked_at: Option<DateTime<Utc>>,
}

pub async fn load(
    connection: &mut PgConnection,
    network: Network,
) -> Result<Option<Cursor>, StorageError> {
    let row = sqlx::query!(
        "select height, hash, watched_through, greatest(looked_at, watched_through) as looked_at
         from chain_cursor where network = $1",
        network.name()
    )
    .fetch_optional(connection)
    .await?;
    row.map(|row| {
        let height = from_column(row.height)?;
        let (watched_through, looked_at) = (row.watched_through, row.looked_at);
        Ok(Cursor { height, hash: row.hash, watched_through, looked_at })
    })
    .transpose()
}

/// The moment up to which every payment is known, of each network.
pub async fn watched_through(
    connection: &mut PgConnection,
) -> Result<HashMap<Network, DateTime<Utc>>, StorageError> {
    let rows = sqlx::query!("select network, watched_through from chain_cursor")
        .fetch_all(connection)
        .await?;
    // A network of a later version decides nothing here.
    let known = |network: &str, at: Option<DateTime<Utc>>| Some((network.parse().ok()?, at?));
    Ok(rows.iter().filter_map(|row| known(&row.network, row.watched_through)).collect())
}

/// The cursor, and the database's time when it was read.
pub async fn load_with_time(
    connection: &mut PgConnection,
    network: Network,
) -> Result<(Option<Cursor>, DateTime<Utc>), StorageError> {
    let row = sqlx::query!(
        r#"
        select height as "height?", hash as "hash?", watched_through as "watched_through?",
               greatest(looked_at, watched_through) as looked_at, clock_timestamp() as "now!"
        from (select) as always
        left join chain_cursor on network = $1
        "#,
        network.name()
    )
    .fetch_one(connection)
    .await?;
    let cursor = match (row.height, row.hash) {
        (Some(height), Some(hash)) => {
            let height = from_column(height)?;
            let (watched_through, looked_at) = (row.watched_through, row.looked_at);
            Some(Cursor { height, hash, watched_through, looked_at })
        }
        _ => None,
    };
    Ok((cursor, row.now))
}

/// Starts a network at `block`. `false` if it has a cursor already.
pub async fn start(
    connection: &mut PgConnection,
    network: Network,
    block: (u64, &str),
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        "insert into chain_cursor (network, height, hash) values ($1, $2, $3) on conflict (network) do nothing",
        network.name(),
        to_column(block.0)?,
        block.1
    )
    .execute(&mut *connection)
    .await?;
    remember(connection, network, block).await?;
    Ok(done.rows_affected() == 1)
}

/// Moves the cursor from one block to another, if it still stands on the first.
///
/// `false` means that another watcher moved it: the caller must roll back, so a half-dead watcher
/// can do no harm.
pub async fn advance(
    connection: &mut PgConnection,
    network: Network,
    from: (u64, &str),
    to: (u64, &str),
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update chain_cursor
        set height = $4, hash = $5, updated_at = now()
        where network = $1 and height = $2 and hash = $3
        "#,
        network.name(),
        to_column(from.0)?,
        from.1,
        to_column(to.0)?,
        to.1
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Notes a look that began at `looked_at` and reached the head, and that every payment up to
/// `watched_through` is known by it, if the cursor still stands on `at`.
///
/// The release before this one wrote the time of the look as `watched_through`, and no `looked_at`:
/// such a value proves too much and is not kept.
///
/// Written several times a second per network and harmless to lose, so its commit does not wait for
/// the disk.
pub async fn note_complete_look(
    connection: &mut PgConnection,
    network: Network,
    at: (u64, &str),
    (looked_at, watched_through): (DateTime<Utc>, DateTime<Utc>),
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update chain_cursor
        set watched_through = greatest(case when watched_through <= looked_at then watched_through end, $4), looked_at = greatest(looked_at, $5), updated_at = now()
        where network = $1 and height = $2 and hash = $3
          and set_config('synchronous_commit', 'off', true) is not null
        "#,
        network.name(),
        to_column(at.0)?,
        at.1,
        watched_through,
        looked_at
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes back the claim that blocks dated after `mined_at` are known: the blocks above are of a
/// branch that was left, and another branch may hold payments that they did not.
pub async fn doubt_after(
    connection: &mut PgConnection,
    network: Network,
    mined_at: DateTime<Utc>,
) -> Result<(), StorageError> {
    sqlx::query!(
        "update chain_cursor set watched_through = $2 where network = $1 and watched_through > $2",
        network.name(),
        mined_at
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Remembers a block's hash and forgets those that are too old to matter.
pub async fn remember(
    connection: &mut PgConnection,
    network: Network,
    block: (u64, &str),
) -> Result<(), StorageError> {
    let height = to_column(block.0)?;
    sqlx::query!(
        r#"
        with forgotten as (
            delete from chain_block where network = $1 and height <= $2::bigint - $4::bigint
        )
        insert into chain_block (network, height, hash)
        values ($1, $2, $3)
        on conflict (network, height) do update set hash = excluded.hash
        "#,
        network.name(),
        height,
        block.1,
        BLOCKS_KEPT
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The hash we saw at `height`, if it is still remembered.
pub async fn remembered_hash(
    connection: &mut PgConnection,
    network: Network,
    height: u64,
) -> Result<Option<String>, StorageError> {
    let row = sqlx::query!(
        "select hash from chain_block where network = $1 and height = $2",
        network.name(),
        to_column(height)?
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| row.hash))
}

/// The highest block we remember below `height`. Some chains skip heights, so it need not be the
/// next one down.
pub async fn remembered_below(
    connection: &mut PgConnection,
    network: Network,
    height: u64,
) -> Result<Option<(u64, String)>, StorageError> {
    let row = sqlx::query!(
        "select height, hash from chain_block where network = $1 and height < $2 order by height desc limit 1",
        network.name(),
        to_column(height)?
    )
    .fetch_optional(connection)
    .await?;
    row.map(|row| Ok((from_column(row.height)?, row.hash))).transpose()
}

/// The lowest block that we remember.
pub async fn lowest_remembered(
    connection: &mut PgConnection,
    network: Network,
) -> Result<Option<u64>, StorageError> {
    let height = sqlx::query_scalar!(
        "select height from chain_block where network = $1 order by height limit 1",
        network.name()
    )
    .fetch_optional(connection)
    .await?;
    height.map(from_column).transpose()
}

/// Forgets the blocks above `height`: they were orphaned.
pub async fn forget_above(
    connection: &mut PgConnection,
    network: Network,
    height: u64,
) -> Result<(), StorageError> {
    sqlx::query!(
        "delete from chain_block where network = $1 and height > $2",
        network.name(),
        to_column(height)?
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Height of a network's cursor, and age of the last look that reached the chain tip.
#[derive(Debug, Clone, Copy)]
pub struct Lag {
    pub network: Network,
    pub height: i64,
    /// Since the last complete look; since the cursor moved, if there was none yet.
    pub seconds: i64,
}

/// Of every network that was ever followed and that this program knows.
pub async fn lags(connection: &mut PgConnection) -> Result<Vec<Lag>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select network, height,
               extract(epoch from clock_timestamp()
                       - coalesce(greatest(looked_at, watched_through), updated_at))::bigint as "seconds!"
        from chain_cursor
        order by network
        "#
    )
    .fetch_all(connection)
    .await?;
    let known = |name: &str| Network::ALL.into_iter().find(|network| network.name() == name);
    Ok(rows
        .into_iter()
        .filter_map(|row| {
            Some(Lag { network: known(&row.network)?, height: row.height, seconds: row.seconds })
        })
        .collect())
}

pub(in crate::storage) fn to_column(height: u64) -> Result<i64, StorageError> {
    i64::try_from(height)
        .map_err(|_| StorageError::damaged("chain_cursor", "a height exceeds 63 bits"))
}

pub(super) fn from_column(height: i64) -> Result<u64, StorageError> {
    u64::try_from(height).map_err(|_| StorageError::damaged("chain_cursor", "a height is negative"))
}
