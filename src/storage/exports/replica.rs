//! The replica that exports may read, and how far it has followed.

use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::storage::{
    ACQUIRE_TIMEOUT, CONNECTION_LIFETIME_MAX, Db, PgConnection, SETTINGS, StorageError,
};

impl Db {
    /// Prepares a pool for a server that is only read. Unlike every other pool it may lead to a
    /// replica: nothing is decided by what it says.
    pub fn connect_lazy_to_replica(
        url: &SecretString,
        connections_max: u32,
    ) -> Result<Self, StorageError> {
        let direct = url.expose_secret().parse::<PgConnectOptions>()?.options(SETTINGS);
        let pool = PgPoolOptions::new()
            .max_connections(connections_max)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .max_lifetime(CONNECTION_LIFETIME_MAX)
            .connect_lazy_with(direct.clone());
        Ok(Self {
            pool,
            direct,
            pooled: None,
            direct_proven: Default::default(),
            is_attributed: false,
            snapshots: Default::default(),
        })
    }
}

/// Writes the heartbeat, on the primary.
pub async fn beat(connection: &mut PgConnection) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into export_heartbeat (single, beat_at) values (true, clock_timestamp())
        on conflict (single) do update set beat_at = excluded.beat_at
        "#
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A moment of a database, with the identity that its rows name: a replica has its primary's.
#[derive(Debug, Clone)]
pub struct Moment {
    pub at: DateTime<Utc>,
    pub identity: Option<String>,
}

/// The newest heartbeat that a server has; `None` before the first.
pub async fn reached(connection: &mut PgConnection) -> Result<Option<Moment>, StorageError> {
    let beat = sqlx::query_as!(
        Moment,
        r#"
        select beat_at as "at!", (select identity from database_identity) as "identity?"
        from export_heartbeat
        "#
    )
    .fetch_optional(connection)
    .await?;
    Ok(beat)
}

/// The present of the primary.
pub async fn present(connection: &mut PgConnection) -> Result<Moment, StorageError> {
    let present = sqlx::query_as!(
        Moment,
        r#"select now() as "at!", (select identity from database_identity) as "identity?""#
    )
    .fetch_one(connection)
    .await?;
    Ok(present)
}
