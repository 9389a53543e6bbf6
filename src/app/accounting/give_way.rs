//! An export gives way to all other work of its process.
//!
//! On a machine that the database shares, a part of an export and a request are both a few
//! milliseconds of a processor. An export that waits while requests use the database costs them
//! hardly anything, and takes longer only by their time. A priority does not do that: it counts
//! among the threads of one process or container, and not against the database's.

use std::time::{Duration, Instant};

use crate::storage::Db;

/// About the time of a request. A busy process still exports a part after each of them.
const WAIT_MAX: Duration = Duration::from_millis(10);
const LOOKED_EVERY: Duration = Duration::from_millis(1);

/// The time in which one export still gives way.
pub struct GiveWay {
    db: Db,
    left: Duration,
}

impl GiveWay {
    /// `at_most` is for all waits together: the time of an export is limited.
    pub fn over(db: &Db, at_most: Duration) -> Self {
        Self { db: db.clone(), left: at_most }
    }

    /// Waits while anything but exports uses the database, for a moment.
    pub async fn to_others(&mut self) {
        if !self.db.does_more_than_snapshots() {
            return;
        }
        let (began, most) = (Instant::now(), WAIT_MAX.min(self.left));
        while began.elapsed() < most && self.db.does_more_than_snapshots() {
            tokio::time::sleep(LOOKED_EVERY).await;
        }
        self.left = self.left.saturating_sub(began.elapsed());
    }
}
