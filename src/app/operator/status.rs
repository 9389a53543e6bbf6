//! The state of all processes' common work in one picture, for the first page of an operator.

use std::time::Duration;

use crate::app::Gateway;
use crate::{
    asset::{Family, Network},
    broker::{
        management::{Management, ManagementError, QueueCounts},
        route::{DeadLetterQueue, WorkQueue},
    },
    config::ChainSourceKind,
    storage::{
        StorageError,
        alerts::{self, AlertRow},
        balances,
        cursors::Lag,
        deliveries, mail, nc_payouts, outbox,
        payouts::pressure::{self, Pressure},
        pools,
        x402::health::{self, GasRow},
    },
    webhook::Channel,
};

/// The time that a page waits for the broker.
const BROKER_LIMIT: Duration = Duration::from_secs(2);
const OUTBOX_COUNTED_MAX: i64 = 10_000;
const ALERTS_SHOWN: i64 = 50;

/// A queue of one role, with its dead letters.
#[derive(Debug, Clone)]
pub struct QueueDepth {
    pub role: &'static str,
    pub queue: String,
    /// `None` where the broker has no statistics yet.
    pub counts: Option<QueueCounts>,
    pub is_dead_letters: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum QueuesUnseen {
    #[error("the dashboard has no GATEWAY_BROKER__MANAGEMENT_URL, so the queues are not seen here")]
    NoManagement,
    #[error("the broker's management interface did not answer within {} s", BROKER_LIMIT.as_secs())]
    TimedOut,
    #[error(transparent)]
    Management(#[from] ManagementError),
}

/// A pool of addresses of a network.
#[derive(Debug, Clone, Copy)]
pub struct PoolLevel {
    pub network: Network,
    pub free: i64,
    pub low: i64,
}

/// Counts and ages of all waiting work.
pub struct Picture {
    pub outbox_waiting: i64,
    pub outbox_age_seconds: i64,
    pub dead_ipns: i64,
    pub dead_payout_webhooks: i64,
    pub dead_mails: i64,
    pub payouts: Pressure,
    pub nc_payouts_stuck: i64,
    /// Settlements of programs' payments that wait in no block.
    pub x402_stuck: i64,
    /// The wallet of x402 on the networks that are offered.
    pub x402_gas: Vec<GasRow>,
    pub alert_count: i64,
    pub alerts: Vec<AlertRow>,
    pub lags: Vec<Lag>,
    pub pools: Vec<PoolLevel>,
    /// Networks with addresses whose balance differs from the rows: more, and less.
    pub differences: Vec<(String, i64, i64)>,
}

impl Gateway {
    /// Message counts of every work queue and dead-letter queue, within two seconds.
    pub async fn queue_depths(&self) -> Result<Vec<QueueDepth>, QueuesUnseen> {
        let broker = &self.config.broker;
        let url = broker.management_url.as_ref().ok_or(QueuesUnseen::NoManagement)?;
        let management = Management::new(url, &broker.vhost)?;
        let counting = management.queue_counts(&self.topology);
        let counted = tokio::time::timeout(BROKER_LIMIT, counting).await;
        let counts = counted.map_err(|_| QueuesUnseen::TimedOut)??;
        let depth = |role, queue: String, is_dead_letters| {
            let counts = counts.get(&queue).copied();
            QueueDepth { role, queue, counts, is_dead_letters }
        };
        let work = WorkQueue::ALL
            .into_iter()
            .map(|queue| depth(queue.as_str(), self.topology.work_queue(queue), false));
        let dead = DeadLetterQueue::ALL
            .into_iter()
            .map(|queue| depth(queue.as_str(), self.topology.dead_letter_queue(queue), true));
        Ok(work.chain(dead).collect())
    }

    /// Everything of the picture that the database knows.
    pub async fn picture(&self) -> Result<Picture, StorageError> {
        let mut connection = self.db.connection().await?;
        let (outbox_waiting, outbox_age_seconds) =
            outbox::backlog(&mut connection, OUTBOX_COUNTED_MAX).await?;
        let differences = balances::counts(&mut connection).await?;
        let differences = differences.into_iter().map(|(network, (more, less))| {
            let less = if self.config.reconciliation.deficits { less } else { 0 };
            (network.to_string(), more, less)
        });
        let mut differences: Vec<_> =
            differences.filter(|(_, more, less)| *more > 0 || *less > 0).collect();
        differences.sort();
        Ok(Picture {
            outbox_waiting,
            outbox_age_seconds,
            dead_ipns: deliveries::count_dead(&mut connection, Channel::Ipn, 0).await?,
            dead_payout_webhooks: deliveries::count_dead(&mut connection, Channel::Payout, 0)
                .await?,
            dead_mails: mail::count_dead(&mut connection).await?,
            payouts: pressure::pressure(&mut connection).await?,
            nc_payouts_stuck: nc_payouts::stuck(&mut connection).await?,
            x402_stuck: health::count_stuck(&mut connection).await?,
            x402_gas: health::gas(&mut connection)
                .await?
                .into_iter()
                .filter(|row| self.config.takes_x402_on(row.network))
                .collect(),
            alert_count: alerts::count(&mut connection).await?,
            alerts: alerts::latest(&mut connection, ALERTS_SHOWN).await?,
            lags: self.lags(&mut connection).await?,
            pools: self.pool_levels(&mut connection).await?,
            differences,
        })
    }

    async fn pool_levels(
        &self,
        connection: &mut crate::storage::PgConnection,
    ) -> Result<Vec<PoolLevel>, StorageError> {
        let mut levels = Vec::new();
        let low = i64::from(self.config.addresses.pool_low);
        for network in Network::ALL.into_iter().filter(|network| network.family().has_pool()) {
            if self.config.chain(network).source != ChainSourceKind::Off {
                let family: Family = network.family();
                let free = pools::load(connection, family).await?.free;
                levels.push(PoolLevel { network, free, low });
            }
        }
        Ok(levels)
    }
}
