//! The end of a payment, checked against the block that it stands in.
//!
//! A receipt comes alone, and nothing in it shows that it is whole: a node that drops logs, or
//! reports that a transaction failed, would have a paid row failed and its amount sent back. So
//! before a payment has ended, all receipts of its block are read and checked against the block's
//! header, as those of a block of deposits are, and must show the same of it.

use std::collections::BTreeMap;

use tracing::warn;

use super::{EvmPayer, Standing, Wanted, erc20::Log, receipts::verdict};
use crate::{
    chain::{ChainError, evm::Proof},
    payout::batch::Seen,
};

/// Blocks that are read whole in one look. Payments in further blocks are final in the next one,
/// when these have ended.
const BLOCKS_MAX: usize = 16;

impl EvmPayer {
    /// Lets only that be final which the whole block confirms too; the rest stays one block below
    /// that and is asked for again.
    pub(super) async fn prove(
        &self,
        payments: &[&Wanted],
        standings: &mut [Option<Standing>],
        required: u64,
    ) -> Result<(), ChainError> {
        let mut proofs: BTreeMap<u64, Option<Proof>> = BTreeMap::new();
        for (payment, standing) in payments.iter().zip(standings) {
            let Some(standing) = standing.as_mut().filter(|one| one.seen.is_final(required)) else {
                continue;
            };
            let Some(mined) = &standing.mined else { continue };
            if !proofs.contains_key(&mined.height) && proofs.len() < BLOCKS_MAX {
                proofs.insert(mined.height, self.proof(mined.height).await?);
            }
            let Some(proof) = proofs.get(&mined.height) else {
                standing.seen = standing.seen.not_yet_final(required);
                continue;
            };
            let is_proven = proof.as_ref().is_some_and(|proof| tells(proof, payment, standing));
            if !is_proven {
                let network = self.rpc.network();
                let (height, tx_hash) = (mined.height, &mined.hash);
                warn!(%network, height, tx.hash = tx_hash, "a receipt contradicts its block");
                standing.seen = standing.seen.not_yet_final(required);
            }
        }
        Ok(())
    }

    /// `None` where the node shows no block that fits together: then it has proven nothing.
    async fn proof(&self, height: u64) -> Result<Option<Proof>, ChainError> {
        match self.source.proof(height).await {
            Err(
                error @ (ChainError::Refused { .. }
                | ChainError::Malformed { .. }
                | ChainError::Inconsistent { .. }),
            ) => {
                warn!(height, %error, "a block with our payments cannot be verified against its header");
                Ok(None)
            }
            proof => proof,
        }
    }
}

/// Returns true if a block shows the same of a payment as its receipt did.
fn tells(proof: &Proof, payment: &Wanted, told: &Standing) -> bool {
    let Some(receipt) = told.mined.as_ref().and_then(|mined| proof.receipts.get(&mined.hash))
    else {
        return false;
    };
    let (depth, says_succeeded) = match told.seen {
        Seen::Mined { depth, succeeded } => (depth, succeeded),
        Seen::Unexplained { depth, .. } => (depth, true),
        Seen::Nowhere | Seen::Waiting | Seen::Displaced => return false,
    };
    let succeeded = if proof.knows_status { receipt.succeeded } else { says_succeeded };
    // A log that cannot be read is none of the token's, so such a payment is not reported as made.
    let logs: Vec<_> = receipt
        .logs
        .iter()
        .flatten()
        .filter(|log| !log.is_removed)
        .map(|log| Log {
            address: &log.contract,
            topics: log.topics.iter().map(String::as_str).collect(),
            data: &log.data,
        })
        .collect();
    // The EVM keeps no log of a transaction that failed.
    let is_whole = succeeded || receipt.logs.is_empty();
    is_whole && verdict(payment, succeeded, &logs, depth) == told.seen
}
