//! The oracle of merchants' events finds illegal ones.

use gateway::payout::EventType;
use serde_json::json;
use support::shop::payout_events::{Batch, Ended, Told, fault};
use uuid::Uuid;

const ORDER: &str = "empo_x";

fn thing(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

/// A batch `number` that ended as `state`.
fn batch(number: u128, state: &str) -> Batch {
    let (batch_id, has_paid) = (format!("mpb_{number}"), state == "confirmed");
    Batch { id: thing(number), batch_id, state: state.to_owned(), has_paid }
}

/// `kind` about `number`, written while the order was `state`.
fn event(kind: &str, number: u128, state: &str) -> Told {
    let mut order = json!({ "id": ORDER, "state": state });
    if let Some(said) = kind.strip_prefix("batch_") {
        order["lastBatch"] = json!({ "id": format!("mpb_{number}"), "state": said });
    }
    Told {
        event_id: Uuid::now_v7().to_string(),
        kind: format!("mass_payout.{kind}"),
        subject: thing(number),
        payload: order.to_string(),
    }
}

/// A legal history of an order: quoted twice, funded in two parts, paid in two batches.
fn good() -> Ended {
    let events = vec![
        event("quote_refreshed", 90, "draft"),
        event("created", 0, "pending_deposit"),
        event("deposit_detected", 1, "pending_deposit"),
        event("underfunded", 1, "pending_deposit"),
        event("deposit_detected", 2, "pending_deposit"),
        event("overfunded", 0, "funded"),
        event("batch_broadcasted", 11, "processing"),
        event("batch_broadcasted", 12, "processing"),
        event("batch_failed", 12, "processing"),
        event("batch_confirmed", 11, "processing"),
        event("partial_failed", 0, "partial_failed"),
    ];
    let batches = vec![batch(11, "confirmed"), batch(12, "failed")];
    Ended { order_id: ORDER.to_owned(), state: "partial_failed".to_owned(), events, batches }
}

fn position(ended: &Ended, kind: &str) -> usize {
    let name = format!("mass_payout.{kind}");
    ended.events.iter().position(|event| event.kind == name).unwrap()
}

#[test]
fn the_oracle_accepts_webhooks_in_a_legal_order_and_knows_every_kind() {
    assert_eq!(fault(&good()), None);
    let mut unsent = good();
    unsent.events.remove(7);
    assert_eq!(fault(&unsent), None, "of a batch that paid nobody its end alone may be told");
    for kind in EventType::ALL {
        let mut strange = good();
        strange.events[0].kind = format!("{}s", kind.as_str());
        assert!(fault(&strange).unwrap().contains("is no event"));
    }
}

#[test]
fn the_oracle_reports_repeated_late_and_missing_webhooks() {
    let whole = good();
    for at in 0..whole.events.len() {
        let mut twice = whole.clone();
        let again = Told { event_id: "other".to_owned(), ..whole.events[at].clone() };
        twice.events.insert(at + 1, again);
        assert!(fault(&twice).is_some(), "twice: {}", whole.events[at].kind);
        let mut same = whole.clone();
        let last = same.events.len() - 1;
        same.events[last].event_id = same.events[at].event_id.clone();
        assert!(at == last || fault(&same).unwrap().contains("id of another"));
    }
    for missing in ["created", "batch_confirmed", "batch_failed", "partial_failed"] {
        let mut silent = whole.clone();
        silent.events.remove(position(&whole, missing));
        assert!(fault(&silent).is_some(), "without {missing}");
    }
    for (early, late) in [
        ("created", "deposit_detected"),
        ("quote_refreshed", "deposit_detected"),
        ("deposit_detected", "underfunded"),
        ("underfunded", "overfunded"),
        ("overfunded", "partial_failed"),
        ("deposit_detected", "batch_broadcasted"),
        ("batch_broadcasted", "batch_confirmed"),
        ("batch_confirmed", "partial_failed"),
    ] {
        let mut swapped = whole.clone();
        let event = swapped.events.remove(position(&whole, early));
        let after = position(&swapped, late);
        swapped.events.insert(after + 1, event);
        assert!(fault(&swapped).is_some(), "{early} after {late}");
    }
}

#[test]
fn the_oracle_reports_an_order_state_that_contradicts_its_batches() {
    let whole = good();
    for end in ["completed", "expired", "cancelled"] {
        let mut other = whole.clone();
        *other.events.last_mut().unwrap() = event(end, 0, end);
        assert!(fault(&other).unwrap().contains("not how it ended"), "{end}");
        other.state = end.to_owned();
        assert!(fault(&other).is_some(), "{end} with a failed batch");
    }
    for state in ["pending", "signing", "broadcasted", "confirmed"] {
        let mut open = whole.clone();
        open.batches[1].state = state.to_owned();
        assert!(fault(&open).is_some(), "{state}");
    }
    let mut stranger = whole.clone();
    stranger.batches.remove(1);
    assert!(fault(&stranger).unwrap().contains("no batch of the order"));
    let mut early = whole;
    early.events[6] = event("batch_broadcasted", 11, "funded");
    assert!(fault(&early).unwrap().contains("says that the order is funded"));
}
