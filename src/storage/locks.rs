//! Locks for work that must have a single holder per network or per table.
//!
//! A lock lives as long as its own session, outside the pool. It only saves two holders from
//! duplicate work. The fencing against a half-dead holder is the compare-and-set on every row it
//! writes.

use std::time::Duration;

use sqlx::{ConnectOptions, Connection};

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
}

impl SessionLock {
    /// Takes the lock named `name`, or returns `None` if another process holds it.
    pub async fn try_take(db: &Db, name: &str) -> Result<Option<Self>, StorageError> {
        let options = db.direct_options().clone().options(KEEPALIVE);
        let mut session = within(options.connect()).await?;
        let query = sqlx::query!(
            r#"select pg_try_advisory_lock(hashtextextended($1, 0)) as "taken!""#,
            name
        );
        let row = within(query.fetch_one(&mut session)).await?;
        Ok(row.taken.then_some(Self { session }))
    }

    /// True if the session that holds the lock is still alive.
    pub async fn is_held(&mut self) -> bool {
        within(self.session.ping()).await.is_ok()
    }

    /// Frees the lock at once instead of when the server notices the closed connection.
    pub async fn release(self) {
        if let Err(error) = within(self.session.close()).await {
            tracing::debug!(%error, "a lock's session was closed hard");
        }
    }
}

async fn within<T>(call: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, StorageError> {
    match tokio::time::timeout(LOCK_CALL_TIMEOUT, call).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(StorageError::TimedOut),
    }
}
