//! A process's metrics of the rows that all processes share, read anew at every scrape.

use crate::app::Gateway;
use crate::{
    asset::Network,
    config::ChainSourceKind,
    invoice::Status,
    mail::standing::Refusal,
    storage::{
        PgConnection, StorageError, alerts, balances, cursors, cursors::Lag, deliveries, mail,
        nc_payouts, outbox, payouts::pressure, pools, seals,
    },
    webhook::Channel,
};

/// Beyond this many, how many is not worth counting.
const OUTBOX_COUNTED_MAX: i64 = 10_000;

impl Gateway {
    /// Sets the gauges that come from the database.
    pub async fn measure(&self) -> Result<(), StorageError> {
        let mut connection = self.db.connection().await?;
        let (waiting, age) = outbox::backlog(&mut connection, OUTBOX_COUNTED_MAX).await?;
        metrics::gauge!("outbox_waiting").set(gauge(waiting));
        metrics::gauge!("outbox_age_seconds").set(gauge(age));
        let dead = deliveries::count_dead(&mut connection, Channel::Ipn, 0).await?;
        metrics::gauge!("ipn_dead_letters").set(gauge(dead));
        let dead = deliveries::count_dead(&mut connection, Channel::Payout, 0).await?;
        metrics::gauge!("payout_webhook_dead_letters").set(gauge(dead));
        let dead = mail::count_dead(&mut connection).await?;
        metrics::gauge!("mail_dead_letters").set(gauge(dead));
        let payouts = pressure::pressure(&mut connection).await?;
        metrics::gauge!("payout_orders_held").set(gauge(payouts.held));
        metrics::gauge!("payout_oldest_order_seconds").set(gauge(payouts.oldest_seconds));
        metrics::gauge!("payout_payments_stuck").set(gauge(payouts.stuck));
        metrics::gauge!("payout_signing_stops").set(gauge(payouts.stopped));
        metrics::gauge!("x402_signing_stopped").set(gauge(payouts.x402_stopped));
        let stuck = nc_payouts::stuck(&mut connection).await?;
        metrics::gauge!("nc_payouts_stuck").set(gauge(stuck));
        let alerts = alerts::count(&mut connection).await?;
        metrics::gauge!("operator_alerts").set(gauge(alerts));
        if let Some((faults, hours)) = seals::last_check(&mut connection).await? {
            metrics::gauge!("ledger_faults").set(gauge(faults));
            metrics::gauge!("ledger_check_age_hours").set(gauge(hours));
        }
        for lag in self.lags(&mut connection).await? {
            let name = lag.network.name();
            metrics::gauge!("chain_height", "network" => name).set(gauge(lag.height));
            metrics::gauge!("chain_lag_seconds", "network" => name).set(gauge(lag.seconds));
        }
        let differences = balances::counts(&mut connection).await?;
        for network in Network::ALL {
            if self.config.chain(network).source == ChainSourceKind::Off {
                continue;
            }
            let (surplus, deficit) = differences.get(network.name()).copied().unwrap_or_default();
            let deficit = if self.config.reconciliation.deficits { deficit } else { 0 };
            for (kind, count) in [("surplus", surplus), ("deficit", deficit)] {
                let labels = [("network", network.name()), ("kind", kind)];
                metrics::gauge!("balance_differences", &labels).set(gauge(count));
            }
        }
        for network in Network::ALL.into_iter().filter(|network| network.family().has_pool()) {
            if self.config.chain(network).source == ChainSourceKind::Off {
                continue;
            }
            let free = pools::load(&mut connection, network.family()).await?.free;
            let (name, low) = (network.name(), self.config.addresses.pool_low);
            metrics::gauge!("address_pool_free", "network" => name).set(gauge(free));
            metrics::gauge!("address_pool_low", "network" => name).set(low);
        }
        Ok(())
    }

    /// Of every network that is switched on. A network that was never looked at lags for as long as
    /// this process waits: it may be on sale already.
    pub async fn lags(&self, connection: &mut PgConnection) -> Result<Vec<Lag>, StorageError> {
        let known = cursors::lags(connection).await?;
        let waited = i64::try_from(self.started.elapsed().as_secs()).unwrap_or(i64::MAX);
        let lag = |network: Network| {
            let known = known.iter().find(|lag| lag.network == network).copied();
            known.unwrap_or(Lag { network, height: 0, seconds: waited })
        };
        let on = |network: &Network| self.config.chain(*network).source != ChainSourceKind::Off;
        Ok(Network::ALL.into_iter().filter(on).map(lag).collect())
    }
}

/// Gives each counter with labels its zeros, so that its first event shows as a rise.
pub fn begin_counting() {
    for network in Network::ALL {
        for name in ["chain_reorgs_total", "chain_unreadable_total", "deposits_left_out_total"] {
            metrics::counter!(name, "network" => network.name()).increment(0);
        }
    }
    for (from, to) in TRANSITIONS {
        transitions(from, to).increment(0);
    }
    for kind in SWEEP_KINDS {
        metrics::counter!("sweep_hits_total", "kind" => kind).increment(0);
    }
    for outcome in crate::app::delivery::OUTCOMES {
        metrics::counter!("ipn_attempts_total", "outcome" => outcome).increment(0);
        metrics::counter!("payout_webhook_attempts_total", "outcome" => outcome).increment(0);
    }
    for outcome in crate::app::mail::deliver::OUTCOMES {
        metrics::counter!("mail_attempts_total", "outcome" => outcome).increment(0);
    }
    for reason in Refusal::ALL {
        metrics::counter!("mail_dropped_total", "reason" => reason.as_str()).increment(0);
    }
}

/// The changes that invoices make (spec, "Transitions"), and their beginnings.
const TRANSITIONS: [(Option<Status>, Status); 12] = {
    use Status::{Cancelled, Draft, Expired, Overpaid, Paid, Partial, Pending};
    [
        (None, Pending),
        (None, Draft),
        (Some(Draft), Pending),
        (Some(Draft), Expired),
        (Some(Pending), Partial),
        (Some(Pending), Paid),
        (Some(Pending), Overpaid),
        (Some(Pending), Expired),
        (Some(Pending), Cancelled),
        (Some(Partial), Paid),
        (Some(Partial), Overpaid),
        (Some(Partial), Expired),
    ]
};

/// The kinds of rows that a sweep can find.
pub(crate) const SWEEP_KINDS: [&str; 4] = ["deliveries", "deposits", "dead_letters", "topology"];

/// Counts a change of status that has been committed. `None` is an invoice that did not exist.
pub(crate) fn count_transition(from: Option<Status>, to: Status) {
    if from != Some(to) {
        transitions(from, to).increment(1);
    }
}

fn transitions(from: Option<Status>, to: Status) -> metrics::Counter {
    let from = from.map_or("none", Status::as_str);
    metrics::counter!("invoice_transitions_total", "from" => from, "to" => to.as_str())
}

/// A count as gauges take it without a float of ours; a count beyond the range is alarming enough
/// at the range's end.
pub(crate) fn gauge(value: i64) -> u32 {
    u32::try_from(value.max(0)).unwrap_or(u32::MAX)
}
