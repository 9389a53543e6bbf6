//! Faults that a machine may be able to make only in a weaker form.

const VARIABLE: &str = "GATEWAY_TEST_WEAKER";

/// Panics, unless the variable accepts weaker faults for this run: a test that passed with another
/// fault than its name says would be believed. CI and `make test-faults` never accept them.
pub fn accept(what: &str) {
    let accepts = std::env::var(VARIABLE).is_ok_and(|value| value == "1");
    assert!(accepts, "{what}; {VARIABLE}=1 accepts that, and then this proves less");
    println!("weaker than its name: {what}");
}
