//! Restarts a watcher that is on a branch that the network has abandoned.

use super::follow_chain::{
    follower_of,
    restart::{RestartError, Restarted},
};
use crate::app::Gateway;
use crate::{asset::Network, chain::UnusableSource};

#[derive(Debug, thiserror::Error)]
pub enum RestartChainError {
    #[error("{0} is not followed: its source is off")]
    Off(Network),
    #[error(transparent)]
    Unusable(#[from] UnusableSource),
    #[error(transparent)]
    Restart(#[from] RestartError),
}

impl Gateway {
    /// Continues a network's watcher from the node's block at `height`. `sure` is the operator and
    /// the reason; without it, a dry run that only reports the consequences.
    pub async fn restart_chain(
        &self,
        network: Network,
        height: u64,
        sure: Option<(&str, &str)>,
    ) -> Result<Restarted, RestartChainError> {
        let follower = follower_of(self, self.config.chain(network))?;
        let mut follower = follower.ok_or(RestartChainError::Off(network))?;
        Ok(follower.restart(self, height, sure).await?)
    }
}
