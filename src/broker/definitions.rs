//! The topology as the broker's own import file, for brokers that are configured by import.
//!
//! Users are left out on purpose: an import that names a user without a password clears the
//! password that user has, on every supported version, so a file that is loaded at each start would
//! lock the gateway out. Rights need their user, so they are applied with it
//! ([`super::management::Management::ensure_user`]).

use std::collections::BTreeMap;

use serde::Serialize;

use super::topology::{Argument, Topology};

type Arguments = BTreeMap<&'static str, Argument>;

#[derive(Serialize)]
struct Vhost<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct Exchange<'a> {
    name: &'a str,
    vhost: &'a str,
    r#type: &'static str,
    durable: bool,
    auto_delete: bool,
    internal: bool,
    arguments: Arguments,
}

#[derive(Serialize)]
struct Queue<'a> {
    name: &'a str,
    vhost: &'a str,
    durable: bool,
    auto_delete: bool,
    arguments: &'a Arguments,
}

#[derive(Serialize)]
struct Binding<'a> {
    source: &'a str,
    vhost: &'a str,
    destination: &'a str,
    destination_type: &'static str,
    routing_key: &'a str,
    arguments: Arguments,
}

#[derive(Serialize)]
struct Policy<'a> {
    name: &'a str,
    vhost: &'a str,
    pattern: &'a str,
    #[serde(rename = "apply-to")]
    apply_to: &'static str,
    priority: u8,
    definition: &'a Arguments,
}

/// Renders the definitions of one virtual host in the format of the committed file: one line per
/// entry.
pub fn render(topology: &Topology, vhost: &str) -> String {
    let sections = [
        section("vhosts", &[vhost], |name| Vhost { name }),
        section("exchanges", &topology.exchanges(), |exchange| Exchange {
            name: &exchange.name,
            vhost,
            r#type: exchange.broker_type,
            durable: true,
            auto_delete: false,
            internal: false,
            arguments: Arguments::new(),
        }),
        section("queues", &topology.queues(), |queue| Queue {
            name: &queue.name,
            vhost,
            durable: true,
            auto_delete: false,
            arguments: &queue.arguments,
        }),
        section("bindings", &topology.bindings(), |binding| Binding {
            source: &binding.source,
            vhost,
            destination: &binding.destination,
            destination_type: "queue",
            routing_key: &binding.key,
            arguments: Arguments::new(),
        }),
        section("policies", &topology.policies(), |policy| Policy {
            name: &policy.name,
            vhost,
            pattern: &policy.pattern,
            apply_to: "queues",
            priority: 0,
            definition: &policy.definition,
        }),
    ];
    format!("{{\n{}\n}}\n", sections.join(",\n"))
}

fn section<'a, T, S: Serialize>(name: &str, things: &'a [T], entry: impl Fn(&'a T) -> S) -> String {
    let lines: Vec<_> = things
        .iter()
        .map(|thing| {
            let line = serde_json::to_string(&entry(thing));
            format!("    {}", line.expect("texts, numbers and flags are JSON"))
        })
        .collect();
    format!("  \"{name}\": [\n{}\n  ]", lines.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::topology::Timing;

    /// `UPDATE_EXPECT=1 cargo test -p gateway --lib broker::definitions` writes the file anew.
    #[test]
    fn the_committed_definitions_are_the_table() {
        let topology = Topology::new("gw", Timing::default()).unwrap();
        expect_test::expect_file!["../../rabbitmq/definitions.json"]
            .assert_eq(&render(&topology, "gw"));
    }
}
