//! The sweep: finds all pending work from the database alone, so that the loss of the whole broker
//! costs only time.
//!
//! All its actions may be repeated safely: a message sent in addition to one that was not lost is
//! stale.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use super::apply_topology::{TopologyError, apply_topology};
use crate::app::{
    Gateway,
    delivery::requeue_dead_letters::WORK,
    operator::measure::{SWEEP_KINDS, gauge},
};
use crate::{
    broker::{
        management::{Difference, Management, ManagementError, QueueCounts},
        route::{DeadLetterQueue, Route, WorkQueue},
    },
    storage::{
        StorageError, deferred_deliveries,
        deliveries::{self, ChannelRoutes, DeadFilter, LostAfter},
        deposits, merchant_hours,
        retention::{self, Expiring},
    },
    webhook::Channel,
};

const BATCH: i64 = 1_000;
/// Pages per statement.
const PAGES: i64 = 1_000;
/// Time limit of one sweep for each kind of expired row. Such rows arrive faster than one batch per
/// sweep.
const FORGET_LIMIT: Duration = Duration::from_secs(5);
/// Time limit of one sweep for summing hours; after a new installation seventy days are behind.
const SUM_LIMIT: Duration = Duration::from_secs(2);
/// Large enough to park all at once: as soon as some are parked, the queue no longer looks wiped.
const PARKED_MAX: i64 = 100_000;
/// A final deposit unsettled for this long, or a delivery overdue for this long, has lost its
/// message.
const LOST_AFTER_SECONDS: i32 = 45;
/// Dead letters younger than this may still be on their way to their queue.
const PARKED_AFTER_SECONDS: i32 = 60;
/// The same while messages of the channel wait in the broker: then its workers are merely behind,
/// or its endpoints hang.
const LOST_BEHIND_OTHERS_SECONDS: i32 = 600;

#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Management(#[from] ManagementError),
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

/// Result of a sweep. What it found again is all zero in normal operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    pub deliveries_rearmed: u64,
    /// Nothing was lost with these: a slow receiver's burst waits that long as well.
    pub deferred_resumed: u64,
    pub deposits_reminded: u64,
    pub dead_letters_parked: u64,
    pub topology_repaired: bool,
    pub forgotten: u64,
}

/// State that one sweep keeps for the next.
#[derive(Debug, Default)]
pub struct SweepMemory {
    /// The dead-letter queue was found empty although dead rows exist. Twice in a row means it was
    /// wiped; once may be due to an operator moving all messages.
    dead_letters_missing: bool,
    payout_dead_letters_missing: bool,
    /// Page at which the walk through the callers' windows continues.
    window_page: i64,
}

impl SweepMemory {
    /// Discards what an earlier sweep saw of the dead-letter queues. Call it after a failed sweep,
    /// which is repeated within seconds: an operator may still be moving the messages.
    pub const fn forget_missing(&mut self) {
        (self.dead_letters_missing, self.payout_dead_letters_missing) = (false, false);
    }
}

const PARKED: ChannelRoutes<'static> = ChannelRoutes {
    ipn: Route::IpnDead.as_str(),
    payout: Route::PayoutWebhookDead.as_str(),
    tell_why: true,
};

impl Gateway {
    /// Restores the topology if any of it is missing, and with it, if the credential permits, the
    /// virtual host and the users: a broker that lost its data has lost all of them.
    pub async fn repair_topology(&self, management: &Management) -> Result<bool, SweepError> {
        match management.check(&self.topology).await {
            Ok(differences) => {
                for difference in &differences {
                    tracing::warn!(%difference, "the broker's topology differs");
                }
                // A wrong object, as opposed to a missing one, needs an operator; applying the
                // table would only be refused.
                if !differences.iter().any(Difference::is_repairable) {
                    return Ok(false);
                }
            }
            Err(ManagementError::Refused { status: 404, .. }) => {
                tracing::warn!(vhost = management.vhost(), "the broker's virtual host is missing");
            }
            Err(other) => return Err(other.into()),
        }
        let applied = apply_topology(&self.config.broker).await?;
        for (user, outcome) in applied.users {
            tracing::info!(user, %outcome, "the broker's user was checked");
        }
        Ok(true)
    }

    /// Runs one sweep. Without `management` it repairs only faults that the database shows. It does
    /// the same if the broker fails, and then returns that error at the end.
    pub async fn sweep(
        &self,
        management: Option<&Management>,
        memory: &mut SweepMemory,
    ) -> Result<Swept, SweepError> {
        let repaired = match management {
            Some(management) => self.repair_topology(management).await,
            None => Ok(false),
        };
        let mut swept = self.sweep_rows(management).await?;
        swept.forgotten = self.forget(memory).await?;
        self.sum_hours().await?;
        self.relay_wake.notify_one();
        swept.topology_repaired = repaired?;
        if let Some(management) = management {
            swept.dead_letters_parked = self.park_again(management, memory).await?;
            self.relay_wake.notify_one();
        }
        swept.count();
        Ok(swept)
    }

