//! What an EVM node tells beyond its blocks, for whoever decides whether to use it.

use serde_json::json;

use super::{EvmSource, decode};
use crate::chain::ChainError;

const NO_TRANSACTION: &str = "0x0000000000000000000000000000000000000000000000000000000000000000";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// The newest block that the network itself calls final; `None` where the node has no such word.
    pub finalized: Option<u64>,
    /// Whether it shows what contracts did within a transaction. Nothing depends on it: what they send shows in balances.
    pub traces: bool,
}

impl EvmSource {
    pub async fn abilities(&self) -> Result<Abilities, ChainError> {
        let finalized = match self.wire_block("finalized", false, decode::header).await {
            Ok(header) => header.map(|header| header.height),
            Err(ChainError::Refused { .. }) => None,
            Err(error) => return Err(error),
        };
        let traces =
            self.knows("debug_traceTransaction").await? || self.knows("trace_transaction").await?;
        Ok(Abilities { finalized, traces })
    }

    /// Whether the node has a method, whatever it says of a transaction that there is not.
    async fn knows(&self, method: &'static str) -> Result<bool, ChainError> {
        match self.rpc.call(method, json!([NO_TRANSACTION])).await {
            Err(refusal @ ChainError::Refused { .. }) => Ok(!refusal.lacks_method()),
            result => result.map(|_| true),
        }
    }
}
