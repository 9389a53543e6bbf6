//! PostgreSQL: the only truth, and the only home of SQL.
//!
//! One file per aggregate, one named function per statement, each checked against the schema at
//! compile time. Functions take a connection, so that the caller (`app`) decides which writes
//! commit together. No transaction spans a network call; the relay's batch is the one bounded
//! exception.

pub mod access;
pub mod accounts;
pub mod addresses;
pub mod alerts;
pub mod announcement_mail;
pub mod audit;
pub mod author;
pub mod balance;
pub mod balances;
pub mod creation;
pub mod currencies;
pub mod cursors;
mod decode;
pub mod deferred_deliveries;
pub mod deliveries;
pub mod delivery_lists;
pub mod deposit_search;
pub mod deposits;
pub mod endpoints;
pub mod events;
pub mod exports;
mod few_files;
pub mod find;
pub mod following;
pub mod fronts;
pub mod handover;
pub mod history;
pub mod idempotency;
pub mod identity;
pub mod invoice_lists;
pub mod invoices;
mod kept;
pub mod ledger;
pub mod ledger_check;
pub mod legacy_addresses;
pub mod legacy_keys;
pub mod legacy_payments;
pub mod legacy_withdrawals;
pub mod links;
pub mod locks;
pub mod mail;
pub mod merchant_hours;
pub mod merchants;
pub mod migrations;
pub mod nc_payouts;
pub mod network_fees;
mod numeric;
pub mod operator;
pub mod outbox;
pub mod overview;
pub mod payment_search;
pub mod payouts;
pub mod pooler;
pub mod pools;
pub mod rates;
pub mod reports;
pub mod retention;
pub mod roles;
pub mod sealed;
pub mod seals;
pub mod simulation;
pub mod statement;
pub mod subscription_lists;
pub mod subscription_reminders;
pub mod subscriptions;
pub mod sweeps;
pub mod till_charges;
pub mod tills;
pub mod time_zones;
pub mod timers;
mod trouble;
pub mod x402;

use std::{sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret, SecretString};
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use thiserror::Error;
use tokio::sync::Mutex;

pub use self::trouble::Trouble;
pub use sqlx::PgConnection;
pub type Tx = sqlx::Transaction<'static, sqlx::Postgres>;

/// The time that a caller waits for a free connection before it gets the error that the database is
/// out of reach.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// The time for which an idle connection is taken to be alive.
const TRUSTED_FOR: Duration = Duration::from_secs(1);
const CONNECTION_LIFETIME_MAX: Duration = Duration::from_secs(30 * 60);
/// Settings of each session. Behind a pooler each transaction brings them with it (`pooler`).
///
/// A statement or a lock wait that outlives its timeout has lost its caller. Just-in-time
/// compilation takes half a second where the planner expects many rows, and saves nothing for the
/// few that are read.
const SETTINGS: [(&str, &str); 5] = [
    ("statement_timeout", "15000"),
    ("lock_timeout", "8000"),
    ("idle_in_transaction_session_timeout", "30000"),
    ("jit", "off"),
    ("TimeZone", "UTC"),
];

/// The reasons why a statement did not give its result.
#[derive(Debug, Error)]
pub enum StorageError {
    #[error("the database failed to execute the statement")]
    Database(#[source] sqlx::Error),
    /// A constraint said no; its name is part of the schema's contract.
    #[error("the database refused the row: {constraint}")]
    Constraint { constraint: String },
    /// A row has content that no version of this program wrote.
    #[error("a {table} row is damaged: {reason}")]
    Damaged { table: &'static str, reason: String },
    #[error("the database did not answer in time")]
    TimedOut,
    #[error("the database is a read-only replica; decisions are made on its primary only")]
    ReadOnly,
    #[error(
        "the database was closed for a planned failover: its standby has taken over; if none was promoted, gatewayctl database take-back opens it again"
    )]
    HandedOver,
    #[error(
        "the address for locks and migrations leads to a pooler that gives each transaction another session: \
         set GATEWAY_DATABASE_DIRECT_URL to PostgreSQL itself"
    )]
    SharedSessions,
    #[error("DATABASE_URL and GATEWAY_DATABASE_DIRECT_URL lead to two databases")]
    TwoDatabases,
    #[error(
        "the pooler of DATABASE_URL forgets prepared statements: it must be PgBouncer 1.21 or later \
         with max_prepared_statements above 0"
    )]
    ForgottenStatements,
}

