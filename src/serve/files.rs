//! How many files a process may open: every connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to the hard one, and returns what is allowed then. The usual soft limit of 1,024 protects programs
/// that still call `select(2)`; a worker with a thousand deliveries under way would stand still behind it.
pub fn allow_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let allowed =
        if setrlimit(Resource::Nofile, raised).is_ok() { limit.maximum } else { limit.current };
    allowed.unwrap_or(u64::MAX)
}
