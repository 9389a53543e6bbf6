//! Long work at the lowest priority, on threads of its own.
//!
//! The threads of the program's own runtime cannot be used: a priority that was lowered cannot be
//! raised again.

use std::{io, sync::LazyLock};

use rustix::process::setpriority_process;
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
};
use tokio_util::task::AbortOnDropHandle;

const LOWEST: i32 = 19;
/// For work that computes. What waits for a disk or for a client shares them.
const THREADS: usize = 3;
/// Threads that wait for files, each only while it reads or writes a piece.
const FILE_THREADS: usize = 8;

/// Starts `work` where it takes the processor from nobody who answers requests.
///
/// It must not open a connection of a pool: these threads would serve the connection from then on,
/// and a request that uses it later would wait for them.
pub(crate) fn spawn<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    match &*RUNTIME {
        Some(runtime) => runtime.spawn(work),
        None => tokio::spawn(work),
    }
}

/// Waits for such work, and ends it when the returned future is dropped.
pub(crate) async fn run<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> io::Result<T> {
    let worked = AbortOnDropHandle::new(spawn(work)).await;
    worked.map_err(|_| io::Error::other("the work ended early"))
}

/// From the first work to the end of the process. `None` if the system gives no threads: the work
/// is done all the same, at the priority of requests.
static RUNTIME: LazyLock<Option<Runtime>> = LazyLock::new(|| {
    let started = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .max_blocking_threads(FILE_THREADS)
        .thread_name("background")
        .on_thread_start(lower_priority)
        .enable_all()
        .build();
    started
        .inspect_err(|error| tracing::error!(%error, "no threads for work in the background"))
        .ok()
});

/// On Linux it is the thread's alone. Where it is refused, the work is no less right.
fn lower_priority() {
    if cfg!(target_os = "linux") {
        let _ = setpriority_process(None, LOWEST);
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, time::Duration};

    use rustix::process::getpriority_process;
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[tokio::test]
    async fn work_has_the_lowest_priority_also_for_its_files_and_its_caller_keeps_his() {
        let before = getpriority_process(None).unwrap();
        let work = async {
            let of_files = tokio::task::spawn_blocking(|| getpriority_process(None).unwrap());
            (getpriority_process(None).unwrap(), of_files.await.unwrap())
        };
        assert_eq!(run(work).await.unwrap(), (LOWEST, LOWEST));
        assert_eq!(getpriority_process(None).unwrap(), before);
    }

    #[tokio::test]
    async fn work_ends_with_the_one_who_waits_and_a_panic_is_an_error() {
        let dropped = CancellationToken::new();
        let guard = dropped.clone().drop_guard();
        let work = run(async move {
            let _guard = guard;
            pending::<()>().await;
        });
        let waited = tokio::time::timeout(Duration::from_millis(10), work).await;
        assert!(waited.is_err());
        dropped.cancelled().await;
        assert!(run(async { panic!("a bug") }).await.is_err());
    }
}
