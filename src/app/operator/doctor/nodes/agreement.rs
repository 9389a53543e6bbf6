//! Comparison of one block between the nodes of a network.

use std::collections::BTreeMap;

use super::{Finding, Health, LOOK_LIMIT, Looked};
use crate::{
    chain::{BlockRef, ChainSource, Source},
    config::ChainSettings,
};

/// Compares the newest block that all nodes have and whose confirmations suffice for a deposit; no
/// finding with fewer than two nodes that answered.
pub(super) async fn look_at(settings: &ChainSettings, nodes: &[Looked]) -> Option<Finding> {
    let reached: Vec<(usize, &Source, &BlockRef)> = nodes
        .iter()
        .filter_map(|node| Some((node.place, node.source.as_ref()?, node.head.as_ref()?)))
        .collect();
    if reached.len() < 2 {
        return None;
    }
    let network = settings.network;
    let lowest = reached.iter().map(|(.., head)| head.height).min()?;
    let highest = reached.iter().map(|(.., head)| head.height).max()?;
    let height = lowest.saturating_sub(settings.confirmations - 1);
    let asking = reached.iter().map(|(place, source, _)| async move {
        let told = tokio::time::timeout(LOOK_LIMIT, source.header(height)).await;
        (*place, told.ok().and_then(Result::ok).flatten())
    });
    let told = futures_util::future::join_all(asking).await;
    let mut by_hash: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut silent = Vec::new();
    for (place, header) in told {
        match header {
            Some(header) => by_hash.entry(header.hash).or_default().push(place),
            None => silent.push(place),
        }
    }
    let apart = highest - lowest;
    let (health, detail, advice) = match by_hash.len() {
        0 | 1 if silent.is_empty() => (
            Health::Ok,
            format!(
                "{} nodes have the same block {height}; their heads are {apart} blocks apart",
                reached.len()
            ),
            "",
        ),
        0 | 1 => (
            Health::Doubtful,
            format!("{} did not show block {height}", named(&silent)),
            "run it again in a minute: a block may have been skipped or replaced",
        ),
        _ => {
            let sides: Vec<_> = by_hash
                .iter()
                .map(|(hash, places)| format!("{} says {hash}", named(places)))
                .collect();
            (
                Health::Broken,
                format!("they have different blocks {height}: {}", sides.join("; ")),
                "one of them is on another branch or lies: nothing is credited while they differ. Ask a third \
                 node or an explorer for the hash, and replace the node that is wrong",
            )
        }
    };
    Some(
        Finding::new(format!("agreement on {network}"), health, detail)
            .fact("network", network.name())
            .fact("height", height)
            .fact("heads_apart", apart)
            .advice(advice),
    )
}

fn named(places: &[usize]) -> String {
    let places: Vec<_> = places.iter().map(|place| format!("node {place}")).collect();
    places.join(", ")
}
