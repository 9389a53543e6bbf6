//! Attempts, pauses and timeouts of a delivery, stated once (spec, "Limits").

use std::time::Duration;

use crate::vocabulary::vocabulary;

/// The rules of one webhook channel.
#[derive(Debug, Clone, Copy)]
pub struct RetryPolicy {
    pub attempts_max: i16,
    /// Pause from the end of one attempt to the start of the next.
    pub delay: Duration,
    /// Timeout of the whole call: name, connection, TLS, request and response.
    pub timeout: Duration,
}

/// Payment IPNs: any response but 2xx is retried.
pub const IPN: RetryPolicy = RetryPolicy {
    attempts_max: 5,
    delay: Duration::from_secs(30),
    timeout: Duration::from_secs(10),
};

/// Mass-payout webhooks: only server errors and network failures are retried.
pub const PAYOUT: RetryPolicy = RetryPolicy {
    attempts_max: 5,
    delay: Duration::from_secs(60),
    timeout: Duration::from_secs(15),
};

/// State of a delivery row before a message about it is processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub state: DeliveryState,
    pub cycle: i32,
    /// Attempts made in this cycle.
    pub attempts: i16,
}

vocabulary! {
    pub enum DeliveryState: "delivery state" {
        Pending = "pending",
        RetryWait = "retry_wait",
        Delivered = "delivered",
        /// Rejected for good by the receiver (payout webhooks only).
        Dropped = "dropped",
        /// All attempts failed; waits in the dead-letter queue for an operator.
        Dead = "dead",
    }
}

impl DeliveryState {
    /// Returns false while it is under way.
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Delivered | Self::Dropped | Self::Dead)
    }
}

/// Content of a message. Typed by hand it may have neither number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    pub cycle: Option<i32>,
    pub attempt: Option<i16>,
}

/// Action for a message about a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Make this attempt.
    Attempt { cycle: i32, attempt: i16 },
    /// A copy of a message whose work is done. Acknowledge it.
    Stale,
}

/// Compares a message with the row: the row is authoritative, the message only refers to it.
///
/// A dead row starts its next cycle from a message with (cycle + 1, 1), or without numbers. Every
/// other copy is stale, so requeueing a dead letter twice, or requeueing and typing it, gives one
/// fresh cycle.
pub fn admit(row: Progress, ticket: Ticket) -> Admission {
    let fresh_cycle = row.cycle + 1;
    match (row.state, ticket.cycle, ticket.attempt) {
        (DeliveryState::Pending | DeliveryState::RetryWait, Some(cycle), Some(attempt))
            if cycle == row.cycle && attempt == row.attempts + 1 =>
        {
            Admission::Attempt { cycle, attempt }
        }
        (DeliveryState::Dead, None, None) => Admission::Attempt { cycle: fresh_cycle, attempt: 1 },
        (DeliveryState::Dead, Some(cycle), Some(1)) if cycle == fresh_cycle => {
            Admission::Attempt { cycle, attempt: 1 }
        }
        (
            DeliveryState::Pending
            | DeliveryState::RetryWait
            | DeliveryState::Delivered
            | DeliveryState::Dropped
            | DeliveryState::Dead,
            _,
            _,
        ) => Admission::Stale,
    }
}

/// Result of an attempt for its delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Delivered,
    RetryLater,
    /// The receiver refused it for good. No retry follows.
    Dropped,
    Dead,
}

/// Payment IPN: 2xx is success, every other result is retried until the attempts are used up.
pub fn ipn_outcome(status: Option<u16>, attempt: i16) -> Outcome {
    match status {
        Some(200..=299) => Outcome::Delivered,
        Some(_) | None if attempt < IPN.attempts_max => Outcome::RetryLater,
        Some(_) | None => Outcome::Dead,
    }
}

