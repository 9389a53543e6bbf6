//! Attempts to send a mail: pauses that outlast greylisting, which is minutes, and a relay's
//! outage, which is hours; and an end for each kind, after which the mail would be no news.

use std::time::Duration;

use super::MailKind;
use crate::webhook::retry::Outcome;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Pauses after the first attempts; all further ones are [`LATER`].
const FIRST: [Duration; 4] =
    [MINUTE, Duration::from_secs(5 * 60), Duration::from_secs(15 * 60), HOUR];
const LATER: Duration = Duration::from_secs(4 * 3_600);

/// Hard bounces after which an address gets no more mail.
pub const BOUNCES_MAX: i32 = 2;

/// Answer of the relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    Accepted,
    /// It refused with this code (RFC 5321, 4.2).
    Refused(u16),
    /// There is no such mailbox, or it takes no mail.
    NoMailbox,
    /// No connection, no answer in time, or a line that broke. The relay may have the mail
    /// nevertheless.
    None,
}

/// Time for which a mail is worth sending.
pub const fn lifetime(kind: MailKind) -> Duration {
    match kind {
        // An invitation's address ends with it.
        MailKind::Receipt | MailKind::Announcement | MailKind::Invitation => {
            Duration::from_secs(3 * 24 * 3_600)
        }
        MailKind::Reminder => DAY,
    }
}

/// The pause after attempt number `attempt` of a cycle.
pub fn pause_after(attempt: i16) -> Duration {
    let place = usize::try_from(attempt.saturating_sub(1)).unwrap_or_default();
    FIRST.get(place).copied().unwrap_or(LATER)
}

/// The outcome of an attempt; `left` is the time until the mail expires.
pub fn outcome(reply: Reply, attempt: i16, left: Duration) -> Outcome {
    let later = if pause_after(attempt) <= left { Outcome::RetryLater } else { Outcome::Dead };
    match reply {
        Reply::Accepted => Outcome::Delivered,
        Reply::NoMailbox => Outcome::Dropped,
        // The relay does not accept our own credentials: a fault of the settings, not of the mail.
        Reply::Refused(530 | 534 | 535 | 538) => later,
        Reply::Refused(code) if code >= 500 => Outcome::Dead,
        Reply::Refused(_) | Reply::None => later,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_from_a_minute_to_four_hours() {
        let pauses: Vec<_> = (1..=7).map(|attempt| pause_after(attempt).as_secs() / 60).collect();
        assert_eq!(pauses, [1, 5, 15, 60, 240, 240, 240]);
        assert_eq!((pause_after(0), pause_after(i16::MAX)), (MINUTE, LATER));
    }

    #[test]
    fn an_invitation_is_worth_sending_as_long_as_its_address_works() {
        let seconds = u64::from(crate::account::session::INVITATION_SECONDS.unsigned_abs());
        assert_eq!(lifetime(MailKind::Invitation).as_secs(), seconds);
    }

    #[test]
    fn an_answer_decides_what_follows() {
        for (reply, expected) in [
            (Reply::Accepted, Outcome::Delivered),
            (Reply::None, Outcome::RetryLater),
            (Reply::Refused(421), Outcome::RetryLater),
            (Reply::Refused(451), Outcome::RetryLater),
            (Reply::Refused(452), Outcome::RetryLater),
            (Reply::Refused(535), Outcome::RetryLater),
            (Reply::NoMailbox, Outcome::Dropped),
            // A relay that knows neither us nor our sender answers so too: an operator must look.
            (Reply::Refused(550), Outcome::Dead),
            (Reply::Refused(553), Outcome::Dead),
            (Reply::Refused(552), Outcome::Dead),
            (Reply::Refused(554), Outcome::Dead),
        ] {
            assert_eq!(outcome(reply, 1, DAY), expected, "{reply:?}");
        }
    }

    #[test]
    fn a_mail_is_dead_when_it_would_expire_before_its_next_attempt() {
        assert_eq!(outcome(Reply::None, 1, MINUTE), Outcome::RetryLater);
        assert_eq!(outcome(Reply::None, 1, Duration::from_secs(59)), Outcome::Dead);
        assert_eq!(outcome(Reply::Refused(451), 5, HOUR), Outcome::Dead);
        assert_eq!(outcome(Reply::Accepted, 5, Duration::ZERO), Outcome::Delivered);
        let attempts = |kind| {
            let (mut left, mut attempt) = (lifetime(kind), 1);
            while outcome(Reply::None, attempt, left) == Outcome::RetryLater {
                left -= pause_after(attempt);
                attempt += 1;
            }
            attempt
        };
        assert_eq!((attempts(MailKind::Receipt), attempts(MailKind::Reminder)), (22, 10));
    }
}
