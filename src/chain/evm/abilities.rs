//! Capabilities of an EVM node beyond its blocks, for the decision to use it.

use serde_json::json;

use super::{decode, source::EvmSource};
use crate::chain::ChainError;

const NO_TRANSACTION: &str = "0x0000000000000000000000000000000000000000000000000000000000000000";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// The newest block that the network itself calls final; `None` if the node does not support
    /// the tag.
    pub finalized: Option<u64>,
    /// True if the node serves traces of the calls within a transaction. Nothing depends on it:
    /// internal transfers show in balances.
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

    /// Those of `methods` that the node does not have. Each is asked about a transaction that does
    /// not exist, which none of them can carry out.
    pub async fn lacking(&self, methods: &[&'static str]) -> Result<Vec<&'static str>, ChainError> {
        let mut lacking = Vec::new();
        for method in methods {
            if !self.knows(method).await? {
                lacking.push(*method);
            }
        }
        Ok(lacking)
    }

    /// True if the node has a method, whatever its response about a non-existent transaction.
    async fn knows(&self, method: &'static str) -> Result<bool, ChainError> {
        match self.rpc.call(method, json!([NO_TRANSACTION])).await {
            Err(refusal @ ChainError::Refused { .. }) => Ok(!refusal.lacks_method()),
            result => result.map(|_| true),
        }
    }
}
