//! Hashing of passwords, and of tills' PINs, bounded: each takes 19 MiB and a core for a moment.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use tokio::sync::Semaphore;

use super::SignInError;
use crate::account::{bearer::Bearer, password::Password};

/// The time that a sign-in waits for its turn.
const TURN_LIMIT: Duration = Duration::from_secs(5);

/// One hash per core at a time.
static TURNS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Arc::new(Semaphore::new(cores))
});

/// A hash that belongs to no account: an unknown one costs the same time as a known one.
static NOBODYS: LazyLock<String> = LazyLock::new(|| {
    Password::new(Bearer::generate().reveal().to_owned()).hash().unwrap_or_default()
});

/// Compares a password with a stored hash; without one it works as long and answers false.
pub(in crate::app) async fn is_right(
    password: Password,
    hash: Option<String>,
) -> Result<bool, SignInError> {
    in_turn(move || {
        let nobodys = NOBODYS.as_str();
        let right = password.is_hashed_as(hash.as_deref().unwrap_or(nobodys));
        right && hash.is_some()
    })
    .await
}

/// The hash of a new password, which the policy has accepted.
pub(in crate::app) async fn hash(password: Password) -> Result<String, SignInError> {
    in_turn(move || password.hash()).await?.ok_or(SignInError::Busy)
}

/// Runs `work` beside the async threads, in its turn. A caller who gives up leaves no second hash
/// running.
async fn in_turn<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SignInError> {
    let turn = tokio::time::timeout(TURN_LIMIT, TURNS.clone().acquire_owned()).await;
    let Ok(Ok(turn)) = turn else { return Err(SignInError::Busy) };
    let done = tokio::task::spawn_blocking(move || {
        let done = work();
        drop(turn);
        done
    });
    done.await.map_err(|_| SignInError::Busy)
}
