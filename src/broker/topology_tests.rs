//! The topology is complete and consistent for every family in it.

use std::collections::BTreeSet;

use super::*;

fn topology() -> Topology {
    Topology::new("gw", Timing::default()).unwrap()
}

/// The queues that a message published to `exchange` with `key` reaches.
fn reached(topology: &Topology, exchange: &str, key: &str) -> BTreeSet<String> {
    let matches = |bound: &str| match bound.strip_suffix(".#") {
        Some(stem) => key == stem || key.starts_with(&format!("{stem}.")),
        None => key == bound,
    };
    topology
        .bindings()
        .into_iter()
        .filter(|binding| binding.source == exchange && matches(&binding.key))
        .map(|binding| binding.destination)
        .collect()
}

fn text_argument(queue: &Queue, name: &str) -> Option<String> {
    match queue.arguments.get(name)? {
        Argument::Text(value) => Some(value.clone()),
        Argument::Number(value) => panic!("{name} is {value}"),
    }
}

#[test]
fn every_mandatory_message_reaches_exactly_one_queue() {
    let topology = topology();
    for route in Route::ALL {
        let address = topology.address(route);
        let queues = reached(&topology, &address.exchange, &address.key);
        assert_eq!(queues.len(), usize::from(address.mandatory), "{route} reaches {queues:?}");
    }
}

#[test]
fn every_queue_has_a_consumer_or_dead_letters_to_one_that_has() {
    let topology = topology();
    let work: BTreeSet<_> = WorkQueue::ALL.map(|queue| topology.work_queue(queue)).into();
    let dead: BTreeSet<_> =
        DeadLetterQueue::ALL.map(|queue| topology.dead_letter_queue(queue)).into();
    for queue in topology.queues() {
        let name = &queue.name;
        let Some(exchange) = text_argument(&queue, "x-dead-letter-exchange") else {
            assert!(dead.contains(name), "{name} leads nowhere and nobody looks at it");
            continue;
        };
        let key = text_argument(&queue, "x-dead-letter-routing-key").unwrap();
        let next = reached(&topology, &exchange, &key);
        let goal = if work.contains(name) { &dead } else { &work };
        assert!(
            next.len() == 1 && next.is_subset(goal),
            "{name} sends {key} to {exchange}, which reaches {next:?}"
        );
    }
}

#[test]
fn every_binding_joins_things_that_exist() {
    let topology = topology();
    let exchanges: BTreeSet<_> = topology.exchanges().into_iter().map(|e| e.name).collect();
    let queues: BTreeSet<_> = topology.queues().into_iter().map(|q| q.name).collect();
    for binding in topology.bindings() {
        assert!(exchanges.contains(&binding.source), "{binding:?}");
        assert!(queues.contains(&binding.destination), "{binding:?}");
    }
}

#[test]
fn the_topology_uses_only_arguments_that_all_supported_versions_understand() {
    for queue in topology().queues() {
        let arguments = &queue.arguments;
        assert_eq!(arguments["x-queue-type"], text("quorum"), "{}", queue.name);
        // From 4.0 on a queue without a limit gets one of 20. A wait queue has no consumer, so no
        // delivery is counted there.
        let limited = arguments.contains_key("x-delivery-limit");
        assert_eq!(limited, !arguments.contains_key("x-message-ttl"), "{}", queue.name);
        for forbidden in ["x-max-priority", "x-delayed-retry-type", "x-queue-mode"] {
            assert!(!arguments.contains_key(forbidden), "{}: {forbidden}", queue.name);
        }
        let dead_letters = arguments.contains_key("x-dead-letter-exchange");
        let keeps = arguments.get("x-dead-letter-strategy") == Some(&text("at-least-once"))
            && arguments.get("x-overflow") == Some(&text("reject-publish"));
        assert_eq!(dead_letters, keeps, "{}", queue.name);
    }
}

#[test]
fn the_delay_is_part_of_the_names_that_depend_on_it() {
    let short = Timing { ipn_wait_ms: 250, ..Timing::default() };
    let topology = Topology::new("t-1", short).unwrap();
    assert_eq!(topology.wait_queue(WaitQueue::Ipn), "t-1.ipn.wait.250ms");
    assert_eq!(topology.address(Route::IpnWait).key, "ipn.250ms");
}

#[test]
fn a_prefix_that_could_change_a_pattern_is_refused() {
    for prefix in ["", "g.w", "gw*", "gw/x", "gw ", "ключ", &"g".repeat(41)] {
        assert!(Topology::new(prefix, Timing::default()).is_err(), "{prefix:?}");
    }
}

#[test]
fn the_readme_tells_the_rights_and_the_moves_of_the_table() {
    let readme = include_str!("../../rabbitmq/README.md");
    let topology = topology();
    let mut rows: Vec<_> = DeadLetterQueue::ALL
        .map(|dead| {
            let to = topology.work_queue(dead.work_queue());
            format!("| `{}` | `{to}` |", topology.dead_letter_queue(dead))
        })
        .into();
    for role in [Role::Application, Role::Operator, Role::Topology] {
        let User { name, tags, rights, .. } = topology.user(role);
        let tags: Vec<_> = tags.iter().map(|tag| format!("`{tag}`")).collect();
        let tags = if tags.is_empty() { "none".into() } else { tags.join(", ") };
        let Rights { configure, write, read } = rights;
        rows.push(format!("| `{name}` | {tags} | `{configure}` | `{write}` | `{read}` |"));
    }
    for row in rows {
        assert!(readme.contains(&row), "missing: {row}");
    }
}
