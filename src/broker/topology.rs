//! The one table of the broker's entities. `rabbitmq/definitions.json`, the management client and
//! every publisher and consumer read it. The words in its names come from [`super::route`]; no
//! other place puts a name together or writes an argument.
//!
//! Valid on RabbitMQ 3.10 through 4.x, which forbids: a policy that applies to `quorum_queues`
//! (unknown before 3.12), `x-delivery-limit` of -1 (3.10 accepts it and drops the message at its
//! first return), priorities, and relying on any default limit. The meaning of a message (delays,
//! dead letters) is in arguments, because deleting a policy would turn retries into losses; only
//! bounds are policies.

use std::collections::BTreeMap;

use serde::Serialize;
use thiserror::Error;

use super::route::{DeadLetterQueue, ExchangeKind, Key, Route, WaitQueue, WorkQueue};

/// Deliveries of one message before it is dead-lettered. Protects against messages that crash their
/// worker; business attempts are counted in rows.
const WORK_DELIVERY_LIMIT: u64 = 20;
/// Each look of a person at a dead letter counts as a delivery; from 4.0 on the default limit would
/// drop the message at the 20th.
const DEAD_LETTER_DELIVERY_LIMIT: u64 = 1_000_000;
const QUEUE_MESSAGES_MAX: u64 = 1_000_000;
const DEAD_LETTER_TTL_MS: u64 = 30 * 24 * 3600 * 1000;
const HINTS_MAX: u32 = 1_000;
const PREFIX_CHARS_MAX: usize = 40;

/// Waiting times. The time is part of a wait queue's name, so that a change creates a new queue
/// instead of a refused declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Between two attempts of a payment IPN (spec, "Payment IPN": 30 seconds).
    pub ipn_wait_ms: u64,
    /// Between two attempts of a mass-payout webhook (spec, "Mass-payout webhooks": 60 seconds).
    pub payout_webhook_wait_ms: u64,
}

impl Default for Timing {
    fn default() -> Self {
        Self { ipn_wait_ms: 30_000, payout_webhook_wait_ms: 60_000 }
    }
}

/// The table for one prefix and one timing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    prefix: String,
    timing: Timing,
}

/// The prefix becomes part of names, addresses and regular expressions.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the broker prefix must be 1 to {PREFIX_CHARS_MAX} letters, digits, hyphens or underscores"
)]
pub struct InvalidPrefix;

/// Exchange and routing key to which a message is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub exchange: String,
    pub key: String,
    pub mandatory: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    pub name: String,
    pub broker_type: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    pub name: String,
    pub arguments: BTreeMap<&'static str, Argument>,
}

/// A queue argument or a policy value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Argument {
    Text(String),
    Number(u64),
}

/// A binding from an exchange to a queue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Binding {
    pub source: String,
    pub destination: String,
    pub key: String,
}

/// Bound on queues that may be changed while the broker runs. Patterns never overlap: the broker
/// applies only one policy to a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    pub name: String,
    pub pattern: String,
    pub definition: BTreeMap<&'static str, Argument>,
}

/// Users of the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The three programs: publish and consume, declare only their own hint queue.
    Application,
    /// A person in the management UI: reads dead letters and moves them back.
    Operator,
    /// The sweeper: restores the topology of a wiped broker.
    Topology,
}

/// One user and its permissions. Passwords live in the environment of the programs that need them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub role: Role,
    pub name: String,
    pub tags: &'static [&'static str],
    pub rights: Rights,
}

/// Regular expressions over the names of exchanges and queues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rights {
    pub configure: String,
    pub write: String,
    pub read: String,
}

