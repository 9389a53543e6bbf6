//! How many files a process may open: every connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to the hard one. The usual soft limit of 1,024 protects programs that still call `select(2)`;
/// a worker with a thousand deliveries under way would stand still behind it.
///
/// Where even the hard limit is below `needed`, the log says so: beyond it no connection can be opened, and a webhook's attempt
/// that finds none counts as one that failed.
pub fn allow_open_files(needed: u64) {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let allowed =
        if setrlimit(Resource::Nofile, raised).is_ok() { limit.maximum } else { limit.current };
    if let Some(allowed) = allowed.filter(|allowed| *allowed < needed) {
        tracing::warn!(
            allowed,
            needed,
            "this process may open few files; raise the hard limit (ulimit -Hn)"
        );
    }
}
