//! One word about all nodes of a network.

use super::{ChainSettings, ChainSourceKind, Finding, Health, Looked};
use crate::asset::Network;

/// Nodes that must report the same, where there are several.
const NEEDED: usize = 2;

/// A network that needs nodes and has none.
pub(super) fn without_nodes(settings: &ChainSettings) -> Option<Finding> {
    let network = settings.network;
    let health = match settings.source {
        // The sandbox needs none.
        ChainSourceKind::Simulated => return None,
        ChainSourceKind::Node => Health::Broken,
        ChainSourceKind::Off => Health::Doubtful,
    };
    let advice = format!(
        "set chains.{network}.rpc_url, and witnesses beside it; docs/nodes.md says which node {network} needs"
    );
    Some(
        Finding::new(grade_of(network), health, "no node is configured, so it is not offered")
            .fact("network", network.name())
            .fact("grade", "unfit")
            .advice(advice),
    )
}

/// The grade by the findings about all nodes.
pub(super) fn of(settings: &ChainSettings, nodes: &[Looked], findings: &[Finding]) -> Finding {
    let network = settings.network;
    let usable = nodes.iter().filter(|node| node.is_usable()).count();
    let needed = NEEDED.min(nodes.len());
    let is_of_a_node = |finding: &Finding| {
        nodes.iter().any(|node| node.findings.iter().any(|own| own.check == finding.check))
    };
    let mut beside = findings.iter().filter(|finding| !is_of_a_node(finding));
    let is_split = beside.any(|finding| finding.health == Health::Broken);
    let mut todo: Vec<String> = findings
        .iter()
        .filter(|finding| finding.health != Health::Ok)
        .map(|finding| finding.check.clone())
        .collect();
    let counted = format!("{usable} of {} nodes can be used", nodes.len());
    let lone = nodes.len() == 1;
    if network == Network::Avalanche && lone {
        todo.push("a witness".to_owned());
    }
    let (health, grade, words) = if usable < needed {
        let detail = match (lone, usable) {
            (true, _) => format!("{network} stands still until it can"),
            (false, _) => format!("two must agree, so {network} stands still"),
        };
        (Health::Broken, "unfit", format!("not fit: {counted}, and {detail}"))
    } else if is_split {
        (Health::Broken, "unfit", format!("not fit: {counted}, but see {}", todo.join(", ")))
    } else if todo.is_empty() {
        let trust = match nodes.len() {
            1 => format!(
                "it is believed alone: a witness (chains.{network}.witnesses) would notice its lies"
            ),
            2 => {
                "both must agree: a fault of one stops the network, and a third would keep it going"
                    .to_owned()
            }
            _ => "two must agree, and one may fail".to_owned(),
        };
        (Health::Ok, "good", format!("good: {counted}; {trust}"))
    } else {
        (Health::Doubtful, "usable", format!("usable: {counted}; to do: {}", todo.join(", ")))
    };
    let advice = format!(
        "the lines above say what to do about {}; docs/nodes.md says what {network} needs",
        if todo.is_empty() { "its nodes".to_owned() } else { todo.join(", ") }
    );
    Finding::new(grade_of(network), health, words)
        .fact("network", network.name())
        .fact("grade", grade)
        .fact("nodes", nodes.len())
        .fact("usable", usable)
        .fact("todo", todo)
        .advice(advice)
}

fn grade_of(network: Network) -> String {
    format!("grade of {network}")
}
