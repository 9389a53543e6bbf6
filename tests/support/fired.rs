//! How often a test made its fault happen, for the table of `make test-faults`.

/// Counts for the test under way, which may say it more than once. A test that says nothing made it happen once.
pub fn fired(times: impl TryInto<u64>) {
    println!("fired {}", times.try_into().unwrap_or(0));
}
