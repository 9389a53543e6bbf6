//! A pooler between the programs and the database, and the address that goes around it.
//!
//! A pooler in transaction mode gives each transaction another server session. Locks, migrations
//! and startup options belong to one session, so they take the direct address. The pooled one
//! carries transactions that bring their limits with them. Both facts are proven before they are
//! relied on.

use std::time::Duration;

use sqlx::{ConnectOptions, Connection, Executor, PgPool, Row, postgres::PgConnectOptions};

use super::{Db, PgConnection, StorageError, Tx, identity};

const LIMIT: Duration = Duration::from_secs(5);
/// Sessions that are kept busy until the first one's next statement must go elsewhere.
const BUSY: usize = 3;
/// The `SETTINGS` of a session, for one transaction; in one round trip.
const BEGIN: &str = "begin; set local statement_timeout = 15000; set local lock_timeout = 8000; \
                     set local idle_in_transaction_session_timeout = 30000; set local jit = off";
const SESSION: &str = "select pg_backend_pid()";
/// A setting that every session over the direct address asks for when it starts.
const ASKED_FOR: &str = "select setting = '8000' from pg_settings where name = 'lock_timeout'";
const UNLIMITED: &str = "select name from pg_settings where setting = '0' and name in \
     ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') order by name";

impl Db {
    /// Refuses a direct address behind which statements change their session, and one that leads to
    /// another database than the pooled one. Asked once, and again after a lock was lost.
    pub async fn prove_direct(&self) -> Result<(), StorageError> {
        let proof = async {
            let mut proven = self.direct_proven.lock().await;
            if !*proven {
                if is_shared(&self.direct).await.map_err(refused)? {
                    return Err(StorageError::SharedSessions);
                }
                if let Some(pooled) = &self.pooled
                    && !lead_to_one_database(pooled, &self.direct).await?
                {
                    return Err(StorageError::TwoDatabases);
                }
                *proven = true;
            }
            Ok(())
        };
        within(proof).await
    }

