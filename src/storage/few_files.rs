//! Connections of a process that may open no more files.

use std::{
    io,
    time::{Duration, Instant},
};

use rustix::io::Errno;

use super::{ACQUIRE_TIMEOUT, StorageError};

const PAUSE: Duration = Duration::from_millis(20);

/// Asks again while no file is left for one more connection: one of those that are open becomes
/// free, and the pool, which gives up at that error, would not wait for it.
pub(super) async fn wait_for_an_open_one<T, F>(ask: impl Fn() -> F) -> Result<T, StorageError>
where
    F: Future<Output = Result<T, StorageError>>,
{
    let started = Instant::now();
    loop {
        match ask().await {
            Err(StorageError::Database(sqlx::Error::Io(error)))
                if lacks_files(&error) && started.elapsed() < ACQUIRE_TIMEOUT =>
            {
                tokio::time::sleep(PAUSE).await;
            }
            asked => return asked,
        }
    }
}

fn lacks_files(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    async fn tries(errors: &[Errno]) -> (Result<(), StorageError>, u32) {
        let asked = AtomicU32::new(0);
        let answer = wait_for_an_open_one(async || {
            let at = asked.fetch_add(1, Ordering::Relaxed) as usize;
            errors.get(at).map_or(Ok(()), |errno| {
                Err(StorageError::Database(sqlx::Error::Io(io::Error::from(*errno))))
            })
        });
        (answer.await, asked.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn only_a_shortage_of_files_is_waited_for() {
        let (answer, asked) = tries(&[Errno::MFILE, Errno::NFILE]).await;
        assert!(answer.is_ok() && asked == 3, "{answer:?} after {asked}");
        let (answer, asked) = tries(&[Errno::CONNREFUSED]).await;
        assert!(answer.is_err() && asked == 1, "{answer:?} after {asked}");
    }
}
