//! Proof of the chain that a node serves, where its blocks do not name it.

use std::{
    future::Future,
    sync::atomic::{AtomicU32, Ordering},
};

use super::ChainError;

/// Number of looks at the chain tip between two proofs. Behind a load balancer another node may
/// have taken over meanwhile.
const LOOKS: u32 = 100;

/// Remembers that a node has shown the first block of the right chain.
#[derive(Default)]
pub(super) struct Pinned {
    /// Number of looks left without a proof.
    looks_left: AtomicU32,
}

impl Pinned {
    /// Runs `prove` at the first look and from time to time; a failed proof is repeated at the next
    /// look.
    pub async fn check<F: Future<Output = Result<(), ChainError>>>(
        &self,
        prove: impl FnOnce() -> F,
    ) -> Result<(), ChainError> {
        let left = self.looks_left.load(Ordering::Relaxed);
        if left > 0 {
            self.looks_left.store(left - 1, Ordering::Relaxed);
            return Ok(());
        }
        prove().await?;
        self.looks_left.store(LOOKS, Ordering::Relaxed);
        Ok(())
    }
}
