//! How often a test made its fault happen, for the table of `make test-faults`.

/// Counts for the test under way, which may say it more than once: what it has seen happen, not what it meant to do. A test of
/// the table that says nothing, or nothing but zero, fails.
pub fn fired(times: impl TryInto<u64>) {
    println!("fired {}", times.try_into().unwrap_or(0));
}