impl From<sqlx::Error> for StorageError {
    fn from(error: sqlx::Error) -> Self {
        if let Some(reason) = undecodable(&error) {
            return Self::Damaged { table: "stored", reason };
        }
        let constraint =
            error.as_database_error().and_then(|e| e.constraint()).map(ToOwned::to_owned);
        match constraint {
            Some(constraint) => Self::Constraint { constraint },
            None => Self::Database(error),
        }
    }
}

/// Why a value of a row is none that this program reads. Asking again gives the same row.
fn undecodable(error: &sqlx::Error) -> Option<String> {
    if let sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) = error {
        return Some(error.to_string());
    }
    // Class 22, "data exception": the statement met a value that it cannot work with, such as a
    // number out of range.
    let error = error.as_database_error()?;
    error.code()?.starts_with("22").then(|| error.message().to_owned())
}

impl StorageError {
    #[expect(clippy::needless_pass_by_value, reason = "`map_err` hands its error over")]
    pub(crate) fn damaged(table: &'static str, reason: impl ToString) -> Self {
        Self::Damaged { table, reason: reason.to_string() }
    }

    /// As the driver's hooks want it.
    fn into_driver(self) -> sqlx::Error {
        match self {
            Self::Database(error) => error,
            error @ (Self::Constraint { .. }
            | Self::Damaged { .. }
            | Self::TimedOut
            | Self::ReadOnly
            | Self::HandedOver
            | Self::SharedSessions
            | Self::TwoDatabases
            | Self::ForgottenStatements) => sqlx::Error::Configuration(Box::new(error)),
        }
    }

    /// Returns whether a replica took back what this reading needs (`serialization_failure`).
    pub fn is_conflict(&self) -> bool {
        let Self::Database(error) = self else { return false };
        error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("40001"))
    }

    /// Returns whether the named constraint refused the row.
    pub fn is_constraint(&self, name: &str) -> bool {
        matches!(self, Self::Constraint { constraint } if constraint == name)
    }
}

/// The connection pool of one process.
#[derive(Clone)]
pub struct Db {
    pool: PgPool,
    /// Leads to the server itself, for what needs a session of its own.
    direct: PgConnectOptions,
    /// Leads to the pooler, if there is one.
    pooled: Option<PgConnectOptions>,
    /// Locked while it is found out.
    direct_proven: Arc<Mutex<bool>>,
    /// Every statement names the author of its task (`author`).
    is_attributed: bool,
    snapshots: exports::Snapshots,
}

impl Db {
    /// Prepares a pool; connections are made when they are needed, so a process starts without a
    /// database and waits.
    pub fn connect_lazy(url: &SecretString, connections_max: u32) -> Result<Self, StorageError> {
        Self::connect_lazy_around(url, None, connections_max)
    }

    /// Refuses what is no address of a database. Nothing is connected to.
    pub fn check_address(url: &SecretString) -> Result<(), StorageError> {
        url.expose_secret().parse::<PgConnectOptions>()?;
        Ok(())
    }

    /// As [`connect_lazy`](Self::connect_lazy); where `direct_url` leads to the server itself,
    /// `url` may lead to a pooler in transaction mode.
    pub fn connect_lazy_around(
        url: &SecretString,
        direct_url: Option<&SecretString>,
        connections_max: u32,
    ) -> Result<Self, StorageError> {
        let direct = direct_url.unwrap_or(url).expose_secret().parse::<PgConnectOptions>()?;
        let pooled = direct_url.map(|_| url.expose_secret().parse::<PgConnectOptions>());
        // Poolers refuse the settings of a session that they do not know.
        let pooled = pooled.transpose()?.map(|pooled| pooled.extra_float_digits(None));
        Ok(Self::over(direct.options(SETTINGS), pooled, connections_max))
    }

    /// The same database, which notes the author of each change (`audit`). Letters, digits and
    /// `.@_-` of the name are kept.
    pub fn on_behalf_of(&self, operator: &str) -> Self {
        let kept = |c: &char| c.is_ascii_alphanumeric() || ".@_-".contains(*c);
        let name: String = operator.chars().filter(kept).take(64).collect();
        let name = if name.is_empty() { "unknown" } else { &name };
        // A setting of the session: a pooler would drop it.
        let direct = self.direct.clone().options([("gateway.operator", name)]);
        Self::over(direct, None, self.pool.options().get_max_connections())
    }

