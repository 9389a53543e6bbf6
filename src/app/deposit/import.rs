//! Importing deposits that an explanation reports as missed.

use super::{
    explain::{ExplainError, Place, TransactionStory, Verdict},
    follow_chain::{FollowError, follower_of, import::ImportError},
};
use crate::app::Gateway;
use crate::asset::Network;

const TRIES: u32 = 10;

#[derive(Debug, thiserror::Error)]
pub enum ImportDepositError {
    #[error(transparent)]
    Explain(#[from] ExplainError),
    #[error(transparent)]
    Import(#[from] ImportError),
}

/// Result of an import.
#[derive(Debug, Clone)]
pub struct ImportedDeposit {
    /// The transaction as it was before.
    pub story: TransactionStory,
    pub missed: Vec<String>,
    /// Number of written rows; zero in a dry run.
    pub written: u32,
}

impl Gateway {
    /// Writes the missed deposits of a transaction as the watcher would. Without `sure`, a dry run
    /// that only lists them.
    ///
    /// Idempotent: the second time they are no longer missed, and their keys are unique.
    pub async fn import_deposit(
        &self,
        network: Network,
        tx_hash: &str,
        height: Option<u64>,
        sure: Option<&str>,
    ) -> Result<ImportedDeposit, ImportDepositError> {
        let story = self.explain_transaction(network, tx_hash, height).await?;
        let missed = story.transfers.iter().filter(|told| told.verdict == Verdict::Missed);
        let missed: Vec<_> = missed.map(|told| told.key.clone()).collect();
        let mut written = 0;
        if let (Some(by), Place::Mined { height, .. }, false) =
            (sure, story.place, missed.is_empty())
        {
            let settings = self.config.chain(network);
            let follower = follower_of(self, settings).map_err(ExplainError::from)?;
            let mut follower = follower.ok_or(ExplainError::Off(network))?;
            let mut tries = 1..TRIES;
            written = loop {
                match follower.import(self, height, &missed, by).await {
                    // A new block arrived in between, as happens all the time.
                    Err(ImportError::Follow(FollowError::CursorMoved))
                        if tries.next().is_some() => {}
                    done => break done?,
                }
            };
        }
        Ok(ImportedDeposit { story, missed, written })
    }
}
