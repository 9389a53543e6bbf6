//! Group commit: pieces that arrive while a batch is in progress form the next batch.
//!
//! Without load a batch is one piece and waits for nothing; under load the pieces of many messages
//! share their round trips and their commit. Each message is still acknowledged after the commit
//! that holds its outcome.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot};

use crate::contain::words;

/// Pieces queued for the next batch.
const WAITING_MAX: usize = 1_000;
/// An unresponsive database must not block the batcher for ever.
const BATCH_LIMIT: Duration = Duration::from_secs(15);

/// Does the work of many callers at a time.
pub struct Batcher<P, O> {
    pieces: mpsc::Sender<(P, oneshot::Sender<O>)>,
}

impl<P: Clone + Send + 'static, O: Send + 'static> Batcher<P, O> {
    /// `work` gets up to `batch_max` pieces and returns an outcome for each, or `None` for those it
    /// could not do together with the others. It runs in a task that ends with the batcher.
    pub fn start<W, F, E>(batch_max: usize, work: W) -> Self
    where
        W: Fn(Vec<P>) -> F + Send + 'static,
        F: Future<Output = Result<Vec<Option<O>>, E>> + Send,
        E: std::fmt::Display + Send,
    {
        let (sender, mut receiver) = mpsc::channel::<(P, oneshot::Sender<O>)>(WAITING_MAX);
        tokio::spawn(async move {
            let mut batch = Vec::new();
            while receiver.recv_many(&mut batch, batch_max).await > 0 {
                let pieces = batch.iter().map(|(piece, _)| piece.clone()).collect();
                // A panic must not end this task: every later piece would be done alone, and
                // nothing would show why.
                let done = AssertUnwindSafe(work(pieces)).catch_unwind();
                match tokio::time::timeout(BATCH_LIMIT, done).await {
                    Ok(Ok(Ok(outcomes))) => {
                        for ((_, caller), outcome) in batch.drain(..).zip(outcomes) {
                            // A caller that went away has hit its own timeout.
                            let _ = outcome.map(|outcome| caller.send(outcome));
                        }
                    }
                    Ok(Ok(Err(error))) => {
                        tracing::debug!(%error, size = batch.len(), "a failed batch is done one by one");
                    }
                    Ok(Err(panic)) => {
                        let reason = words(&*panic);
                        tracing::error!(reason, size = batch.len(), "a batch panicked");
                    }
                    Err(_) => tracing::debug!(size = batch.len(), "a batch took too long"),
                }
                batch.clear();
            }
        });
        Self { pieces: sender }
    }

    /// Returns the outcome of `piece` in a batch. `None` if it has none: then the caller processes
    /// it alone, and learns why it fails. So one bad row costs a batch, and no more.
    pub async fn outcome(&self, piece: P) -> Option<O> {
        let (caller, outcome) = oneshot::channel();
        self.pieces.send((piece, caller)).await.ok()?;
        outcome.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::{Arc, Mutex},
    };

    use super::*;

    #[tokio::test]
    async fn waiting_calls_share_a_batch_and_each_gets_its_own_result() {
        let sizes = Arc::new(Mutex::new(Vec::new()));
        let seen = sizes.clone();
        let batcher = Arc::new(Batcher::start(100, move |pieces: Vec<u32>| {
            seen.lock().unwrap().push(pieces.len());
            async move {
                tokio::time::sleep(Duration::from_millis(50)).await;
                let even = |piece: u32| piece.is_multiple_of(2).then_some(piece * 10);
                Ok::<_, Infallible>(pieces.into_iter().map(even).collect())
            }
        }));
        let calls = (0..40_u32).map(|piece| {
            let batcher = batcher.clone();
            tokio::spawn(async move { (piece, batcher.outcome(piece).await) })
        });
        for call in calls.collect::<Vec<_>>() {
            let (piece, outcome) = call.await.unwrap();
            assert_eq!(outcome, piece.is_multiple_of(2).then_some(piece * 10), "{piece}");
        }
        let sizes = sizes.lock().unwrap();
        assert_eq!(sizes.iter().sum::<usize>(), 40);
        assert!(sizes.len() <= 3, "batches of {sizes:?}");
    }

    #[tokio::test]
    async fn a_panicking_batch_returns_its_work_to_the_callers_and_the_next_batch_is_done() {
        let batcher = Batcher::start(1, |pieces: Vec<u32>| async move {
            assert!(pieces[0] > 1, "one is too small");
            Ok::<_, Infallible>(vec![Some(pieces[0])])
        });
        assert_eq!(batcher.outcome(1).await, None);
        assert_eq!(batcher.outcome(2).await, Some(2));
    }

    #[tokio::test]
    async fn a_failed_batch_returns_each_piece_of_work_to_its_caller() {
        let batcher =
            Batcher::start(10, |_: Vec<u32>| async { Err::<Vec<Option<()>>, _>("no database") });
        assert_eq!(batcher.outcome(1).await, None);
        assert_eq!(batcher.outcome(2).await, None);
    }
}
