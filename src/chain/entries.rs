//! Entries of a node's lists, read one by one.
//!
//! One unreadable transaction must neither stall its block nor hide its neighbours. It is skipped
//! with a warning that names its position, and counted: it may be a payment, and its block is never
//! read again.

use serde_json::value::RawValue;
use tracing::warn;

use crate::asset::Network;

/// Position of entries, for the warning about one that cannot be read.
pub(super) struct Place<'a> {
    pub network: Network,
    pub height: u64,
    pub block_hash: &'a str,
    /// Kind of the entry: `transaction`, `receipt`, …
    pub kind: &'static str,
}

/// Counts an entry of a block that cannot be read and is left out. Mempool entries are not counted,
/// because they are read again.
pub(super) fn count_unreadable(network: Network) {
    metrics::counter!("chain_unreadable_total", "network" => network.name()).increment(1);
}

impl Place<'_> {
    /// Each entry at its place in the list; `None` where it cannot be read.
    pub fn each<'r, T>(
        &self,
        raw: &[&'r RawValue],
        read: impl Fn(&'r RawValue) -> Result<T, String>,
    ) -> Vec<Option<T>> {
        let numbered = raw.iter().enumerate();
        numbered.map(|(position, entry)| self.one(position, || read(entry))).collect()
    }

    /// One entry, or `None` and a warning that names its position.
    pub fn one<T>(&self, position: usize, read: impl FnOnce() -> Result<T, String>) -> Option<T> {
        let Self { network, height, block_hash, kind } = self;
        match read() {
            Ok(value) => Some(value),
            Err(reason) => {
                count_unreadable(*network);
                warn!(
                    %network, height, block.hash = block_hash, position, reason,
                    "{kind} {position} of block {height} of {network} ({block_hash}) cannot be read and is left out: {reason}"
                );
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    #[test]
    fn an_unreadable_entry_is_skipped_alone_and_counted() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let place = Place { network: Network::Ton, height: 7, block_hash: "ab", kind: "number" };
        let raw: Vec<&RawValue> =
            ["1", "\"x\"", "3"].iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        let read = |raw: &RawValue| raw.get().parse::<u8>().map_err(|error| error.to_string());
        let entries = metrics::with_local_recorder(&recorder, || place.each(&raw, read));
        assert_eq!(entries, [Some(1), None, Some(3)]);
        let page = recorder.handle().render();
        assert!(page.contains("chain_unreadable_total{network=\"ton\"} 1"), "{page}");
    }
}
