//! Whether a mail is still to be sent, by the facts of the moment of its attempt.

use super::{MailKind, schedule::BOUNCES_MAX};
use crate::vocabulary::vocabulary;

vocabulary! {
    /// Reason why a mail is dropped without an attempt.
    pub enum Refusal: "reason of a dropped mail" {
        /// It waited longer than it is worth sending.
        Expired = "expired",
        /// The subscriber stopped the reminders.
        Unsubscribed = "unsubscribed",
        /// The cycle was paid, the subscription is over, or the announcement is; the invitation was
        /// accepted, or taken back.
        Outdated = "outdated",
        /// The merchant is suspended, so that nothing could be renewed.
        Suspended = "suspended",
        /// Its address was refused for good before.
        Bounced = "bounced",
        /// Its address had its mails of the day.
        AddressBudget = "address_budget",
        /// Its link had its mails of the day.
        LinkBudget = "link_budget",
    }
}

/// Facts about a mail, its address and its subscription.
#[derive(Debug, Clone, Copy)]
pub struct Standing {
    pub kind: MailKind,
    pub is_expired: bool,
    pub bounces: i32,
    pub is_suspended: bool,
    /// Of a reminder.
    pub renewal: Option<Renewal>,
    /// The announcement that it tells was withdrawn, or has ended; the role that it offers is not
    /// on offer any more.
    pub is_withdrawn: bool,
}

/// Facts about the subscription of a reminder.
#[derive(Debug, Clone, Copy)]
pub struct Renewal {
    /// The cycle to be paid.
    pub cycle: u32,
    /// The newest cycle that is paid.
    pub covered: u32,
    pub is_over: bool,
    pub is_unsubscribed: bool,
}

/// The reason not to send the mail; `None` if it is to be sent. A receipt is owed to whoever paid:
/// neither an unsubscription nor a suspended merchant holds it back. A suspended merchant gets
/// announcements too: they may be about its return.
pub fn refusal(standing: &Standing) -> Option<Refusal> {
    if standing.is_expired {
        return Some(Refusal::Expired);
    }
    if standing.is_withdrawn {
        return Some(Refusal::Outdated);
    }
    if let Some(renewal) = standing.renewal {
        if renewal.is_unsubscribed {
            return Some(Refusal::Unsubscribed);
        }
        if renewal.is_over || renewal.covered >= renewal.cycle {
            return Some(Refusal::Outdated);
        }
    }
    if standing.is_suspended && standing.kind == MailKind::Reminder {
        return Some(Refusal::Suspended);
    }
    (standing.bounces >= BOUNCES_MAX).then_some(Refusal::Bounced)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RENEWAL: Renewal =
        Renewal { cycle: 2, covered: 1, is_over: false, is_unsubscribed: false };
    const REMINDER: Standing = Standing {
        kind: MailKind::Reminder,
        is_expired: false,
        bounces: 1,
        is_suspended: false,
        renewal: Some(RENEWAL),
        is_withdrawn: false,
    };

    #[test]
    fn a_reminder_is_dropped_by_whatever_made_it_pointless() {
        let with = |renewal| Standing { renewal: Some(renewal), ..REMINDER };
        for (standing, expected) in [
            (REMINDER, None),
            (Standing { is_expired: true, ..REMINDER }, Some(Refusal::Expired)),
            (Standing { bounces: 2, ..REMINDER }, Some(Refusal::Bounced)),
            (Standing { is_suspended: true, ..REMINDER }, Some(Refusal::Suspended)),
            (with(Renewal { is_unsubscribed: true, ..RENEWAL }), Some(Refusal::Unsubscribed)),
            (with(Renewal { covered: 2, ..RENEWAL }), Some(Refusal::Outdated)),
            (with(Renewal { covered: 7, ..RENEWAL }), Some(Refusal::Outdated)),
            (with(Renewal { is_over: true, ..RENEWAL }), Some(Refusal::Outdated)),
        ] {
            assert_eq!(refusal(&standing), expected, "{standing:?}");
        }
    }

    #[test]
    fn a_receipt_is_sent_whatever_becomes_of_its_merchant() {
        let receipt =
            Standing { kind: MailKind::Receipt, is_suspended: true, renewal: None, ..REMINDER };
        assert_eq!(refusal(&receipt), None);
        assert_eq!(refusal(&Standing { bounces: 2, ..receipt }), Some(Refusal::Bounced));
    }

    #[test]
    fn an_announcement_is_sent_while_it_is_shown() {
        let said = Standing {
            kind: MailKind::Announcement,
            is_suspended: true,
            renewal: None,
            ..REMINDER
        };
        assert_eq!(refusal(&said), None);
        let withdrawn = Standing { is_withdrawn: true, ..said };
        assert_eq!(refusal(&withdrawn), Some(Refusal::Outdated));
    }
}
