//! Entries of a node's lists, read one by one.
//!
//! One odd transaction must neither stall its block nor take its neighbours along; it is put aside with a warning.

use serde_json::value::RawValue;
use tracing::warn;

use crate::asset::Network;

/// Where entries stand, for the warning about one that cannot be read.
pub(super) struct Place<'a> {
    pub network: Network,
    pub block_hash: &'a str,
    /// What an entry is: `transaction`, `receipt`, …
    pub kind: &'static str,
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
        let Self { network, block_hash, kind } = self;
        match read() {
            Ok(value) => Some(value),
            Err(reason) => {
                warn!(
                    %network, block.hash = block_hash, position, reason,
                    "{kind} {position} of block {block_hash} of {network} cannot be read and is left out: {reason}"
                );
                None
            }
        }
    }
}
