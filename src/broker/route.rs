//! Closed lists of published messages, consumed queues and dead-letter queues.
//!
//! A new family (payout, payout webhook) is one arm in each match of this file and, if it has a
//! delay of its own, one [`WaitQueue`]; the rest of the module does not know families by name.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// The gateway's exchanges, by the kind of message they carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExchangeKind {
    /// Facts (topic exchange): any interested consumer binds its queue.
    Event,
    /// Commands addressed to one worker.
    Cmd,
    /// Payment IPN deliveries.
    Ipn,
    /// Mass-payout webhook deliveries.
    PayoutWebhook,
    /// Entry to the wait queues.
    Wait,
    /// Dead letters, kept for an operator.
    Dead,
}

impl ExchangeKind {
    pub const ALL: [Self; 6] =
        [Self::Event, Self::Cmd, Self::Ipn, Self::PayoutWebhook, Self::Wait, Self::Dead];

    /// Name without the prefix.
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

    /// Exchange type as RabbitMQ names it.
    pub fn broker_type(self) -> &'static str {
        match self {
            Self::Event => "topic",
            Self::Cmd | Self::Ipn | Self::PayoutWebhook | Self::Wait | Self::Dead => "direct",
        }
    }
}

/// Every message the gateway publishes. The outbox stores it as text ([`Route::as_str`]).
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
    Mail,
    MailDead,
}

/// Routing key, or the word from which the topology builds a key that includes the delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Plain(&'static str),
    /// `<word>.<delay>`: a changed delay changes the key, so old and new waits never mix.
    Delayed(&'static str, WaitQueue),
}

impl Route {
    pub const ALL: [Self; 16] = [
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
        Self::Mail,
        Self::MailDead,
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
            Self::Mail => "mail",
            Self::MailDead => "mail.dead",
        }
    }

    /// Returns true if an unroutable message is an error.
    ///
    /// Invoice facts only make the chain-watcher look sooner; without a running watcher they are
    /// not needed. Deposit facts are work for one of our queues, so a missing binding must be
    /// noticed.
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
            Self::Mail => (Cmd, Key::Plain("mail")),
            Self::MailDead => (Dead, Key::Plain("mail")),
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

/// Queues that a worker consumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkQueue {
    Deposit,
    Expiry,
    Ipn,
    /// Deliveries to endpoints that recently answered slowly, kept apart so that they delay no
    /// other delivery.
    IpnSlow,
    Payout,
    PayoutWebhook,
    PayoutWebhookSlow,
    /// Mails. Their retries wait in rows: the pauses grow, and a wait queue has one.
    Mail,
}

impl WorkQueue {
    pub const ALL: [Self; 8] = [
        Self::Deposit,
        Self::Expiry,
        Self::Ipn,
        Self::IpnSlow,
        Self::Payout,
        Self::PayoutWebhook,
        Self::PayoutWebhookSlow,
        Self::Mail,
    ];

    /// Middle part of the queue's name: `<prefix>.<this>.work`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deposit => "deposit",
            Self::Expiry => "expiry",
            Self::Ipn => "ipn",
            Self::IpnSlow => "ipn.slow",
            Self::Payout => "payout",
            Self::PayoutWebhook => "pwh",
            Self::PayoutWebhookSlow => "pwh.slow",
            Self::Mail => "mail",
        }
    }

    /// Queue for its rejected messages.
    pub fn dead_letters(self) -> DeadLetterQueue {
        match self {
            Self::Deposit => DeadLetterQueue::Deposit,
            Self::Expiry => DeadLetterQueue::Expiry,
            Self::Ipn | Self::IpnSlow => DeadLetterQueue::Ipn,
            Self::Payout => DeadLetterQueue::Payout,
            Self::PayoutWebhook | Self::PayoutWebhookSlow => DeadLetterQueue::PayoutWebhook,
            Self::Mail => DeadLetterQueue::Mail,
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
            Self::Mail => vec![(Cmd, Key::Plain("mail"))],
        }
    }
}

/// Queues without a consumer: a message leaves when its TTL expires.
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

    /// First word of the routing key that leads into the queue.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ipn => "ipn",
            Self::PayoutWebhook => "pwh",
        }
    }

    /// Exchange and key that a message goes to when its TTL expires.
    pub(super) fn leads_to(self) -> (ExchangeKind, &'static str) {
        match self {
            Self::Ipn => (ExchangeKind::Ipn, "ipn"),
            Self::PayoutWebhook => (ExchangeKind::PayoutWebhook, "pwh"),
        }
    }
}

/// Queues that hold dead letters until an operator requeues them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeadLetterQueue {
    Deposit,
    Expiry,
    Ipn,
    Payout,
    PayoutWebhook,
    Mail,
}

impl DeadLetterQueue {
    pub const ALL: [Self; 6] =
        [Self::Deposit, Self::Expiry, Self::Ipn, Self::Payout, Self::PayoutWebhook, Self::Mail];

    /// Middle part of the queue's name, `<prefix>.<this>.dlq`, and the routing key that leads to
    /// it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deposit => "deposit",
            Self::Expiry => "expiry",
            Self::Ipn => "ipn",
            Self::Payout => "payout",
            Self::PayoutWebhook => "pwh",
            Self::Mail => "mail",
        }
    }

    /// Work queue to which an operator requeues its messages.
    pub fn work_queue(self) -> WorkQueue {
        match self {
            Self::Deposit => WorkQueue::Deposit,
            Self::Expiry => WorkQueue::Expiry,
            Self::Ipn => WorkQueue::Ipn,
            Self::Payout => WorkQueue::Payout,
            Self::PayoutWebhook => WorkQueue::PayoutWebhook,
            Self::Mail => WorkQueue::Mail,
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
    fn only_watcher_hints_may_be_unroutable() {
        let optional: Vec<_> =
            Route::ALL.into_iter().filter(|route| !route.mandatory()).map(Route::as_str).collect();
        assert_eq!(optional, ["invoice.created", "invoice.resolved"]);
    }
}