/// Mass-payout webhook: 2xx is success, 4xx a refusal for good. Everything else (5xx, no response,
/// and redirects, which are never followed) is retried until the attempts are used up.
pub fn payout_outcome(status: Option<u16>, attempt: i16) -> Outcome {
    match status {
        Some(200..=299) => Outcome::Delivered,
        Some(400..=499) => Outcome::Dropped,
        Some(_) | None if attempt < PAYOUT.attempts_max => Outcome::RetryLater,
        Some(_) | None => Outcome::Dead,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows and the command line use these names.
    #[test]
    fn states_keep_their_names() {
        let names = DeliveryState::ALL.map(DeliveryState::as_str);
        assert_eq!(names, ["pending", "retry_wait", "delivered", "dropped", "dead"]);
    }

    #[test]
    fn a_message_is_admitted_once_and_its_copies_are_stale() {
        use DeliveryState::{Dead, Delivered, Dropped, Pending, RetryWait};
        let ticket = |c, a| Ticket { cycle: Some(c), attempt: Some(a) };
        let by_hand = Ticket { cycle: None, attempt: None };
        let attempt = |cycle, attempt| Admission::Attempt { cycle, attempt };
        for (state, cycle, attempts, message, expected) in [
            (Pending, 1, 0, ticket(1, 1), attempt(1, 1)),
            (RetryWait, 1, 2, ticket(1, 3), attempt(1, 3)),
            (RetryWait, 1, 2, ticket(1, 2), Admission::Stale),
            (RetryWait, 1, 2, ticket(1, 4), Admission::Stale),
            (RetryWait, 2, 0, ticket(1, 1), Admission::Stale),
            (Pending, 1, 0, by_hand, Admission::Stale),
            (Delivered, 1, 1, ticket(1, 2), Admission::Stale),
            (Dropped, 1, 1, by_hand, Admission::Stale),
            (Dead, 1, 5, ticket(2, 1), attempt(2, 1)),
            (Dead, 1, 5, by_hand, attempt(2, 1)),
            (Dead, 1, 5, ticket(1, 6), Admission::Stale),
            (Dead, 2, 5, ticket(2, 1), Admission::Stale),
        ] {
            let row = Progress { state, cycle, attempts };
            assert_eq!(admit(row, message), expected, "{row:?} {message:?}");
        }
    }

    #[test]
    fn only_2xx_is_success_and_the_fifth_failure_is_the_last() {
        for status in [Some(199), Some(301), Some(400), Some(410), Some(429), Some(500), None] {
            assert_eq!(ipn_outcome(status, 1), Outcome::RetryLater, "{status:?}");
            assert_eq!(ipn_outcome(status, 5), Outcome::Dead, "{status:?}");
        }
        for status in [200, 201, 202, 204, 299] {
            assert_eq!(ipn_outcome(Some(status), 5), Outcome::Delivered);
        }
    }

    #[test]
    fn a_payout_webhook_is_dropped_by_4xx_and_retried_by_everything_else() {
        for (status, first, last) in [
            (Some(200), Outcome::Delivered, Outcome::Delivered),
            (Some(299), Outcome::Delivered, Outcome::Delivered),
            (Some(301), Outcome::RetryLater, Outcome::Dead),
            (Some(399), Outcome::RetryLater, Outcome::Dead),
            (Some(400), Outcome::Dropped, Outcome::Dropped),
            (Some(408), Outcome::Dropped, Outcome::Dropped),
            (Some(429), Outcome::Dropped, Outcome::Dropped),
            (Some(499), Outcome::Dropped, Outcome::Dropped),
            (Some(500), Outcome::RetryLater, Outcome::Dead),
            (Some(599), Outcome::RetryLater, Outcome::Dead),
            (None, Outcome::RetryLater, Outcome::Dead),
        ] {
            assert_eq!(payout_outcome(status, 1), first, "{status:?}");
            assert_eq!(payout_outcome(status, PAYOUT.attempts_max), last, "{status:?}");
        }
    }
}
