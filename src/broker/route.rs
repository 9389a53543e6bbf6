//! The closed lists: what is published, what is consumed, and where what was given up is kept.
//!
//! A new family (payout, payout webhook) is one arm in each match of this file and, if it has a delay of its own,
//! one [`WaitQueue`]; nothing else in the module knows families by name.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// Our exchanges, by what they carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExchangeKind {
    /// Facts (topic): whoever is interested binds.
    Event,
    /// Commands that name a worker.
    Cmd,
    /// Payment IPN deliveries.
    Ipn,
    /// Mass-payout webhook deliveries.
    PayoutWebhook,
    /// Into a wait queue.
    Wait,
    /// Given up, for an operator to see.
    Dead,
}

impl ExchangeKind {
    pub const ALL: [Self; 6] =
        [Self::Event, Self::Cmd, Self::Ipn, Self::PayoutWebhook, Self::Wait, Self::Dead];

    /// The name without its prefix.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Cmd => "cmd",
            Self::Ipn => "ipn",
            Self::PayoutWebhook => "pwh",
            Self::Wait => "wait",
            Self::Dead => "dead",
        }
    }

    /// The exchange type in the broker's words.
    pub fn broker_type(self) -> &'static str {
        match self {
            Self::Event => "topic",
            Self::Cmd | Self::Ipn | Self::PayoutWebhook | Self::Wait | Self::Dead => "direct",
        }
    }
}

/// Everything the gateway publishes. The outbox stores it as text ([`Route::as_str`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Route {
    InvoiceCreated,
    InvoiceResolved,
    DepositFinal,
    Deposit,
    Expiry,
    Ipn,
    IpnSlow,
    IpnWait,
    IpnDead,
    Payout,
    PayoutWebhook,
    PayoutWebhookSlow,
    PayoutWebhookWait,
    PayoutWebhookDead,
}

/// A routing key, or the word from which the topology makes one that carries the delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Plain(&'static str),
    /// `<word>.<delay>`: a changed delay is a changed key, so old and new waits never mix.
    Delayed(&'static str, WaitQueue),
}

impl Route {
    pub const ALL: [Self; 14] = [
        Self::InvoiceCreated,
        Self::InvoiceResolved,
        Self::DepositFinal,
        Self::Deposit,
        Self::Expiry,
        Self::Ipn,
        Self::IpnSlow,
        Self::IpnWait,
        Self::IpnDead,
        Self::Payout,
        Self::PayoutWebhook,
        Self::PayoutWebhookSlow,
        Self::PayoutWebhookWait,
        Self::PayoutWebhookDead,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvoiceCreated => "invoice.created",
            Self::InvoiceResolved => "invoice.resolved",
            Self::DepositFinal => "deposit.final",
            Self::Deposit => "deposit",
            Self::Expiry => "expiry",
            Self::Ipn => "ipn",
            Self::IpnSlow => "ipn.slow",
            Self::IpnWait => "ipn.wait",
            Self::IpnDead => "ipn.dead",
            Self::Payout => "payout",
            Self::PayoutWebhook => "pwh",
            Self::PayoutWebhookSlow => "pwh.slow",
            Self::PayoutWebhookWait => "pwh.wait",
            Self::PayoutWebhookDead => "pwh.dead",
        }
    }

    /// Whether a message that reaches no queue is a fault.
    ///
    /// Facts about invoices only tell the chain-watcher to look sooner; with no watcher running nobody needs them.
    /// Facts about deposits are work for a queue of ours, so a missing binding must not pass unseen.
    pub fn mandatory(self) -> bool {
        !matches!(self, Self::InvoiceCreated | Self::InvoiceResolved)
    }

    pub(super) fn place(self) -> (ExchangeKind, Key) {
        use ExchangeKind::{Cmd, Dead, Event, Ipn, PayoutWebhook, Wait};
        match self {
            Self::InvoiceCreated | Self::InvoiceResolved | Self::DepositFinal => {
                (Event, Key::Plain(self.as_str()))
            }
            Self::Deposit => (Cmd, Key::Plain("deposit")),
            Self::Expiry => (Cmd, Key::Plain("expiry")),
            Self::Ipn => (Ipn, Key::Plain("ipn")),
            Self::IpnSlow => (Ipn, Key::Plain("ipn.slow")),
            Self::IpnWait => (Wait, Key::Delayed("ipn", WaitQueue::Ipn)),
            Self::IpnDead => (Dead, Key::Plain("ipn")),
            Self::Payout => (Cmd, Key::Plain("payout")),
            Self::PayoutWebhook => (PayoutWebhook, Key::Plain("pwh")),
            Self::PayoutWebhookSlow => (PayoutWebhook, Key::Plain("pwh.slow")),
            Self::PayoutWebhookWait => (Wait, Key::Delayed("pwh", WaitQueue::PayoutWebhook)),
            Self::PayoutWebhookDead => (Dead, Key::Plain("pwh")),
        }
    }
}

/// A stored route that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not a route")]
pub struct UnknownRoute(String);

