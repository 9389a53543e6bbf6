//! The tasks of a process: they end together, and never one alone in silence.

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::app::operator::master_key::MasterKeyError;

/// The reasons why a process ends without an order to stop. Its exit code is then not 0, so that
/// its supervisor starts it again.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// A bug: the work that a panicked task has left undone is unknown, and a fresh process begins
    /// from the rows.
    #[error("a part of the process panicked: {0}")]
    Panicked(String),
    #[error(transparent)]
    MasterKey(#[from] MasterKeyError),
}

/// The tasks of a process beside its `main`.
pub struct Tasks {
    running: JoinSet<Result<(), TaskError>>,
    stop: CancellationToken,
}

impl Tasks {
    pub fn new(stop: CancellationToken) -> Self {
        Self { running: JoinSet::new(), stop }
    }

    pub fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.running.spawn(async move {
            task.await;
            Ok(())
        });
    }

    /// The same for a task whose failure ends the process.
    pub fn spawn_vital(
        &mut self,
        task: impl Future<Output = Result<(), TaskError>> + Send + 'static,
    ) {
        self.running.spawn(task);
    }

    /// Waits until all have ended. One that panics or fails stops the others, as a signal would;
    /// the first failure is returned.
    pub async fn ended(mut self) -> Result<(), TaskError> {
        let mut outcome = Ok(());
        while let Some(ended) = self.running.join_next().await {
            let ended = ended.unwrap_or_else(|error| Err(TaskError::Panicked(error.to_string())));
            if let Err(error) = &ended {
                tracing::error!(%error, "the process ends");
                self.stop.cancel();
            }
            outcome = outcome.and(ended);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panicking_task_stops_the_others_and_is_reported() {
        let stop = CancellationToken::new();
        let mut tasks = Tasks::new(stop.clone());
        let stopped = stop.clone();
        tasks.spawn(async move { stopped.cancelled().await });
        tasks.spawn(async {});
        tasks.spawn(async { panic!("a number is too large") });
        let error = tasks.ended().await.unwrap_err().to_string();
        assert!(error.contains("a number is too large"), "{error}");
        assert!(stop.is_cancelled());
    }
}
