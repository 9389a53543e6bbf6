//! Comparison of the broker with the topology table.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::broker::topology::{Argument, Binding, Topology};

/// One difference between the broker and the table. Applying the table creates missing entries and
/// sets policies; the other differences need an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    MissingExchange {
        name: String,
    },
    WrongExchange {
        name: String,
        found: String,
    },
    MissingQueue {
        name: String,
    },
    WrongQueue {
        name: String,
        found: String,
    },
    /// Often the result of a mistyped destination in "Move messages", which creates the queue it
    /// was given.
    UnexpectedQueue {
        name: String,
    },
    MissingBinding {
        source: String,
        key: String,
        destination: String,
    },
    UnexpectedBinding {
        source: String,
        key: String,
        destination: String,
    },
    MissingPolicy {
        name: String,
    },
    WrongPolicy {
        name: String,
        found: String,
    },
}

impl Difference {
    /// Returns true if applying the table repairs the difference.
    pub const fn is_repairable(&self) -> bool {
        match self {
            Self::MissingExchange { .. }
            | Self::MissingQueue { .. }
            | Self::MissingBinding { .. }
            | Self::MissingPolicy { .. }
            | Self::WrongPolicy { .. } => true,
            Self::WrongExchange { .. }
            | Self::WrongQueue { .. }
            | Self::UnexpectedQueue { .. }
            | Self::UnexpectedBinding { .. } => false,
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingExchange { name } => write!(f, "exchange {name} is missing"),
            Self::WrongExchange { name, found } => write!(f, "exchange {name} is {found}"),
            Self::MissingQueue { name } => write!(f, "queue {name} is missing"),
            Self::WrongQueue { name, found } => write!(f, "queue {name} has {found}"),
            Self::UnexpectedQueue { name } => write!(f, "queue {name} is none of ours"),
            Self::MissingBinding { source, key, destination } => {
                write!(f, "{source} does not lead to {destination} for {key}")
            }
            Self::UnexpectedBinding { source, key, destination } => {
                write!(f, "{source} leads to {destination} for {key}, which is none of ours")
            }
            Self::MissingPolicy { name } => write!(f, "policy {name} is missing"),
            Self::WrongPolicy { name, found } => write!(f, "policy {name} is {found}"),
        }
    }
}

/// Exchanges, queues, bindings and policies as the broker lists them.
pub(super) struct Found {
    pub(super) exchanges: Vec<FoundExchange>,
    pub(super) queues: Vec<FoundQueue>,
    pub(super) bindings: Vec<FoundBinding>,
    pub(super) policies: Vec<FoundPolicy>,
}

#[derive(Deserialize)]
pub(super) struct FoundExchange {
    name: String,
    r#type: String,
    durable: bool,
}

#[derive(Deserialize)]
pub(super) struct FoundQueue {
    name: String,
    durable: bool,
    arguments: Map<String, Value>,
}

#[derive(Deserialize)]
pub(super) struct FoundBinding {
    source: String,
    destination: String,
    routing_key: String,
}

#[derive(Deserialize)]
pub(super) struct FoundPolicy {
    name: String,
    pattern: String,
    #[serde(rename = "apply-to")]
    apply_to: String,
    definition: Map<String, Value>,
}

pub(super) fn differences(topology: &Topology, found: &Found) -> Vec<Difference> {
    let mut differences = exchanges(topology, found);
    differences.extend(queues(topology, found));
    differences.extend(bindings(topology, found));
    differences.extend(policies(topology, found));
    differences
}

fn exchanges(topology: &Topology, found: &Found) -> Vec<Difference> {
    let compare = |name: String, broker_type: &str| {
        let Some(exchange) = found.exchanges.iter().find(|exchange| exchange.name == name) else {
            return Some(Difference::MissingExchange { name });
        };
        let right = exchange.r#type == broker_type && exchange.durable;
        let durability = if exchange.durable { "durable" } else { "transient" };
        let found = format!("{durability} and of type {}", exchange.r#type);
        (!right).then_some(Difference::WrongExchange { name, found })
    };
    let expected = topology.exchanges().into_iter();
    expected.filter_map(|exchange| compare(exchange.name, exchange.broker_type)).collect()
}

fn queues(topology: &Topology, found: &Found) -> Vec<Difference> {
    let expected: BTreeMap<_, _> =
        topology.queues().into_iter().map(|queue| (queue.name, queue.arguments)).collect();
    let compare = |(name, arguments): (&String, &BTreeMap<&'static str, Argument>)| {
        let name = name.clone();
        let Some(queue) = found.queues.iter().find(|queue| queue.name == name) else {
            return Some(Difference::MissingQueue { name });
        };
        let found = Value::Object(queue.arguments.clone());
        let right = queue.durable && found == json!(arguments);
        (!right).then(|| Difference::WrongQueue { name, found: found.to_string() })
    };
    let ours = format!("{}.", topology.prefix());
    let hints = topology.hint_queue_prefix();
    let unexpected = found.queues.iter().map(|queue| queue.name.clone()).filter(|name| {
        name.starts_with(&ours) && !name.starts_with(&hints) && !expected.contains_key(name)
    });
    let wrong = expected.iter().filter_map(compare);
    wrong.chain(unexpected.map(|name| Difference::UnexpectedQueue { name })).collect()
}

fn bindings(topology: &Topology, found: &Found) -> Vec<Difference> {
    let sources: BTreeSet<_> = topology.exchanges().into_iter().map(|e| e.name).collect();
    let hints = topology.hint_queue_prefix();
    let expected: BTreeSet<_> = topology.bindings().into_iter().collect();
    let found: BTreeSet<_> = found
        .bindings
        .iter()
        .filter(|binding| {
            sources.contains(&binding.source) && !binding.destination.starts_with(&hints)
        })
        .map(|binding| Binding {
            source: binding.source.clone(),
            destination: binding.destination.clone(),
            key: binding.routing_key.clone(),
        })
        .collect();
    let missing = expected.difference(&found).cloned().map(|binding| Difference::MissingBinding {
        source: binding.source,
        key: binding.key,
        destination: binding.destination,
    });
    let unexpected =
        found.difference(&expected).cloned().map(|binding| Difference::UnexpectedBinding {
            source: binding.source,
            key: binding.key,
            destination: binding.destination,
        });
    missing.chain(unexpected).collect()
}

fn policies(topology: &Topology, found: &Found) -> Vec<Difference> {
    let expected = topology.policies().into_iter();
    expected
        .filter_map(|policy| {
            let name = policy.name;
            let Some(found) = found.policies.iter().find(|found| found.name == name) else {
                return Some(Difference::MissingPolicy { name });
            };
            let definition = Value::Object(found.definition.clone());
            let right = found.pattern == policy.pattern
                && found.apply_to == "queues"
                && definition == json!(policy.definition);
            let found = format!("{definition} on {} {}", found.apply_to, found.pattern);
            (!right).then_some(Difference::WrongPolicy { name, found })
        })
        .collect()
}
