//! Long work that gives way: on a thread of its own, with the lowest priority.

use std::{io, thread};

use rustix::process::setpriority_process;
use tokio::{runtime::Handle, sync::oneshot};

const LOWEST: i32 = 19;

/// Runs `work` where it takes the processor from nobody who answers requests. Ends it when the
/// returned future is dropped.
///
/// The runtime's own threads cannot be used: a priority that was lowered cannot be raised again.
pub(super) async fn in_background<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> io::Result<T> {
    let (mut done, result) = oneshot::channel();
    let runtime = Handle::current();
    let run = move || {
        // On Linux it is the thread's alone. Where it is refused, the work is no less right.
        if cfg!(target_os = "linux") {
            let _ = setpriority_process(None, LOWEST);
        }
        let worked = runtime.block_on(async {
            tokio::select! {
                worked = work => Some(worked),
                () = done.closed() => None,
            }
        });
        if let Some(worked) = worked {
            // Nobody waits any more.
            let _ = done.send(worked);
        }
    };
    thread::Builder::new().name("background".to_owned()).spawn(run)?;
    result.await.map_err(|_| io::Error::other("the work ended early"))
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use rustix::process::getpriority_process;
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[tokio::test]
    async fn work_has_the_lowest_priority_and_its_caller_keeps_his() {
        let before = getpriority_process(None).unwrap();
        let within = in_background(async { getpriority_process(None).unwrap() }).await.unwrap();
        assert_eq!((within, getpriority_process(None).unwrap()), (LOWEST, before));
    }

    #[tokio::test]
    async fn work_ends_with_the_one_who_waits_and_a_panic_is_an_error() {
        let dropped = CancellationToken::new();
        let guard = dropped.clone().drop_guard();
        let work = in_background(async move {
            let _guard = guard;
            pending::<()>().await;
        });
        let waited = tokio::time::timeout(std::time::Duration::from_millis(10), work).await;
        assert!(waited.is_err());
        dropped.cancelled().await;
        assert!(in_background(async { panic!("a bug") }).await.is_err());
    }
}