    /// Refuses a pooler that forgets prepared statements.
    pub async fn prove_pooler(&self) -> Result<(), StorageError> {
        match &self.pooled {
            Some(pooled) if !within(keeps_statements(pooled)).await? => {
                Err(StorageError::ForgottenStatements)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The limits that a statement outside a transaction does not have behind the pooler; `None`
    /// without a pooler.
    pub async fn unlimited_behind_pooler(&self) -> Result<Option<Vec<String>>, StorageError> {
        let Some(pooled) = &self.pooled else { return Ok(None) };
        within(unlimited(pooled)).await.map(Some)
    }

    /// The pooler's place, for people. Never the user or the password.
    pub fn pooler_address(&self) -> Option<String> {
        self.pooled.as_ref().map(super::migrations::place)
    }

    /// The user and the database that the pooler is asked for.
    pub fn pooled_user(&self) -> Option<(&str, &str)> {
        let pooled = self.pooled.as_ref()?;
        Some((pooled.get_username(), pooled.get_database().unwrap_or_default()))
    }
}

/// Begins a transaction with settings of its own, on the database that the programs know.
///
/// A pooler keeps its clients while the server behind it is replaced, so that no new connection
/// asks which server it is (`identity`). Each transaction asks instead.
pub(super) async fn begin(pool: &PgPool) -> Result<Tx, StorageError> {
    if let Some(tx) = begin_at_home(pool).await? {
        return Ok(tx);
    }
    identity::check(&mut *pool.acquire().await?).await?;
    begin_at_home(pool).await?.ok_or(StorageError::TwoDatabases)
}

async fn begin_at_home(pool: &PgPool) -> Result<Option<Tx>, StorageError> {
    let mut tx = pool.begin_with(BEGIN).await?;
    if identity::is_known(&mut tx).await? {
        return Ok(Some(tx));
    }
    tx.rollback().await?;
    Ok(None)
}

/// Refuses a direct address at which the settings of a session's start are dropped: a pooler's.
pub(super) async fn check_settings(session: &mut PgConnection) -> Result<(), StorageError> {
    let row = session.fetch_one(ASKED_FOR).await?;
    if row.try_get(0)? { Ok(()) } else { Err(StorageError::SharedSessions) }
}

/// A pooler that takes no settings says so; PostgreSQL takes those that are asked for.
pub(super) fn refused(error: StorageError) -> StorageError {
    if let StorageError::Database(driver) = &error
        && let Some(told) = driver.as_database_error()
        && told.message().contains("unsupported startup parameter")
    {
        return StorageError::SharedSessions;
    }
    error
}

/// Returns whether a session that waits for its next statement serves others meanwhile. By
/// statements that are neither prepared nor checked: which session prepared them is the question.
async fn is_shared(options: &PgConnectOptions) -> Result<bool, StorageError> {
    let mut first = options.connect().await?;
    let session = session_of(&mut first).await?;
    let mut busy = Vec::new();
    let shared = loop {
        let (other, taken) = occupy(options).await?;
        busy.push(other);
        // First of all: a pooler with one session would let the question below wait for ever.
        if taken == session || session_of(&mut first).await? != session {
            break true;
        }
        if busy.len() == BUSY {
            break false;
        }
    };
    leave(busy).await;
    let _: Result<_, sqlx::Error> = first.close().await;
    Ok(shared)
}

/// Returns whether a prepared statement is there when its session's next turn comes.
async fn keeps_statements(options: &PgConnectOptions) -> Result<bool, StorageError> {
    let mut first = options.connect().await?;
    let mut busy = Vec::new();
    let mut before = None;
    let kept = loop {
        let asked = sqlx::query_scalar!(r#"select pg_backend_pid() as "session!""#);
        match asked.fetch_one(&mut first).await {
            Ok(session) if before.is_some_and(|before| before != session) => break true,
            Ok(session) => before = Some(session),
            Err(error) if forgets(&error) => break false,
            Err(error) => return Err(error.into()),
        }
        // A session of its own after all: it keeps what was prepared.
        if busy.len() == BUSY {
            break true;
        }
        busy.push(occupy(options).await?.0);
    };
    leave(busy).await;
    let _: Result<_, sqlx::Error> = first.close().await;
    Ok(kept)
}

/// `invalid_sql_statement_name` and `duplicate_prepared_statement`.
pub(super) fn forgets(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    matches!(code.as_deref(), Some("26000" | "42P05"))
}

/// A lock that is taken at one address is seen at the other.
async fn lead_to_one_database(
    pooled: &PgConnectOptions,
    direct: &PgConnectOptions,
) -> Result<bool, StorageError> {
    let key = rand::random::<i64>();
    let (mut holder, _) = occupy(direct).await?;
    sqlx::query!(r#"select pg_advisory_xact_lock($1) as "locked?: ()""#, key)
        .fetch_one(&mut holder)
        .await?;
    let mut other = pooled.connect().await?;
    let seen = sqlx::query_scalar!(
        r#"
        select exists(
            select from pg_locks
            where locktype = 'advisory' and granted and ((classid::bigint << 32) | objid::bigint) = $1
              and database = (select oid from pg_database where datname = current_database())
        ) as "seen!"
        "#,
        key
    )
    .fetch_one(&mut other)
    .await?;
    leave(vec![holder]).await;
    let _: Result<_, sqlx::Error> = other.close().await;
    Ok(seen)
}

/// A connection inside a transaction, and the session that it occupies.
async fn occupy(options: &PgConnectOptions) -> Result<(PgConnection, i32), StorageError> {
    let mut connection = options.connect().await?;
    connection.execute("begin").await?;
    let session = session_of(&mut connection).await?;
    Ok((connection, session))
}

/// By a statement that is not prepared.
async fn session_of(connection: &mut PgConnection) -> Result<i32, StorageError> {
    Ok(connection.fetch_one(SESSION).await?.try_get(0)?)
}

async fn unlimited(options: &PgConnectOptions) -> Result<Vec<String>, StorageError> {
    let mut connection = options.connect().await?;
    let rows = connection.fetch_all(UNLIMITED).await?;
    let _: Result<_, sqlx::Error> = connection.close().await;
    let mut names = Vec::new();
    for row in rows {
        names.push(row.try_get(0)?);
    }
    Ok(names)
}

/// Ends connections that are inside a transaction. Others would be warned that they are in none.
async fn leave(connections: Vec<PgConnection>) {
    for mut connection in connections {
        // The result is known; what is open ends with its connection.
        let _: Result<_, sqlx::Error> = connection.execute("rollback").await;
        let _: Result<_, sqlx::Error> = connection.close().await;
    }
}

async fn within<T>(work: impl Future<Output = Result<T, StorageError>>) -> Result<T, StorageError> {
    tokio::time::timeout(LIMIT, work).await.unwrap_or(Err(StorageError::TimedOut))
}

#[cfg(test)]
mod tests {
    use super::{super::SETTINGS, BEGIN};

    #[test]
    fn a_transaction_behind_a_pooler_has_the_settings_of_a_session() {
        let of_sessions = SETTINGS.iter().filter(|(name, _)| *name != "TimeZone");
        for (name, value) in of_sessions {
            assert!(BEGIN.contains(&format!("set local {name} = {value}")), "{name}");
        }
    }
}
