//! `/v1/events`: the feed, one event with its attempts, and sending it again.

mod caught_up;
mod cursor;
mod kinds;
mod resend;
mod resend_many;
mod test_event;

use serde_json::Value;
use support::client::Client;

/// One page of the feed.
async fn page(client: &Client, query: &str) -> Value {
    let answer = client.get(&format!("/v1/events{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.body);
    answer.json()
}

fn texts(page: &Value, field: &str) -> Vec<String> {
    let events = page["data"].as_array().unwrap();
    events.iter().map(|event| event[field].as_str().unwrap().to_owned()).collect()
}
