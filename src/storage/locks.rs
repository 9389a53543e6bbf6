//! Locks for work that must have a single holder per network or per table.
//!
//! A lock lives as long as its own session, outside the pool. It only saves two holders from
//! duplicate work. The fencing against a half-dead holder is the compare-and-set on every row it
//! writes.

use std::{sync::Arc, time::Duration};

use sqlx::{ConnectOptions, Connection};
use tokio::sync::Mutex;

use super::{Db, PgConnection, StorageError};

const LOCK_CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Keepalive settings by which the server detects within twenty seconds that a holder's machine is
/// gone and its kernel cannot close the connection any more; the default of the kernel takes more
/// than two hours. The last setting, in milliseconds, covers data that the server has sent already.
/// On a unix socket there is no other machine, and the settings are ignored.
const KEEPALIVE: [(&str, &str); 4] = [
    ("tcp_keepalives_idle", "5"),
    ("tcp_keepalives_interval", "5"),
    ("tcp_keepalives_count", "3"),
    ("tcp_user_timeout", "20000"),
];

/// A held lock. Dropping it closes the session, which frees the lock.
pub struct SessionLock {
    session: PgConnection,
    key: i64,
    direct_proven: Arc<Mutex<bool>>,
}

impl SessionLock {
    /// Takes the lock named `name`, or returns `None` if another process holds it.
    pub async fn try_take(db: &Db, name: &str) -> Result<Option<Self>, StorageError> {
        // Behind a pooler the lock would belong to a session that serves others, and stay there.
        db.prove_direct().await?;
        let options = db.direct_options().clone().options(KEEPALIVE);
        let mut session = within(options.connect()).await?;
        let query = sqlx::query!(
            r#"
            select key as "key!", pg_try_advisory_lock(key) as "taken!"
            from hashtextextended($1, 0) as key
            "#,
            name
        );
        let row = within(query.fetch_one(&mut session)).await?;
        let (key, direct_proven) = (row.key, db.direct_proven.clone());
        Ok(row.taken.then_some(Self { session, key, direct_proven }))
    }

    /// True if the session is alive and holds the lock. A session that lives without it was
    /// changed by a pooler, so the address is looked at again before the next lock.
    pub async fn is_held(&mut self) -> bool {
        let query = sqlx::query_scalar!(
            r#"
            select exists(
                select from pg_locks
                where locktype = 'advisory' and granted and pid = pg_backend_pid()
                  and ((classid::bigint << 32) | objid::bigint) = $1
            ) as "held!"
            "#,
            self.key
        );
        let held = within(query.fetch_one(&mut self.session)).await;
        if let Ok(false) = held {
            tracing::error!(
                "a lock is gone although its session lives: GATEWAY_DATABASE_DIRECT_URL must lead to PostgreSQL itself"
            );
            *self.direct_proven.lock().await = false;
        }
        held.unwrap_or(false)
    }

    /// Frees the lock at once instead of when the server notices the closed connection.
    pub async fn release(self) {
        if let Err(error) = within(self.session.close()).await {
            tracing::debug!(%error, "a lock's session was closed forcibly");
        }
    }
}

async fn within<T>(call: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, StorageError> {
    match tokio::time::timeout(LOCK_CALL_TIMEOUT, call).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(StorageError::TimedOut),
    }
}
