//! Which chain a node serves, where its blocks do not say so.

use std::{
    future::Future,
    sync::atomic::{AtomicU32, Ordering},
};

use super::ChainError;

/// Looks at the head between two proofs. Behind a balancer another node may have taken over meanwhile.
const LOOKS: u32 = 100;

/// Remembers that a node has shown the first block of the right chain.
#[derive(Default)]
pub(super) struct Pinned {
    /// How many more looks need no proof.
    looks_left: AtomicU32,
}

impl Pinned {
    /// Runs `prove` at the first look and now and then; what fails is tried again at the next.
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
