//! Limit of open files of a process: every connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to the hard one, and returns the new limit. The usual soft limit of 1,024
/// protects programs that still call `select(2)`; a worker with a thousand concurrent deliveries
/// would stall at it.
pub fn allow_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let allowed =
        if setrlimit(Resource::Nofile, raised).is_ok() { limit.maximum } else { limit.current };
    allowed.unwrap_or(u64::MAX)
}
