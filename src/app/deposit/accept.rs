//! Accepting deposits that an explanation reports as returned.

use super::{
    explain::{ExplainError, Place, TransactionStory, Verdict},
    follow_chain::{FollowError, accept::AcceptError, follower_of, import::ImportError},
};
use crate::app::Gateway;
use crate::asset::Network;

const TRIES: u32 = 10;

#[derive(Debug, thiserror::Error)]
pub enum AcceptDepositError {
    #[error(transparent)]
    Explain(#[from] ExplainError),
    #[error(transparent)]
    Accept(#[from] AcceptError),
}

/// The returned deposits of a transaction, and the number of accepted ones.
#[derive(Debug, Clone)]
pub struct AcceptedDeposit {
    /// The transaction as it was before.
    pub story: TransactionStory,
    pub returned: Vec<String>,
    /// Number of accepted deposits; zero in a dry run.
    pub accepted: u32,
}

impl Gateway {
    /// Credits the returned deposits of a transaction again. `sure` is the operator and the reason;
    /// without it, a dry run that only lists them.
    ///
    /// Idempotent: the second time no reversed deposit is left under their keys.
    pub async fn accept_deposit(
        &self,
        network: Network,
        tx_hash: &str,
        height: Option<u64>,
        sure: Option<(&str, &str)>,
    ) -> Result<AcceptedDeposit, AcceptDepositError> {
        let story = self.explain_transaction(network, tx_hash, height).await?;
        let returned = story.transfers.iter().filter(|told| told.verdict == Verdict::Returned);
        let returned: Vec<_> = returned.map(|told| told.key.clone()).collect();
        let mut accepted = 0;
        if let (Some(sure), Place::Mined { height, .. }, false) =
            (sure, story.place, returned.is_empty())
        {
            let settings = self.config.chain(network);
            let follower = follower_of(self, settings).map_err(ExplainError::from)?;
            let mut follower = follower.ok_or(ExplainError::Off(network))?;
            let mut tries = 1..TRIES;
            accepted = loop {
                match follower.accept(self, height, &returned, sure).await {
                    // A new block arrived in between, as happens all the time.
                    Err(AcceptError::Read(ImportError::Follow(FollowError::CursorMoved)))
                        if tries.next().is_some() => {}
                    done => break done?,
                }
            };
        }
        Ok(AcceptedDeposit { story, returned, accepted })
    }
}