impl FromStr for Route {
    type Err = UnknownRoute;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|route| route.as_str() == text)
            .ok_or_else(|| UnknownRoute(text.to_owned()))
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Queues that a worker reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkQueue {
    Deposit,
    Expiry,
    Ipn,
    /// Deliveries to endpoints that lately answered slowly, so that they hold up nobody else.
    IpnSlow,
    Payout,
    PayoutWebhook,
    PayoutWebhookSlow,
}

impl WorkQueue {
    pub const ALL: [Self; 7] = [
        Self::Deposit,
        Self::Expiry,
        Self::Ipn,
        Self::IpnSlow,
        Self::Payout,
        Self::PayoutWebhook,
        Self::PayoutWebhookSlow,
    ];

    /// The middle of its name: `<prefix>.<this>.work`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deposit => "deposit",
            Self::Expiry => "expiry",
            Self::Ipn => "ipn",
            Self::IpnSlow => "ipn.slow",
            Self::Payout => "payout",
            Self::PayoutWebhook => "pwh",
            Self::PayoutWebhookSlow => "pwh.slow",
        }
    }

    /// Where its rejected messages end.
    pub fn dead_letters(self) -> DeadLetterQueue {
        match self {
            Self::Deposit => DeadLetterQueue::Deposit,
            Self::Expiry => DeadLetterQueue::Expiry,
            Self::Ipn | Self::IpnSlow => DeadLetterQueue::Ipn,
            Self::Payout => DeadLetterQueue::Payout,
            Self::PayoutWebhook | Self::PayoutWebhookSlow => DeadLetterQueue::PayoutWebhook,
        }
    }

    pub(super) fn bindings(self) -> Vec<(ExchangeKind, Key)> {
        use ExchangeKind::{Cmd, Event, Ipn, PayoutWebhook};
        match self {
            Self::Deposit => vec![(Cmd, Key::Plain("deposit")), (Event, Key::Plain("deposit.#"))],
            Self::Expiry => vec![(Cmd, Key::Plain("expiry"))],
            Self::Ipn => vec![(Ipn, Key::Plain("ipn"))],
            Self::IpnSlow => vec![(Ipn, Key::Plain("ipn.slow"))],
            Self::Payout => vec![(Cmd, Key::Plain("payout"))],
            Self::PayoutWebhook => vec![(PayoutWebhook, Key::Plain("pwh"))],
            Self::PayoutWebhookSlow => vec![(PayoutWebhook, Key::Plain("pwh.slow"))],
        }
    }
}

/// Queues that nobody reads: messages leave them when their time is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WaitQueue {
    /// The pause between two attempts of a payment IPN (spec, "Payment IPN").
    Ipn,
    /// The pause between two attempts of a mass-payout webhook (spec, "Mass-payout webhooks").
    PayoutWebhook,
}

impl WaitQueue {
    pub const ALL: [Self; 2] = [Self::Ipn, Self::PayoutWebhook];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Ipn => "ipn",
            Self::PayoutWebhook => "pwh",
        }
    }

    /// The word of the key that leads in.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ipn => "ipn",
            Self::PayoutWebhook => "pwh",
        }
    }

    /// Where a message goes when its time is up.
    pub(super) fn leads_to(self) -> (ExchangeKind, &'static str) {
        match self {
            Self::Ipn => (ExchangeKind::Ipn, "ipn"),
            Self::PayoutWebhook => (ExchangeKind::PayoutWebhook, "pwh"),
        }
    }
}

/// Queues that hold what was given up until an operator moves it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeadLetterQueue {
    Deposit,
    Expiry,
    Ipn,
    Payout,
    PayoutWebhook,
}

impl DeadLetterQueue {
    pub const ALL: [Self; 5] =
        [Self::Deposit, Self::Expiry, Self::Ipn, Self::Payout, Self::PayoutWebhook];

    /// The middle of its name, `<prefix>.<this>.dlq`, and the key that leads there.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deposit => "deposit",
            Self::Expiry => "expiry",
            Self::Ipn => "ipn",
            Self::Payout => "payout",
            Self::PayoutWebhook => "pwh",
        }
    }

    /// The queue to which an operator moves its messages.
    pub fn work_queue(self) -> WorkQueue {
        match self {
            Self::Deposit => WorkQueue::Deposit,
            Self::Expiry => WorkQueue::Expiry,
            Self::Ipn => WorkQueue::Ipn,
            Self::Payout => WorkQueue::Payout,
            Self::PayoutWebhook => WorkQueue::PayoutWebhook,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_reads_back_from_the_text_the_outbox_stores() {
        for route in Route::ALL {
            assert_eq!(route.as_str().parse(), Ok(route));
        }
        assert_eq!(
            "ipn.fast".parse::<Route>().unwrap_err().to_string(),
            r#""ipn.fast" is not a route"#
        );
    }

    #[test]
    fn only_the_hints_to_the_watcher_may_reach_nobody() {
        let optional: Vec<_> =
            Route::ALL.into_iter().filter(|route| !route.mandatory()).map(Route::as_str).collect();
        assert_eq!(optional, ["invoice.created", "invoice.resolved"]);
    }
}