    async fn sweep_rows(&self, management: Option<&Management>) -> Result<Swept, StorageError> {
        let mut swept = Swept::default();
        let lost_after = self.lost_after(management).await;
        let mut connection = self.db.connection().await?;
        swept.deliveries_rearmed =
            deliveries::rearm_overdue(&mut connection, WORK, lost_after, BATCH).await?;
        swept.deferred_resumed =
            deferred_deliveries::resume_forgotten(&mut connection, BATCH).await?;
        let route = Route::Deposit.as_str();
        swept.deposits_reminded =
            deposits::remind_unsettled(&mut connection, route, LOST_AFTER_SECONDS, BATCH).await?;
        Ok(swept)
    }

    /// Deletes expired rows, batch by batch, within the time limit.
    async fn forget(&self, memory: &mut SweepMemory) -> Result<u64, StorageError> {
        let mut connection = self.db.connection().await?;
        let mut forgotten = 0;
        for kind in Expiring::ALL {
            let start = Instant::now();
            while start.elapsed() < FORGET_LIMIT {
                let gone = retention::forget(&mut connection, kind, BATCH).await?;
                forgotten += gone;
                if gone < BATCH.unsigned_abs() {
                    break;
                }
            }
        }
        let pages = retention::window_pages(&mut connection).await?;
        let (mut seen, start) = (0, Instant::now());
        while seen < pages && start.elapsed() < FORGET_LIMIT {
            if memory.window_page >= pages {
                memory.window_page = 0;
            }
            let page = memory.window_page;
            forgotten += retention::forget_windows(&mut connection, page, PAGES).await?;
            memory.window_page = page + PAGES;
            seen += PAGES;
        }
        Ok(forgotten)
    }

    /// Sums the hours that have ended, within the time limit.
    async fn sum_hours(&self) -> Result<(), StorageError> {
        let mut connection = self.db.connection().await?;
        let start = Instant::now();
        while merchant_hours::sum_next(&mut connection).await? && start.elapsed() < SUM_LIMIT {}
        Ok(())
    }

    /// The time after which a delivery of each channel is so overdue that its message counts as
    /// lost.
    async fn lost_after(&self, management: Option<&Management>) -> LostAfter {
        let counts = match management {
            Some(management) => management.queue_counts(&self.topology).await.unwrap_or_default(),
            None => BTreeMap::new(),
        };
        let waits = |queue| {
            counts.get(&self.topology.work_queue(queue)).is_some_and(|counts| counts.ready > 0)
        };
        let after = |lanes: [WorkQueue; 2]| {
            if lanes.into_iter().any(waits) {
                LOST_BEHIND_OTHERS_SECONDS
            } else {
                LOST_AFTER_SECONDS
            }
        };
        LostAfter {
            ipn: after([WorkQueue::Ipn, WorkQueue::IpnSlow]),
            payout: after([WorkQueue::PayoutWebhook, WorkQueue::PayoutWebhookSlow]),
        }
    }

    async fn park_again(
        &self,
        management: &Management,
        memory: &mut SweepMemory,
    ) -> Result<u64, SweepError> {
        let ipn = (DeadLetterQueue::Ipn, Channel::Ipn);
        let parked = self.park_channel(management, &mut memory.dead_letters_missing, ipn).await?;
        let payout = (DeadLetterQueue::PayoutWebhook, Channel::Payout);
        let missing = &mut memory.payout_dead_letters_missing;
        Ok(parked + self.park_channel(management, missing, payout).await?)
    }

    async fn park_channel(
        &self,
        management: &Management,
        was_missing: &mut bool,
        (queue, channel): (DeadLetterQueue, Channel),
    ) -> Result<u64, SweepError> {
        let queue = self.topology.dead_letter_queue(queue);
        let counts = management.queue_counts(&self.topology).await?;
        show_queues(&counts);
        let empty = counts.get(&queue).is_some_and(|counts| counts.total == 0);
        let mut connection = self.db.connection().await?;
        let dead = deliveries::count_dead(&mut connection, channel, PARKED_AFTER_SECONDS).await?;
        let missing = empty && dead > 0;
        let missing_twice = missing && *was_missing;
        *was_missing = missing && !missing_twice;
        if !missing_twice {
            return Ok(0);
        }
        let all = DeadFilter { channel: Some(channel), ..DeadFilter::default() };
        let parked = deliveries::queue_dead(&mut connection, PARKED, &all, PARKED_MAX).await?;
        Ok(u64::try_from(parked.len()).unwrap_or(u64::MAX))
    }
}

impl Swept {
    /// Counts lost items that were found again; none in normal operation.
    fn count(&self) {
        let found = [
            self.deliveries_rearmed,
            self.deposits_reminded,
            self.dead_letters_parked,
            u64::from(self.topology_repaired),
        ];
        for (kind, count) in SWEEP_KINDS.into_iter().zip(found) {
            metrics::counter!("sweep_hits_total", "kind" => kind).increment(count);
        }
    }
}

/// Exports the size of every queue. Messages that are neither ready nor unacknowledged are on their
/// way to another queue; if that persists, they are stuck.
fn show_queues(counts: &BTreeMap<String, QueueCounts>) {
    for (queue, held) in counts {
        let show = |name: &'static str, count: u64| {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            metrics::gauge!(name, "queue" => queue.clone()).set(gauge(count));
        };
        show("queue_messages", held.total);
        show("queue_messages_ready", held.ready);
        show("queue_messages_unacknowledged", held.unacknowledged);
        let counted = held.ready.saturating_add(held.unacknowledged);
        show("queue_messages_stuck", held.total.saturating_sub(counted));
    }
}
