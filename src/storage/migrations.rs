//! Bringing the schema up to date, and saying whether it is.

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection,
    migrate::{AppliedMigration, Migrate, MigrateError, Migrator},
    postgres::PgConnectOptions,
};

use super::{Db, StorageError, Trouble, identity, pooler, roles};

/// Steps of a later release are let be: whoever goes back to this release goes on with them, and
/// its `gatewayctl migrate` has nothing to do.
static MIGRATOR: LazyLock<Migrator> = LazyLock::new(|| {
    let mut steps = sqlx::migrate!("./migrations");
    steps.set_ignore_missing(true);
    steps
});

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);
/// A second migration waits for the first.
const TURN_PATIENCE: Duration = Duration::from_secs(15 * 60);
/// A migration may write many rows. Far beyond the time that it should take.
const MIGRATION_LIMITS: [(&str, &str); 2] =
    [("statement_timeout", "900000"), ("lock_timeout", "900000")];
/// A statement that wants a table for which a step waits queues behind the step, readers too. So
/// the step waits for a moment only (`STEP_LIMITS`), gives way with all it had taken, and comes
/// again.
const GIVE_WAY: Duration = Duration::from_secs(1);
/// Of all tries together.
const TABLES_PATIENCE: Duration = Duration::from_secs(15 * 60);
/// A step outside a transaction builds an index beside the table's users, who do not wait for it.
/// It waits for them: for every transaction that is older.
const INDEX_PATIENCE: &str = "set lock_timeout = 14400000; set statement_timeout = 14400000";
const STEP_LIMITS: &str = "set lock_timeout = 1000; set statement_timeout = 900000";
/// `lock_not_available`, and `deadlock_detected`: of an index that is built while an earlier
/// release waits for its turn to migrate.
const LOCKED: [&str; 2] = ["55P03", "40P01"];
/// Held by the one that migrates, beside the lock of sqlx. Of no other use in the database.
const TURN: i64 = 0x6777_6d69_6772_6174;

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
    /// do. Safe to kill: a step is one transaction, or one index that is built anew. A table that
    /// is in use is asked for again and again, so that its users go on.
    pub async fn migrate(&self) -> Result<Vec<Migration>, MigrateError> {
        self.migrate_by(&MIGRATOR).await
    }

    /// The same by other steps than this program's.
    pub async fn migrate_by(&self, steps: &Migrator) -> Result<Vec<Migration>, MigrateError> {
        let refused = |error: StorageError| MigrateError::Execute(error.into_driver());
        self.prove_direct().await.map_err(refused)?;
        let options = self.direct_options().clone().options(MIGRATION_LIMITS);
        // A step may be slow; its text would be written among the words to the operator.
        let options = options.disable_statement_logging();
        let connecting = tokio::time::timeout(CONNECT_TIMEOUT, options.connect());
        let late = |_| MigrateError::Execute(sqlx::Error::PoolTimedOut);
        let mut session = connecting.await.map_err(late)?.map_err(MigrateError::Execute)?;
        take_turn(&mut session).await?;
        let before = applied(&mut session, steps).await?;
        make_steps(&mut session, steps, &before).await?;
        // Its end frees the lock.
        session.close().await?;
        let is_new = |step: &Migration| before.iter().all(|old| old.version != step.version);
        Ok(known(steps).filter(is_new).collect())
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

    /// Number of steps that later releases made, and this program does not know.
    pub async fn later_migrations(&self) -> Result<usize, MigrateError> {
        let connecting = tokio::time::timeout(CONNECT_TIMEOUT, self.direct_options().connect());
        let late = |_| MigrateError::Execute(sqlx::Error::PoolTimedOut);
        let mut session = connecting.await.map_err(late)?.map_err(MigrateError::Execute)?;
        let made = applied(&mut session, &MIGRATOR).await?;
        session.close().await?;
        let is_later =
            |made: &&AppliedMigration| known(&MIGRATOR).all(|step| step.version != made.version);
        Ok(made.iter().filter(is_later).count())
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
        Ok(known(&MIGRATOR).filter(|step| !made.contains(&step.version)).collect())
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

/// Waits until no other session migrates. Polls, because one that waits inside a statement is a
/// transaction for which an index that is built concurrently would wait in turn.
async fn take_turn(session: &mut PgConnection) -> Result<(), MigrateError> {
    let start = Instant::now();
    loop {
        let turn = sqlx::query_scalar::<_, bool>("select pg_try_advisory_lock($1)").bind(TURN);
        if turn.fetch_one(&mut *session).await.map_err(MigrateError::Execute)? {
            return Ok(());
        }
        if start.elapsed() > TURN_PATIENCE {
            return Err(MigrateError::Execute(sqlx::Error::PoolTimedOut));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn make_steps(
    session: &mut PgConnection,
    steps: &Migrator,
    made: &[AppliedMigration],
) -> Result<(), MigrateError> {
    let mut before = None;
    for step in steps.iter() {
        let is_new = made.iter().all(|old| old.version != step.version);
        if step.no_tx && is_new {
            if let Some(before) = before {
                make(session, steps, Some(before), STEP_LIMITS).await?;
            }
            build_index(session, steps, step.version, step.sql.as_str()).await?;
        }
        before = Some(step.version);
    }
    make(session, steps, None, STEP_LIMITS).await
}

/// Makes all steps up to one, or all there are.
async fn make(
    session: &mut PgConnection,
    steps: &Migrator,
    last: Option<i64>,
    limits: &'static str,
) -> Result<(), MigrateError> {
    execute(session, limits).await?;
    let start = Instant::now();
    loop {
        let outcome = match last {
            Some(last) => steps.run_to(last, &mut *session).await,
            None => steps.run(&mut *session).await,
        };
        match outcome {
            Err(error) if is_locked(&error) && start.elapsed() < TABLES_PATIENCE => {
                tracing::warn!("a table is in use; the migration gives way and tries again");
                tokio::time::sleep(GIVE_WAY).await;
            }
            outcome => return outcome,
        }
    }
}

/// Makes a step that builds an index concurrently. A run that failed or was killed may leave the
/// index behind: unfinished, so that it slows every write and serves no query, or finished and not
/// noted.
async fn build_index(
    session: &mut PgConnection,
    steps: &Migrator,
    version: i64,
    sql: &str,
) -> Result<(), MigrateError> {
    let start = Instant::now();
    execute(session, INDEX_PATIENCE).await?;
    loop {
        if let Some(index) = built_by(sql) {
            drop_leftover(session, index).await?;
        }
        match steps.run_to(version, &mut *session).await {
            Err(error) if is_locked(&error) && start.elapsed() < TABLES_PATIENCE => {
                tracing::warn!("an index could not be finished; it is built again");
                tokio::time::sleep(GIVE_WAY).await;
            }
            outcome => return outcome,
        }
    }
}

/// The name of the index that a step builds.
fn built_by(sql: &str) -> Option<&str> {
    let code = sql.lines().filter(|line| !line.starts_with("--"));
    let mut words = code.flat_map(str::split_whitespace);
    if words.next()? != "create" {
        return None;
    }
    words.find(|word| *word == "concurrently")?;
    words.next()
}

async fn drop_leftover(session: &mut PgConnection, index: &str) -> Result<(), MigrateError> {
    let exists = sqlx::query_scalar::<_, bool>("select to_regclass($1) is not null").bind(index);
    if exists.fetch_one(&mut *session).await.map_err(MigrateError::Execute)? {
        // The name is a word of our own files.
        let statement = AssertSqlSafe(format!("drop index concurrently {index}"));
        session.execute(statement).await.map_err(MigrateError::Execute)?;
    }
    Ok(())
}

async fn execute(session: &mut PgConnection, statement: &'static str) -> Result<(), MigrateError> {
    session.execute(statement).await.map_err(MigrateError::Execute).map(drop)
}

fn is_locked(error: &MigrateError) -> bool {
    let (MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) = error else {
        return false;
    };
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| LOCKED.contains(&&*code))
}

async fn applied(
    session: &mut PgConnection,
    steps: &Migrator,
) -> Result<Vec<AppliedMigration>, MigrateError> {
    session.ensure_migrations_table(&steps.table_name).await?;
    session.list_applied_migrations(&steps.table_name).await
}

fn known(steps: &Migrator) -> impl Iterator<Item = Migration> {
    steps
        .iter()
        .map(|step| Migration { version: step.version, description: step.description.to_string() })
}
