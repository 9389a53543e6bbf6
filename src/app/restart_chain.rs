//! Getting a watcher on again that stands on a branch which nobody else is on any more.

use super::{
    Gateway,
    follow_chain::{
        follower_of,
        restart::{RestartError, Restarted},
    },
};
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
    /// Lets a network's watcher go on from the node's block at `height`; without `sure`, who wants it and why, it only says
    /// what that would come to.
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
