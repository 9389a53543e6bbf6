//! JSON with keys sorted at every level, compact, numbers with their original digits.

use serde_json::Value;

/// Renders `value` in canonical form.
///
/// `serde_json`'s map is a `BTreeMap` unless the feature `preserve_order` is enabled; the test
/// below and the repository check prevent that, because signatures depend on it.
pub fn to_canonical_json(value: &Value) -> String {
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_at_every_level_and_digits_are_kept() {
        let text = r#"{"b":{"z":1.10,"a":[{"y":1,"x":0.0000001}]},"a":"é/"}"#;
        let value: Value = serde_json::from_str(text).unwrap();
        let expected = r#"{"a":"é/","b":{"a":[{"x":0.0000001,"y":1}],"z":1.10}}"#;
        assert_eq!(to_canonical_json(&value), expected);
    }
}
