//! The methods that a watcher asks, by the calls that were just made.

use serde_json::{Value, json};

use super::{Finding, Health, millis};
use crate::{
    asset::Network,
    chain::{
        calls::{Outcome, Seen},
        needs::{Level, Need, needs},
    },
};

/// A node's answer to one method.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// The longest wait for an answer, in milliseconds.
    Answers {
        ms: u64,
    },
    /// The node does not know it.
    Lacks,
    Fails {
        reason: String,
    },
    NotTried,
}

impl State {
    fn of(method: &str, seen: &[Seen]) -> Self {
        let mut calls = seen.iter().filter(|call| call.method == method).peekable();
        if calls.peek().is_none() {
            return Self::NotTried;
        }
        let calls: Vec<_> = calls.collect();
        let answered = calls.iter().filter(|call| call.outcome == Outcome::Answered);
        if let Some(ms) = answered.map(|call| millis(call.took)).max() {
            return Self::Answers { ms };
        }
        if calls.iter().any(|call| call.is_unknown) {
            return Self::Lacks;
        }
        let reason = calls.iter().find_map(|call| call.reason.clone()).unwrap_or_default();
        Self::Fails { reason }
    }

    const fn word(&self) -> &'static str {
        match self {
            Self::Answers { .. } => "answers",
            Self::Lacks => "lacks",
            Self::Fails { .. } => "fails",
            Self::NotTried => "not_tried",
        }
    }
}

pub(super) fn finding((place, network): (usize, Network), seen: &[Seen]) -> Finding {
    let states: Vec<(Need, State)> =
        needs(network).iter().map(|need| (*need, State::of(need.method, seen))).collect();
    let is_asked = |need: &Need| matches!(need.level, Level::Required | Level::Wanted);
    let asked: Vec<_> = states.iter().filter(|(need, _)| is_asked(need)).collect();
    let answered: Vec<_> = asked
        .iter()
        .filter_map(|(need, state)| match state {
            State::Answers { ms } => Some((*ms, need.method)),
            State::Lacks | State::Fails { .. } | State::NotTried => None,
        })
        .collect();
    let slowest = answered
        .iter()
        .max()
        .map_or_else(String::new, |(ms, method)| format!("; the slowest, {method}, took {ms} ms"));
    let mut detail =
        format!("answers {} of {} that are asked{slowest}", answered.len(), asked.len());
    let (mut health, mut advice) = (Health::Ok, Vec::new());
    for (need, state) in &asked {
        let words = match state {
            State::Answers { .. } => continue,
            State::NotTried => {
                detail.push_str(&format!("; not tried: {}", need.method));
                continue;
            }
            State::Lacks => format!("; it does not have {}", need.method),
            State::Fails { reason } => format!("; {} fails: {reason}", need.method),
        };
        detail.push_str(&words);
        if need.level == Level::Required {
            health = Health::Broken;
            advice.push(format!(
                "{} ({}): the network cannot be followed without it; choose another node",
                need.method, need.purpose
            ));
        } else {
            if health == Health::Ok {
                health = Health::Doubtful;
            }
            advice.push(format!("{} ({}): {}", need.method, need.purpose, need.without));
        }
    }
    let methods: Vec<_> = states.iter().map(|(need, state)| to_json(need, state)).collect();
    Finding::new(format!("methods of node {place} of {network}"), health, detail)
        .fact("network", network.name())
        .fact("node", place)
        .fact("methods", methods)
        .advice(advice.join("; "))
}

fn to_json(need: &Need, state: &State) -> Value {
    let level = match need.level {
        Level::Required => "required",
        Level::Wanted => "wanted",
        Level::Instead => "instead",
        Level::Lookup => "lookup",
    };
    let (ms, reason) = match state {
        State::Answers { ms } => (Some(*ms), None),
        State::Fails { reason } => (None, Some(reason.as_str())),
        State::Lacks | State::NotTried => (None, None),
    };
    json!({
        "method": need.method,
        "level": level,
        "purpose": need.purpose,
        "state": state.word(),
        "ms": ms,
        "reason": reason,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn seen(method: &'static str, outcome: Outcome, is_unknown: bool) -> Seen {
        let reason = (outcome != Outcome::Answered).then(|| "no".to_owned());
        Seen { method, outcome, took: Duration::from_millis(7), reason, is_unknown }
    }

    #[test]
    fn a_node_is_graded_by_the_methods_that_it_lacks() {
        let all = || {
            let asked = needs(Network::Polygon).iter();
            let asked = asked.filter(|need| matches!(need.level, Level::Required | Level::Wanted));
            asked.map(|need| seen(need.method, Outcome::Answered, false)).collect::<Vec<_>>()
        };
        let of = |calls: &[Seen]| {
            let found = finding((0, Network::Polygon), calls);
            (found.health, found.detail, found.advice.unwrap_or_default())
        };
        let (health, detail, advice) = of(&all());
        assert_eq!((health, advice.as_str()), (Health::Ok, ""));
        assert!(detail.starts_with("answers 5 of 5 that are asked; the slowest, "), "{detail}");

        let receipts = "eth_getBlockReceipts";
        let without = |method: &str, instead: Option<Seen>| {
            let others = all().into_iter().filter(|call| call.method != method);
            others.chain(instead).collect::<Vec<_>>()
        };
        let (health, detail, _) = of(&without(receipts, None));
        assert_eq!(health, Health::Ok, "an empty chain is no fault of its node");
        assert!(detail.ends_with("; not tried: eth_getBlockReceipts"), "{detail}");
        let lacks = seen(receipts, Outcome::Refused, true);
        let (health, detail, advice) = of(&without(receipts, Some(lacks)));
        assert_eq!(health, Health::Doubtful);
        assert!(detail.ends_with("; it does not have eth_getBlockReceipts"), "{detail}");
        assert!(advice.contains("choose a node that has it"), "{advice}");
        let fails = seen("eth_chainId", Outcome::Refused, false);
        let (health, detail, advice) = of(&without("eth_chainId", Some(fails)));
        assert_eq!(health, Health::Broken);
        assert!(detail.ends_with("; eth_chainId fails: no"), "{detail}");
        assert!(advice.contains("choose another node"), "{advice}");
    }
}
