//! Recording an attempt.

use std::time::Duration;

use super::Channel;
use crate::{
    broker::{
        envelope::{self, DeliveryRef, GivenUp, Turn},
        route::Route,
    },
    egress::{Answer, EgressError},
    storage::deliveries::{AttemptRecord, DueDelivery},
    webhook::retry::{DeliveryState, Outcome},
};

const EXCERPT_CHARS_MAX: usize = 300;

/// The outcome of an attempt and its row, with the message that follows from it.
pub(super) fn of(
    channel: &Channel,
    due: &DueDelivery,
    turn: Turn,
    answer: &Result<Answer, EgressError>,
    took: Duration,
) -> (Outcome, AttemptRecord) {
    let status = answer.as_ref().ok().map(|answer| answer.status);
    let outcome = (channel.outcome)(status, turn.attempt);
    let status = status.and_then(|status| i16::try_from(status).ok());
    let error = match answer {
        Ok(answer) if !answer.is_success() => {
            Some(format!("the receiver answered {}", answer.status))
        }
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    };
    let (new_state, next) = moved(channel, due, turn, outcome, (error.as_deref(), status));
    let record = AttemptRecord {
        delivery_id: due.id,
        expected: due.progress,
        cycle: turn.cycle,
        attempt: turn.attempt,
        new_state,
        retry_in_seconds: i32::try_from(channel.policy.delay.as_secs()).unwrap_or(i32::MAX),
        started_at: due.now,
        duration_ms: i32::try_from(took.as_millis()).unwrap_or(i32::MAX),
        status,
        error,
        excerpt: answer.as_ref().ok().and_then(|answer| excerpt(&answer.body)),
        next,
    };
    (outcome, record)
}

/// The record of a delivery that cannot even be signed: its last attempt in this cycle, whichever
/// it would have been.
pub(super) fn unsignable(
    channel: &Channel,
    due: &DueDelivery,
    turn: Turn,
    reason: &str,
) -> (Outcome, AttemptRecord) {
    let error = format!("not sent, because it cannot be signed: {reason}");
    let (new_state, next) = moved(channel, due, turn, Outcome::Dead, (Some(&error), None));
    let record = AttemptRecord {
        delivery_id: due.id,
        expected: due.progress,
        cycle: turn.cycle,
        attempt: turn.attempt,
        new_state,
        retry_in_seconds: 0,
        started_at: due.now,
        duration_ms: 0,
        status: None,
        error: Some(error),
        excerpt: None,
        next,
    };
    (Outcome::Dead, record)
}

/// The state that a delivery is in after an attempt, and the message that follows from it.
fn moved(
    channel: &Channel,
    due: &DueDelivery,
    turn: Turn,
    outcome: Outcome,
    (error, status): (Option<&str>, Option<i16>),
) -> (DeliveryState, Option<(String, String)>) {
    let message = |route: Route, body| Some((route.as_str().to_owned(), body));
    let work = |turn| DeliveryRef::new(due.id, &due.event_id, turn);
    match outcome {
        Outcome::Delivered => (DeliveryState::Delivered, None),
        Outcome::Dropped => (DeliveryState::Dropped, None),
        Outcome::RetryLater => {
            let next = Turn { attempt: turn.attempt + 1, ..turn };
            (DeliveryState::RetryWait, message(channel.wait, envelope::encode(&work(next))))
        }
        // The parked message starts the next cycle, by whatever way it comes back.
        Outcome::Dead => {
            let next = Turn { cycle: turn.cycle + 1, attempt: 1 };
            let given_up = GivenUp::new(error.unwrap_or("unknown"), status);
            let letter = envelope::encode_dead(&work(next), given_up);
            (DeliveryState::Dead, message(channel.dead, letter))
        }
    }
}

/// The first printable characters of an answer: for people, never to be trusted or rendered as
/// anything but text.
pub(super) fn excerpt(body: &[u8]) -> Option<String> {
    let text: String = String::from_utf8_lossy(body)
        .chars()
        .filter(|c| !c.is_control() || *c == '\n')
        .take(EXCERPT_CHARS_MAX)
        .collect();
    if text.is_empty() { None } else { Some(text) }
}
