//! The outbox relay: from rows to confirmed messages.
//!
//! [`crate::serve::relay`] runs it in every program that writes the outbox. Rows are deleted once
//! the broker has confirmed them; a crash between the two publishes them again, which no consumer
//! minds. The batch's row locks are held while the confirms are awaited: the one transaction that
//! spans a network call, bounded by the publisher's own limit.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use crate::app::Gateway;
use crate::{
    broker::{
        BrokerError,
        envelope::Headers,
        publisher::{Outcome, Outgoing, Publisher},
        route::Route,
    },
    fail_point::{fail_point, panic_point},
    storage::{PgConnection, StorageError, alerts, outbox, outbox::OutboxRow},
};

pub const BATCH_MAX: i64 = 500;
/// The time that a route rests after its queue refused a message.
const REFUSED_PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    #[error(transparent)]
    Broker(#[from] BrokerError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Routes that rest because their queue is full. The others go on.
#[derive(Default)]
pub struct PausedRoutes(HashMap<String, Instant>);

impl PausedRoutes {
    fn now(&mut self) -> Vec<String> {
        self.0.retain(|_, since| since.elapsed() < REFUSED_PAUSE);
        self.0.keys().cloned().collect()
    }

    fn pause(&mut self, route: &str) {
        self.0.insert(route.to_owned(), Instant::now());
    }
}

impl Gateway {
    /// Publishes one batch. Returns how many rows were taken; fewer than [`BATCH_MAX`] means that
    /// nothing is left.
    ///
    /// After an error of the broker the publisher must be replaced: nothing is known of the
    /// messages it had under way.
    pub async fn relay_once(
        &self,
        publisher: &mut Publisher,
        paused: &mut PausedRoutes,
    ) -> Result<usize, RelayError> {
        let mut tx = self.db.begin().await?;
        let rows = outbox::lock_batch(&mut tx, &paused.now(), BATCH_MAX).await?;
        if rows.is_empty() {
            return Ok(0);
        }
        let mut outgoing = Vec::with_capacity(rows.len());
        for row in &rows {
            match row.route.parse::<Route>() {
                Ok(route) => outgoing.push(message(row, route)),
                Err(unknown) => give_up(&mut tx, row, &unknown.to_string()).await?,
            }
        }
        let outcomes = publisher.publish(&outgoing).await?;
        fail_point("relay.confirmed");
        panic_point("relay.confirmed", "batch");
        let by_id: HashMap<i64, &OutboxRow> = rows.iter().map(|row| (row.id, row)).collect();
        let mut confirmed = Vec::with_capacity(outgoing.len());
        for (sent, outcome) in outgoing.iter().zip(outcomes) {
            match outcome {
                Outcome::Confirmed => confirmed.push(sent.id),
                Outcome::Refused => paused.pause(sent.route.as_str()),
                Outcome::Unroutable(reason) => {
                    if let Some(row) = by_id.get(&sent.id) {
                        give_up(&mut tx, row, &reason).await?;
                    }
                }
            }
        }
        outbox::delete(&mut tx, &confirmed).await?;
        tx.commit().await.map_err(StorageError::from)?;
        let count = u64::try_from(confirmed.len()).unwrap_or(u64::MAX);
        metrics::counter!("outbox_published_total").increment(count);
        Ok(rows.len())
    }
}

fn message(row: &OutboxRow, route: Route) -> Outgoing {
    // For people in the broker's UI only; a body that says none of it is published without.
    let headers = serde_json::from_str::<Headers>(&row.body).unwrap_or_default();
    Outgoing { id: row.id, route, body: row.body.clone(), headers }
}

/// Takes a message that no queue takes out of the way, loudly. The sweep finds its work again.
async fn give_up(tx: &mut PgConnection, row: &OutboxRow, reason: &str) -> Result<(), StorageError> {
    tracing::error!(
        outbox.id = row.id,
        route = row.route,
        reason,
        "the broker returned a message that no queue takes"
    );
    metrics::counter!("outbox_quarantined_total").increment(1);
    outbox::quarantine(tx, row.id, reason).await?;
    alerts::raise(tx, "unroutable_message", &row.route, reason).await?;
    Ok(())
}
