//! A planned failover: the database's last commit says that it is the last, so that the standby
//! which has it need fear nothing.
//!
//! The log of a primary is repeated in its order. A standby that shows the word `closed` therefore
//! has everything that was ever committed before it; and nothing comes after it, since every other
//! session was ended first and new ones are refused.

use std::time::{Duration, Instant};

use sqlx::ConnectOptions;

use super::{Db, PgConnection, StorageError, identity};

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// The time that sessions may take to end; a statement of theirs may be under way.
const SESSIONS_LIMIT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(100);

/// The result of a hand-over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandOver {
    /// Closed. A standby that has repeated the log up to here may be promoted.
    Closed { log_position: String },
    /// Other sessions could not be ended, so that something could still be committed; all is as
    /// before.
    Occupied { sessions: i64 },
    /// The database stands in no state that could be handed over: no program has ever used it.
    Unused,
}

impl Db {
    /// Ends all sessions of this database, lets no program in any more, and writes that nothing
    /// came later.
    pub async fn hand_over(&self) -> Result<HandOver, StorageError> {
        let mut session = self.alone().await?;
        if !set(&mut session, Some("closing")).await? {
            return Ok(HandOver::Unused);
        }
        let start = Instant::now();
        loop {
            let sessions = end_others(&mut session).await?;
            if sessions == 0 {
                break;
            }
            if start.elapsed() > SESSIONS_LIMIT {
                set(&mut session, None).await?;
                return Ok(HandOver::Occupied { sessions });
            }
            tokio::time::sleep(PAUSE).await;
        }
        set(&mut session, Some("closed")).await?;
        let row = sqlx::query!(r#"select pg_current_wal_flush_lsn()::text as "position!""#)
            .fetch_one(&mut session)
            .await?;
        Ok(HandOver::Closed { log_position: row.position })
    }

    /// Lets programs in again, where nothing was promoted. `false` if it was not closed.
    pub async fn take_back(&self) -> Result<bool, StorageError> {
        let mut session = self.alone().await?;
        let done = sqlx::query!(
            "update database_identity set handover = null, updated_at = now() where handover is not null"
        )
        .execute(&mut session)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    /// Says that this database was restored in a way that it cannot see itself, as from a snapshot
    /// of the disk. `false` if no program has ever used it.
    pub async fn note_restored(&self) -> Result<bool, StorageError> {
        let mut session = self.alone().await?;
        identity::restored(&mut session).await
    }

    /// A session that does not ask whether it may be there.
    async fn alone(&self) -> Result<PgConnection, StorageError> {
        self.prove_direct().await?;
        let connecting = self.direct_options().connect();
        let session = tokio::time::timeout(CONNECT_LIMIT, connecting).await;
        Ok(session.map_err(|_| StorageError::TimedOut)??)
    }
}

async fn set(session: &mut PgConnection, word: Option<&str>) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        "update database_identity set handover = $1, updated_at = clock_timestamp()",
        word
    )
    .execute(&mut *session)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends the sessions that we may end, and counts all that are there besides this one.
async fn end_others(session: &mut PgConnection) -> Result<i64, StorageError> {
    let row = sqlx::query!(
        r#"
        select count(*) as "count!",
               count(case when pg_has_role(usesysid, 'MEMBER') then pg_terminate_backend(pid) end) as "ended!"
        from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
        "#
    )
    .fetch_one(session)
    .await?;
    Ok(row.count)
}
