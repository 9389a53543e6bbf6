//! Canonical JSON, which signatures stand on: one spelling for one value.

use gateway::webhook::canonical::to_canonical_json;
use serde_json::Value;

/// The name under which `serde_json` with `arbitrary_precision` hands numbers on. An object whose first member has it is read
/// as a number; what we sign has members of our own naming alone.
const NUMBER: &str = "$serde_json::private::Number";

pub fn check(data: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    if names_a_number(&value) {
        return;
    }
    let canonical = to_canonical_json(&value);
    let again: Value = serde_json::from_str(&canonical).expect("canonical JSON is JSON");
    assert_eq!(again, value, "{canonical}");
    assert_eq!(to_canonical_json(&again), canonical);
    assert_sorted(&again);
}

fn names_a_number(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.contains_key(NUMBER) || members.values().any(names_a_number)
        }
        Value::Array(items) => items.iter().any(names_a_number),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn assert_sorted(value: &Value) {
    match value {
        Value::Object(members) => {
            assert!(members.keys().is_sorted(), "{value}");
            members.values().for_each(assert_sorted);
        }
        Value::Array(items) => items.iter().for_each(assert_sorted),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