    /// The same database, which notes for each change the author of the task that makes it
    /// ([`author::as_author`]). Costs a round trip more for each use of a connection.
    pub fn attributed(&self) -> Self {
        // A setting of the session, as in `on_behalf_of`.
        let connections_max = self.pool.options().get_max_connections();
        let over = Self::over(self.direct.clone(), None, connections_max);
        Self { is_attributed: true, ..over }
    }

    fn over(
        direct: PgConnectOptions,
        pooled: Option<PgConnectOptions>,
        connections_max: u32,
    ) -> Self {
        let behind_pooler = pooled.is_some();
        let pool = PgPoolOptions::new()
            .max_connections(connections_max)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .max_lifetime(CONNECTION_LIFETIME_MAX)
            // One that was used a moment ago is not asked whether it still lives: that would double
            // every statement's round trips. If it does not, its statement fails, as it would have
            // a moment later.
            .test_before_acquire(false)
            .before_acquire(move |connection, metadata| {
                Box::pin(async move {
                    if metadata.idle_for >= TRUSTED_FOR && behind_pooler {
                        // The connection may have outlived its server.
                        identity::check(connection).await.map_err(StorageError::into_driver)?;
                    } else if metadata.idle_for >= TRUSTED_FOR {
                        sqlx::Connection::ping(connection).await?;
                    }
                    Ok(true)
                })
            })
            .after_connect(|connection, _| {
                Box::pin(async move {
                    identity::check(connection).await.map_err(StorageError::into_driver)
                })
            })
            .connect_lazy_with(pooled.as_ref().unwrap_or(&direct).clone());
        Self {
            pool,
            direct,
            pooled,
            direct_proven: Arc::default(),
            is_attributed: false,
            snapshots: Default::default(),
        }
    }

    /// Begins a transaction, even if its caller gives up waiting for it.
    ///
    /// sqlx takes back a BEGIN only once it has been answered. Dropped before that, as a request
    /// that ran out of time is, it would leave its connection in the pool inside an open
    /// transaction, and the next statement that needs none would be reported as done and never
    /// committed. So the BEGIN has a task of its own, which is never dropped.
    pub async fn begin(&self) -> Result<Tx, StorageError> {
        let (pool, behind_pooler) = (self.pool.clone(), self.pooled.is_some());
        let author = self.is_attributed.then(author::current);
        let begun = tokio::spawn(async move {
            let begin = async || {
                if behind_pooler { pooler::begin(&pool).await } else { Ok(pool.begin().await?) }
            };
            let mut tx = few_files::wait_for_an_open_one(begin).await?;
            if let Some(author) = author {
                author::name(&mut tx, author.as_ref()).await?;
            }
            Ok::<_, StorageError>(tx)
        });
        // The task ends early only with the runtime.
        begun.await.unwrap_or(Err(sqlx::Error::PoolClosed.into()))
    }

    pub async fn connection(
        &self,
    ) -> Result<sqlx::pool::PoolConnection<sqlx::Postgres>, StorageError> {
        let acquire = async || Ok(self.pool.acquire().await?);
        let mut connection = few_files::wait_for_an_open_one(acquire).await?;
        if self.is_attributed {
            author::name(&mut connection, author::current().as_ref()).await?;
        }
        Ok(connection)
    }

    /// A connection outside the pool, for locks that live as long as their session.
    pub(crate) fn direct_options(&self) -> &PgConnectOptions {
        &self.direct
    }

    /// Answers once the database does; for readiness.
    pub async fn ping(&self) -> Result<(), StorageError> {
        let mut connection = self.connection().await?;
        now(&mut connection).await.map(drop)
    }

    pub async fn close(&self) {
        self.pool.close().await;
    }
}

/// The database's clock: the only one that decides anything.
pub async fn now(connection: &mut PgConnection) -> Result<DateTime<Utc>, StorageError> {
    let row = sqlx::query!(r#"select clock_timestamp() as "now!""#).fetch_one(connection).await?;
    Ok(row.now)
}