impl Topology {
    pub fn new(prefix: &str, timing: Timing) -> Result<Self, InvalidPrefix> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if prefix.is_empty() || prefix.len() > PREFIX_CHARS_MAX || !prefix.chars().all(allowed) {
            return Err(InvalidPrefix);
        }
        Ok(Self { prefix: prefix.to_owned(), timing })
    }

    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    pub fn timing(&self) -> Timing {
        self.timing
    }

    pub fn address(&self, route: Route) -> Address {
        let (exchange, key) = route.place();
        Address {
            exchange: self.exchange_name(exchange),
            key: self.key(key),
            mandatory: route.mandatory(),
        }
    }

    pub fn exchange_name(&self, kind: ExchangeKind) -> String {
        self.name(kind.as_str())
    }

    pub fn work_queue(&self, queue: WorkQueue) -> String {
        self.name(&format!("{}.work", queue.as_str()))
    }

    pub fn wait_queue(&self, queue: WaitQueue) -> String {
        self.name(&format!("{}.wait.{}", queue.as_str(), delay_label(self.delay_ms(queue))))
    }

    pub fn dead_letter_queue(&self, queue: DeadLetterQueue) -> String {
        self.name(&format!("{}.dlq", queue.as_str()))
    }

    /// Name prefix of the watchers' own queues. They exist as long as their connections and are the
    /// only queues that the application may declare.
    pub fn hint_queue_prefix(&self) -> String {
        self.name("hint.")
    }

    /// Bounded: a watcher that does not read loses the oldest hints, which costs it one poll.
    pub(super) fn hint_messages_max() -> u32 {
        HINTS_MAX
    }

    pub fn exchanges(&self) -> Vec<Exchange> {
        ExchangeKind::ALL
            .into_iter()
            .map(|kind| Exchange {
                name: self.exchange_name(kind),
                broker_type: kind.broker_type(),
            })
            .collect()
    }

    /// All queues that outlive a connection. Each is a durable quorum queue.
    pub fn queues(&self) -> Vec<Queue> {
        let work = WorkQueue::ALL.into_iter().map(|queue| {
            self.dead_lettering(
                self.work_queue(queue),
                (ExchangeKind::Dead, queue.dead_letters().as_str()),
                ("x-delivery-limit", WORK_DELIVERY_LIMIT),
            )
        });
        let wait = WaitQueue::ALL.into_iter().map(|queue| {
            let ttl = ("x-message-ttl", self.delay_ms(queue));
            self.dead_lettering(self.wait_queue(queue), queue.leads_to(), ttl)
        });
        let dead = DeadLetterQueue::ALL.into_iter().map(|queue| Queue {
            name: self.dead_letter_queue(queue),
            arguments: BTreeMap::from([
                ("x-queue-type", text("quorum")),
                ("x-delivery-limit", Argument::Number(DEAD_LETTER_DELIVERY_LIMIT)),
            ]),
        });
        work.chain(wait).chain(dead).collect()
    }

    /// A queue that dead-letters to an exchange, at least once: the broker keeps a message until
    /// the next queue has it. That holds only if a full queue rejects new messages instead of
    /// dropping old ones.
    fn dead_lettering(
        &self,
        name: String,
        (exchange, key): (ExchangeKind, &str),
        (bound, value): (&'static str, u64),
    ) -> Queue {
        let arguments = BTreeMap::from([
            ("x-queue-type", text("quorum")),
            ("x-dead-letter-exchange", Argument::Text(self.exchange_name(exchange))),
            ("x-dead-letter-routing-key", text(key)),
            ("x-dead-letter-strategy", text("at-least-once")),
            ("x-overflow", text("reject-publish")),
            (bound, Argument::Number(value)),
        ]);
        Queue { name, arguments }
    }

    pub fn bindings(&self) -> Vec<Binding> {
        let binding = |destination: &str, exchange: ExchangeKind, key: Key| Binding {
            source: self.exchange_name(exchange),
            destination: destination.to_owned(),
            key: self.key(key),
        };
        let mut bindings = Vec::new();
        for queue in WorkQueue::ALL {
            let name = self.work_queue(queue);
            bindings
                .extend(queue.bindings().into_iter().map(|(from, key)| binding(&name, from, key)));
        }
        for queue in WaitQueue::ALL {
            let name = self.wait_queue(queue);
            let key = Key::Delayed(queue.word(), queue);
            bindings.push(binding(&name, ExchangeKind::Wait, key));
        }
        for queue in DeadLetterQueue::ALL {
            let name = self.dead_letter_queue(queue);
            bindings.push(binding(&name, ExchangeKind::Dead, Key::Plain(queue.as_str())));
        }
        bindings
    }

    pub fn policies(&self) -> Vec<Policy> {
        let policy = |name: &str, pattern: &str, limit, value| Policy {
            name: self.name(name),
            pattern: format!(r"^{}\..*\.{pattern}$", self.prefix),
            definition: BTreeMap::from([(limit, Argument::Number(value))]),
        };
        vec![
            policy("work", "work", "max-length", QUEUE_MESSAGES_MAX),
            policy("wait", r"wait\.[0-9]+m?s", "max-length", QUEUE_MESSAGES_MAX),
            // The broker does not apply a length limit to dead letters with the at-least-once
            // strategy, so age bounds them.
            policy("dlq", "dlq", "message-ttl", DEAD_LETTER_TTL_MS),
        ]
    }

    pub fn user(&self, role: Role) -> User {
        let own = format!(r"^{}\.", self.prefix);
        let (name, tags, rights): (_, &[&str], _) = match role {
            Role::Application => (
                "application",
                &[],
                Rights {
                    configure: format!(r"^{}\.hint\.", self.prefix),
                    write: own.clone(),
                    read: own,
                },
            ),
            // Moving messages needs only the tag. Read is for "Get messages" on dead letters, write
            // for publishing one by hand; neither reaches the contents of a work queue.
            Role::Operator => (
                "operator",
                &["policymaker", "monitoring"],
                Rights {
                    configure: "^$".into(),
                    write: r"^amq\.default$".into(),
                    read: format!(r"^{}\..*\.dlq$", self.prefix),
                },
            ),
            // A binding needs write on the queue and read on the exchange; a dead-letter exchange
            // needs the reverse.
            Role::Topology => (
                "topology",
                &["policymaker"],
                Rights { configure: own.clone(), write: own.clone(), read: own },
            ),
        };
        User { role, name: format!("{}-{name}", self.prefix), tags, rights }
    }

    fn delay_ms(&self, queue: WaitQueue) -> u64 {
        match queue {
            WaitQueue::Ipn => self.timing.ipn_wait_ms,
            WaitQueue::PayoutWebhook => self.timing.payout_webhook_wait_ms,
        }
    }

    fn key(&self, key: Key) -> String {
        match key {
            Key::Plain(key) => key.to_owned(),
            Key::Delayed(word, queue) => format!("{word}.{}", delay_label(self.delay_ms(queue))),
        }
    }

    fn name(&self, rest: &str) -> String {
        format!("{}.{rest}", self.prefix)
    }
}

fn text(value: &str) -> Argument {
    Argument::Text(value.to_owned())
}

/// Formats a delay: `30s`, `250ms`.
fn delay_label(ms: u64) -> String {
    if ms.is_multiple_of(1000) { format!("{}s", ms / 1000) } else { format!("{ms}ms") }
}

#[cfg(test)]
#[path = "topology_tests.rs"]
mod tests;
