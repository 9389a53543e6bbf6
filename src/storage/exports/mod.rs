//! Reading for exports: each a stream of rows in the order of their times, whatever their number.
//!
//! All of an export is read in one snapshot ([`Db::begin_snapshot`]), so that its rows agree with
//! one another.

pub mod fees;
pub mod invoices;
pub mod ledger;
pub mod payments;
pub mod payouts;
pub mod replica;
pub mod slots;

use std::{
    ops::{Deref, DerefMut},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use chrono::{DateTime, Utc};
use sqlx::PgPool;
use uuid::Uuid;

use super::{Db, StorageError, Tx, identity};
use crate::{accounting::Range, ledger::Account};

/// A snapshot that changes nothing, with the limits of a long reading. In one round trip.
///
/// Whole tables are not scanned: the planner takes the rows of an index for scattered over the
/// disk, and read half a million ledger entries for each part of ten thousand. Just-in-time
/// compilation takes longer than the statements themselves.
const BEGIN: &str = "begin isolation level repeatable read read only; set local statement_timeout = 60000; \
                     set local lock_timeout = 8000; set local idle_in_transaction_session_timeout = 30000; \
                     set local enable_seqscan = off; set local jit = off";

/// The merchant and the times whose rows are read.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    pub merchant_id: Uuid,
    pub range: Range,
}

impl Asked {
    /// The accounts of a merchant but for those of his payout orders.
    fn accounts(&self) -> [String; 3] {
        let id = self.merchant_id;
        [Account::Merchant(id), Account::Late(id), Account::Foreign(id)]
            .map(|account| account.to_string())
    }

    const fn bounds(&self) -> (DateTime<Utc>, DateTime<Utc>) {
        (self.range.from, self.range.to)
    }
}

/// A snapshot that is being read.
pub struct Snapshot {
    tx: Tx,
    _counted: Counted,
}

/// The number of snapshots that are read over one pool.
#[derive(Clone, Default)]
pub(super) struct Snapshots(Arc<AtomicUsize>);

struct Counted(Snapshots);

impl Snapshots {
    fn count_one(&self) -> Counted {
        self.0.fetch_add(1, Ordering::Relaxed);
        Counted(self.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Deref for Snapshot {
    type Target = Tx;

    fn deref(&self) -> &Tx {
        &self.tx
    }
}

impl DerefMut for Snapshot {
    fn deref_mut(&mut self) -> &mut Tx {
        &mut self.tx
    }
}

impl Db {
    /// Begins a read-only transaction that sees one moment, even if its caller gives up waiting for
    /// it (as [`begin`](Self::begin)).
    pub async fn begin_snapshot(&self) -> Result<Snapshot, StorageError> {
        let (pool, behind_pooler) = (self.pool.clone(), self.pooled.is_some());
        let begun = tokio::spawn(async move { snapshot(&pool, behind_pooler).await });
        // The task ends early only with the runtime.
        let tx = begun.await.unwrap_or(Err(sqlx::Error::PoolClosed.into()))?;
        Ok(Snapshot { tx, _counted: self.snapshots.count_one() })
    }

    /// Returns true while more connections of the pool are in use than snapshots are read.
    pub fn does_more_than_snapshots(&self) -> bool {
        let open = usize::try_from(self.pool.size()).unwrap_or(usize::MAX);
        let snapshots = self.snapshots.0.load(Ordering::Relaxed);
        open.saturating_sub(self.pool.num_idle()) > snapshots
    }
}

/// Behind a pooler the server may be another than the programs know; a new connection has asked
/// already.
async fn snapshot(pool: &PgPool, behind_pooler: bool) -> Result<Tx, StorageError> {
    let mut tx = pool.begin_with(BEGIN).await?;
    if behind_pooler && !identity::is_known(&mut tx).await? {
        return Err(StorageError::TwoDatabases);
    }
    Ok(tx)
}
