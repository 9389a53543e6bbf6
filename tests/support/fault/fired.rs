//! Number of faults that a test caused, for the table of `make test-faults`.

/// Adds to the count of the current test, which may call it more than once: faults it has seen
/// happen, not planned ones. A test of the table that reports nothing, or only zero, fails.
pub fn fired(times: impl TryInto<u64>) {
    println!("fired {}", times.try_into().unwrap_or(0));
}
