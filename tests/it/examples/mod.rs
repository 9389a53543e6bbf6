//! The snippets that merchants copy: every language reaches the same verdict on the same recorded
//! deliveries.

mod attacked;
mod dust;
mod languages;
mod numbers;
mod payout_recording;
mod recording;

use serde_json::{Value, json};

/// Deliveries in the order in which a receiver gets them, each with the expected verdict.
#[derive(Default)]
struct Recorder {
    deliveries: Vec<Value>,
}

impl Recorder {
    fn add(&mut self, name: &str, body: &str, signature: &str, received_at: i64, expected: &str) {
        self.deliveries.push(json!({
            "name": name, "body": body, "signature": signature, "received_at": received_at,
            "expected": expected,
        }));
    }

    /// Adds deliveries that must be refused: `good` and its `signature`, each with the named
    /// change.
    fn refuse(&mut self, good: &str, signature: &str, at: i64, forgeries: &[(&str, String, &str)]) {
        for (name, body, forged) in forgeries {
            assert!(body != good || *forged != signature, "'{name}' changed nothing");
            self.add(name, body, forged, at, "forged");
        }
    }
}
