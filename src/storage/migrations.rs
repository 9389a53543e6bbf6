//! Bringing the schema up to date, and saying whether it is.

use std::time::{Duration, Instant};

use sqlx::{
    ConnectOptions, Connection, PgConnection,
    migrate::{AppliedMigration, Migrate, MigrateError, Migrator},
    postgres::PgConnectOptions,
};

use super::{Db, StorageError, Trouble, identity, pooler, roles};

static MIGRATOR: Migrator = sqlx::migrate!("./migrations");

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);
/// A migration may build an index over a large table, and a second one waits for the first. Far
/// beyond the time that either should take.
const MIGRATION_LIMITS: [(&str, &str); 2] =
    [("statement_timeout", "900000"), ("lock_timeout", "900000")];
/// A statement that wants a table for which a step waits queues behind the step, readers too. So
/// the step waits for a moment only, gives way with all it had taken, and comes again.
const TABLE_PATIENCE: &str = "set lock_timeout = 1000";
const GIVE_WAY: Duration = Duration::from_secs(1);
/// Of all tries together.
const TABLES_PATIENCE: Duration = Duration::from_secs(15 * 60);
/// `lock_not_available`.
const LOCKED: &str = "55P03";

/// One step of the schema's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    pub version: i64,
    pub description: String,
}

impl Db {
    /// Connects outside the pool, and says exactly why there is no connection: the pool only says
    /// that it timed out.
    ///
    /// Like the pool it has some patience with a server that is starting or full, and none with one
    /// that is not there.
    pub async fn reach(&self) -> Result<(), StorageError> {
        let start = Instant::now();
        loop {
            match self.reach_once().await {
                Err(error)
                    if Trouble::of(&error) == Some(Trouble::NotReady)
                        && start.elapsed() < CONNECT_TIMEOUT =>
                {
                    tokio::time::sleep(PAUSE).await;
                }
                outcome => return outcome,
            }
        }
    }

    async fn reach_once(&self) -> Result<(), StorageError> {
        let connecting = self.direct_options().connect();
        let connection = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await;
        let connection = connection.map_err(|_| StorageError::TimedOut)?;
        let mut connection = connection.map_err(|error| pooler::refused(error.into()))?;
        let checks = async {
            pooler::check_settings(&mut connection).await?;
            identity::check(&mut connection).await
        };
        let checked = tokio::time::timeout(CONNECT_TIMEOUT, checks).await;
        checked.map_err(|_| StorageError::TimedOut)??;
        // The result is known; a server that does not take the farewell closes the connection
        // itself.
        let _: Result<_, _> = tokio::time::timeout(CONNECT_TIMEOUT, connection.close()).await;
        Ok(())
    }

    /// Brings the schema up to this program's version and returns the steps that were new.
    ///
    /// Safe to run twice and at the same time: one waits for the other and then finds nothing to
    /// do. Safe to kill: a step is one transaction. A table that is in use is asked for again and
    /// again, so that its users go on.
    pub async fn migrate(&self) -> Result<Vec<Migration>, MigrateError> {
        let refused = |error: StorageError| MigrateError::Execute(error.into_driver());
        self.prove_direct().await.map_err(refused)?;
        let options = self.direct_options().clone().options(MIGRATION_LIMITS);
        let connecting = tokio::time::timeout(CONNECT_TIMEOUT, options.connect());
        let late = |_| MigrateError::Execute(sqlx::Error::PoolTimedOut);
        let mut session = connecting.await.map_err(late)?.map_err(MigrateError::Execute)?;
        // The lock is counted per session: `run` takes and frees it once more inside.
        session.lock().await?;
        let before = applied(&mut session).await?;
        make_steps(&mut session).await?;
        session.unlock().await?;
        session.close().await?;
        Ok(known().filter(|step| before.iter().all(|old| old.version != step.version)).collect())
    }

    /// Makes the database roles and their grants, and returns the roles that this user may not
    /// make. After each migration, and again whenever an administrator has made them.
    pub async fn grant_roles(&self) -> Result<Vec<String>, StorageError> {
        let connecting = self.direct_options().connect();
        let connection = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await;
        let mut session = connection.map_err(|_| StorageError::TimedOut)??;
        let missing = roles::grant(&mut session).await?;
        session.close().await?;
        Ok(missing)
    }

    /// The steps that this program knows and the database has not made yet.
    pub async fn pending_migrations(&self) -> Result<Vec<Migration>, StorageError> {
        let mut connection = self.connection().await?;
        // Not a checked query: the table is the migrator's, and a fresh database lacks it.
        let exists: bool = sqlx::query_scalar("select to_regclass('_sqlx_migrations') is not null")
            .fetch_one(&mut *connection)
            .await?;
        let made: Vec<i64> = if exists {
            sqlx::query_scalar("select version from _sqlx_migrations where success limit 10000")
                .fetch_all(&mut *connection)
                .await?
        } else {
            Vec::new()
        };
        Ok(known().filter(|step| !made.contains(&step.version)).collect())
    }

    /// Where the database is, for people. Never the user or the password.
    pub fn address(&self) -> String {
        place(self.direct_options())
    }
}

pub(super) fn place(options: &PgConnectOptions) -> String {
    match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    }
}

async fn make_steps(session: &mut PgConnection) -> Result<(), MigrateError> {
    sqlx::query(TABLE_PATIENCE).execute(&mut *session).await.map_err(MigrateError::Execute)?;
    let start = Instant::now();
    loop {
        match MIGRATOR.run(&mut *session).await {
            Err(error) if is_locked(&error) && start.elapsed() < TABLES_PATIENCE => {
                tracing::warn!("a table is in use; the migration gives way and tries again");
                tokio::time::sleep(GIVE_WAY).await;
            }
            outcome => return outcome,
        }
    }
}

fn is_locked(error: &MigrateError) -> bool {
    let (MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) = error else {
        return false;
    };
    error.as_database_error().and_then(|error| error.code()).as_deref() == Some(LOCKED)
}

async fn applied(session: &mut PgConnection) -> Result<Vec<AppliedMigration>, MigrateError> {
    session.ensure_migrations_table(&MIGRATOR.table_name).await?;
    session.list_applied_migrations(&MIGRATOR.table_name).await
}

fn known() -> impl Iterator<Item = Migration> {
    MIGRATOR
        .iter()
        .map(|step| Migration { version: step.version, description: step.description.to_string() })
}
