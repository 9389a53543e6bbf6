//! Types of events, as `GET /v1/events` names them: those that have a webhook, and those that only
//! the feed tells.

use crate::{
    invoice::{
        Status,
        lifecycle::{Ipn, Notice},
    },
    payout::EventType,
    vocabulary::vocabulary,
    webhook::Channel,
};

vocabulary! {
    pub enum EventKind: "type of event" {
        InvoiceCreated = "invoice.created",
        /// The first confirmed deposit was not all of it.
        InvoicePartial = "invoice.partial",
        InvoicePaid = "invoice.paid",
        InvoiceExpired = "invoice.expired",
        InvoiceCancelled = "invoice.cancelled",
        LateDeposit = "late_deposit_received",
        WrongToken = "wrong_token_received",
        SuspiciousToken = "suspicious_token_received",
        /// A deposit at a merchant's own address, which belongs to no invoice.
        DepositCredited = "deposit.credited",
        /// A renewal of a subscription is near, or was not paid.
        RenewalReminder = "subscription.renewal_reminder",
        SubscriptionStarted = "subscription.started",
        SubscriptionRenewed = "subscription.renewed",
        SubscriptionPastDue = "subscription.past_due",
        SubscriptionCancelled = "subscription.cancelled",
        SubscriptionEnded = "subscription.ended",
        PayoutCreated = "mass_payout.created",
        PayoutQuoteRefreshed = "mass_payout.quote_refreshed",
        PayoutDepositDetected = "mass_payout.deposit_detected",
        PayoutUnderfunded = "mass_payout.underfunded",
        PayoutOverfunded = "mass_payout.overfunded",
        PayoutBatchBroadcasted = "mass_payout.batch_broadcasted",
        PayoutBatchConfirmed = "mass_payout.batch_confirmed",
        PayoutBatchFailed = "mass_payout.batch_failed",
        PayoutCompleted = "mass_payout.completed",
        PayoutPartialFailed = "mass_payout.partial_failed",
        PayoutExpired = "mass_payout.expired",
        PayoutCancelled = "mass_payout.cancelled",
        /// A program paid for a resource.
        X402Paid = "x402.paid",
    }
}

impl EventKind {
    /// Returns true if there are webhooks of it, in the default dialect or in another one. What is
    /// false is told by the feed alone, and there is nothing to list or to send again.
    pub const fn has_deliveries(self) -> bool {
        matches!(self, Self::DepositCredited) || self.channel().is_some()
    }

    /// The channel of its webhook in the default dialect, of which there is a sample; `None` if
    /// only the feed tells it, or an IPN of the `/legacy` dialect alone.
    pub const fn channel(self) -> Option<Channel> {
        match self {
            Self::InvoiceCreated
            | Self::InvoicePartial
            | Self::InvoiceCancelled
            | Self::DepositCredited
            | Self::SubscriptionStarted
            | Self::SubscriptionRenewed
            | Self::SubscriptionPastDue
            | Self::SubscriptionCancelled
            | Self::SubscriptionEnded
            | Self::X402Paid => None,
            Self::RenewalReminder
            | Self::InvoicePaid
            | Self::InvoiceExpired
            | Self::LateDeposit
            | Self::WrongToken
            | Self::SuspiciousToken => Some(Channel::Ipn),
            Self::PayoutCreated
            | Self::PayoutQuoteRefreshed
            | Self::PayoutDepositDetected
            | Self::PayoutUnderfunded
            | Self::PayoutOverfunded
            | Self::PayoutBatchBroadcasted
            | Self::PayoutBatchConfirmed
            | Self::PayoutBatchFailed
            | Self::PayoutCompleted
            | Self::PayoutPartialFailed
            | Self::PayoutExpired
            | Self::PayoutCancelled => Some(Channel::Payout),
        }
    }

    /// The name of its delivery, which differs for the changes of an invoice's status.
    pub const fn delivery_name(self) -> &'static str {
        if matches!(self, Self::InvoicePaid) {
            "finished"
        } else if matches!(self, Self::InvoiceExpired) {
            "expired"
        } else {
            self.as_str()
        }
    }

    /// The event of a status that no IPN announces.
    pub const fn of_silent(status: Status) -> Option<Self> {
        match status {
            Status::Partial => Some(Self::InvoicePartial),
            Status::Cancelled => Some(Self::InvoiceCancelled),
            Status::Draft | Status::Pending | Status::Paid | Status::Overpaid | Status::Expired => {
                None
            }
        }
    }
}

impl From<Ipn> for EventKind {
    fn from(ipn: Ipn) -> Self {
        match ipn {
            Ipn::Finished => Self::InvoicePaid,
            Ipn::Expired => Self::InvoiceExpired,
        }
    }
}

impl From<Notice> for EventKind {
    fn from(notice: Notice) -> Self {
        match notice {
            Notice::WrongToken => Self::WrongToken,
            Notice::SuspiciousToken => Self::SuspiciousToken,
            Notice::LateDeposit => Self::LateDeposit,
        }
    }
}

impl From<EventType> for EventKind {
    fn from(event: EventType) -> Self {
        match event {
            EventType::Created => Self::PayoutCreated,
            EventType::QuoteRefreshed => Self::PayoutQuoteRefreshed,
            EventType::DepositDetected => Self::PayoutDepositDetected,
            EventType::Underfunded => Self::PayoutUnderfunded,
            EventType::Overfunded => Self::PayoutOverfunded,
            EventType::BatchBroadcasted => Self::PayoutBatchBroadcasted,
            EventType::BatchConfirmed => Self::PayoutBatchConfirmed,
            EventType::BatchFailed => Self::PayoutBatchFailed,
            EventType::Completed => Self::PayoutCompleted,
            EventType::PartialFailed => Self::PayoutPartialFailed,
            EventType::Expired => Self::PayoutExpired,
            EventType::Cancelled => Self::PayoutCancelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_payouts_are_called_alike_in_the_feed_and_in_their_webhooks() {
        for event in EventType::ALL {
            assert_eq!(EventKind::from(event).as_str(), event.as_str());
            assert_eq!(EventKind::from(event).delivery_name(), event.as_str());
        }
    }

    #[test]
    fn only_deposits_of_the_other_dialect_have_deliveries_and_no_sample() {
        let without = |kind: &EventKind| kind.has_deliveries() && kind.channel().is_none();
        let found: Vec<_> = EventKind::ALL.into_iter().filter(without).collect();
        assert_eq!(found, [EventKind::DepositCredited]);
        let sampled = |kind: &EventKind| kind.channel().is_some();
        assert!(
            EventKind::ALL.iter().filter(|kind| sampled(kind)).all(|kind| kind.has_deliveries())
        );
        assert!(!EventKind::InvoiceCreated.has_deliveries());
    }

    #[test]
    fn deliveries_of_invoices_keep_their_names() {
        let of_channel = |kind: &EventKind| kind.channel() == Some(Channel::Ipn);
        let names: Vec<_> =
            EventKind::ALL.into_iter().filter(of_channel).map(EventKind::delivery_name).collect();
        let expected = [
            "finished",
            "expired",
            "late_deposit_received",
            "wrong_token_received",
            "suspicious_token_received",
            "subscription.renewal_reminder",
        ];
        assert_eq!(names, expected);
    }
}
