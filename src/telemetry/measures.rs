//! Every metric that any process exposes, with its meaning. Dashboards and alerts may use these and
//! no others.

use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only increases, from zero at the start of the process.
    Counter,
    /// Current value.
    Gauge,
    /// Durations in seconds.
    Histogram,
}

/// A metric: its name, its kind, and its help text.
pub type Measure = (&'static str, Kind, &'static str);

use Kind::{Counter, Gauge, Histogram};

pub const MEASURES: &[Measure] = &[
    ("http_requests_total", Counter, "answered requests, by route and status"),
    ("http_request_seconds", Histogram, "from a request's head to its answer, by route"),
    ("invoice_transitions_total", Counter, "committed changes of an invoice's status"),
    ("outbox_waiting", Gauge, "messages not confirmed by the broker yet, counted up to 10,000"),
    ("outbox_age_seconds", Gauge, "age of the oldest of them"),
    ("outbox_published_total", Counter, "messages that the broker confirmed"),
    ("outbox_quarantined_total", Counter, "messages quarantined because no queue takes them"),
    ("messages_rejected_total", Counter, "messages that could not be read or signed, by queue"),
    ("ipn_attempts_total", Counter, "attempts to deliver an IPN, by outcome"),
    ("ipn_attempt_seconds", Histogram, "from the lookup of a receiver's name to its answer"),
    ("ipn_stale_copies_total", Counter, "messages about attempts that were made already"),
    ("ipn_lane_moves_total", Counter, "messages sent on to the slow lane, or back to wait"),
    ("ipn_deferred_total", Counter, "messages whose merchant had too many waiting already"),
    ("ipn_dead_letters", Gauge, "IPNs whose attempts are used up, by the rows"),
    ("payout_webhook_attempts_total", Counter, "attempts to deliver a payout webhook, by outcome"),
    ("payout_webhook_attempt_seconds", Histogram, "as ipn_attempt_seconds, of payout webhooks"),
    ("payout_webhook_stale_copies_total", Counter, "as ipn_stale_copies_total, of payout webhooks"),
    ("payout_webhook_lane_moves_total", Counter, "as ipn_lane_moves_total, of payout webhooks"),
    ("payout_webhook_deferred_total", Counter, "as ipn_deferred_total, of payout webhooks"),
    ("payout_webhook_dead_letters", Gauge, "payout webhooks whose attempts are used up"),
    ("mail_attempts_total", Counter, "attempts to hand a mail to the relay, by outcome"),
    ("mail_attempt_seconds", Histogram, "from an attempt's begin to the relay's answer"),
    ("mail_dropped_total", Counter, "mails that were not sent, by reason"),
    ("mail_dead_letters", Gauge, "mails whose attempts are used up"),
    ("payout_orders_held", Gauge, "orders that wait for an operator's release"),
    (
        "payout_oldest_order_seconds",
        Gauge,
        "since the oldest order that is being paid out had its money",
    ),
    ("payout_payments_stuck", Gauge, "signed payments in no block after an hour"),
    (
        "nc_payouts_stuck",
        Gauge,
        "payouts signed by merchants of which no block has taken anything for an hour",
    ),
    ("payout_signing_stops", Gauge, "networks on which an operator stopped all signing"),
    (
        "payout_gas_transfers",
        Gauge,
        "token payments that a network's gas wallet can still pay for, at the fee of now",
    ),
    ("x402_verified_total", Counter, "payments of programs that were verified, by result"),
    ("x402_settle_answers_total", Counter, "answers to requests to settle, by result"),
    ("x402_settle_seconds", Histogram, "from a request to settle to its answer"),
    (
        "x402_refused_total",
        Counter,
        "settlements that ended before a signature, and fees that were not raised, by reason",
    ),
    ("x402_ended_total", Counter, "settlements whose transaction is final, by network and result"),
    ("x402_reorged_total", Counter, "settlements whose block was replaced after it was final"),
    ("x402_booked_total", Counter, "payments for resources in the books, by network"),
    ("x402_open_settlements", Gauge, "settlements of a network that have not ended"),
    ("x402_signing_stopped", Gauge, "1 while an operator stopped the signing of settlements alone"),
    (
        "x402_gas_settlements",
        Gauge,
        "settlements that the gas wallet of x402 can still pay for, at the fee of now",
    ),
    (
        "chain_node_calls_total",
        Counter,
        "calls to chain nodes, each question of a batch one, by network, method and outcome",
    ),
    (
        "chain_node_faults_total",
        Counter,
        "answers of chain nodes that failed, were late, behind or different, where several are configured",
    ),
    ("chain_lag_seconds", Gauge, "seconds since the watcher last read a network completely"),
    ("chain_height", Gauge, "the block up to which a network was read"),
    ("chain_reorgs_total", Counter, "times that a network's newest blocks were replaced"),
    ("chain_unreadable_total", Counter, "parts of blocks that could not be read and were left out"),
    (
        "deposits_left_out_total",
        Counter,
        "transfers of unknown tokens that were left out, because their address has enough of them",
    ),
    ("address_pool_free", Gauge, "addresses left in the pool of a network that cannot derive them"),
    ("address_pool_low", Gauge, "with fewer than this a pool should be filled"),
    ("balance_differences", Gauge, "addresses whose balance on chain differs from the rows"),
    ("ledger_faults", Gauge, "faults that the last verification of the ledger found"),
    ("ledger_check_age_hours", Gauge, "whole hours since that verification"),
    ("rate_provider_failures_total", Counter, "refreshes that a rate provider failed"),
    (
        "sweep_hits_total",
        Counter,
        "lost work that the sweep found again, by kind; zero on a healthy installation",
    ),
    ("queue_messages", Gauge, "messages in a queue, by the active sweeper"),
    ("queue_messages_ready", Gauge, "of these, those that wait for a consumer"),
    ("queue_messages_unacknowledged", Gauge, "of these, those that a worker holds"),
    (
        "queue_messages_stuck",
        Gauge,
        "of these, those that are neither: on their way to another queue",
    ),
    ("operator_alerts", Gauge, "alerts in the database that require an operator"),
    ("part_ready", Gauge, "1 while a part of the process can do its work"),
    ("database_up", Gauge, "1 if the database answered when it was asked for these numbers"),
    ("trace_spans_lost_total", Counter, "spans that the exporter could not take"),
];

/// Registers the help text of every metric, and zero for every counter without labels: a rate needs
/// a value before the first event.
pub(super) fn describe() {
    for (name, kind, help) in MEASURES.iter().copied() {
        match kind {
            Counter => describe_counter!(name, help),
            Gauge => describe_gauge!(name, help),
            Histogram => describe_histogram!(name, Unit::Seconds, help),
        }
    }
    for (name, _, _) in MEASURES.iter().filter(|(name, _, _)| UNLABELLED.contains(name)) {
        metrics::counter!(*name).increment(0);
    }
}

const UNLABELLED: [&str; 9] = [
    "outbox_published_total",
    "outbox_quarantined_total",
    "ipn_stale_copies_total",
    "ipn_lane_moves_total",
    "ipn_deferred_total",
    "payout_webhook_stale_copies_total",
    "payout_webhook_lane_moves_total",
    "payout_webhook_deferred_total",
    "trace_spans_lost_total",
];
