//! Panics in work on content that strangers write, such as blocks: they must not reach beyond the
//! chain that they came from.
//!
//! Everywhere else a panic ends the process, and its supervisor starts a fresh one. Here that would
//! be a gift: anybody can put a transaction into the cheapest chain, and one that a watcher panics
//! at would come back after each restart and stop every role of the process on all networks. So
//! only that chain stands still, reports that it is not ready, and is tried anew from its rows,
//! with longer and longer pauses.

use std::{any::Any, panic::AssertUnwindSafe};

use futures_util::FutureExt;
use gateway::app::Gateway;

/// Awaits `work`; `None` if it panicked, which then raises an alert about `part`. Nothing that
/// `work` held may be used again.
pub async fn contained<T>(
    gateway: &Gateway,
    part: &str,
    work: impl Future<Output = T>,
) -> Option<T> {
    // On the heap: a look is large, and each layer around it would lay another copy on the stack.
    let work = Box::pin(work);
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(outcome) => Some(outcome),
        Err(panic) => {
            let reason = words(&*panic);
            tracing::error!(part, reason, "panicked; its work restarts from the rows");
            metrics::counter!("panics_contained_total", "part" => part.to_owned()).increment(1);
            if let Err(error) = gateway.tell_panic(part, reason).await {
                tracing::warn!(part, %error, "the alert could not be stored");
            }
            None
        }
    }
}

/// The message of a panic, where it has one.
pub fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without words")
}
