//! Canonical JSON, the basis of signatures: one spelling for one value.

use gateway::webhook::canonical::to_canonical_json;
use serde_json::Value;

/// Prefix of the names under which `serde_json` passes numbers and raw text. An object whose first
/// member has such a name is read as such, and sorting can make it the first; signed objects have
/// only members named by us.
const PRIVATE: &str = "$serde_json::private::";

pub fn check(data: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    if has_private_name(&value) {
        return;
    }
    let canonical = to_canonical_json(&value);
    let again: Value = serde_json::from_str(&canonical).expect("canonical JSON is JSON");
    assert_eq!(again, value, "{canonical}");
    assert_eq!(to_canonical_json(&again), canonical);
    assert_sorted(&again);
}

fn has_private_name(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.iter().any(|(name, value)| name.starts_with(PRIVATE) || has_private_name(value))
        }
        Value::Array(items) => items.iter().any(has_private_name),
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
