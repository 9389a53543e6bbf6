//! Next action for the buyer. The page shows one action at a time, so that a buyer does not pay
//! twice, late or for nothing.

use super::Status;
use crate::money::BaseUnits;

/// State of the checkout page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// A draft whose buyer may choose a currency.
    Choosing,
    /// An amount is still to be sent, and there is time.
    Paying,
    /// Enough was seen; only confirmations are missing. Paying now would be paying twice.
    Confirming,
    /// The window has ended without a decision yet. A payment now may be too late.
    Closing,
    Paid,
    Overpaid,
    Expired,
    Cancelled,
}

impl Phase {
    /// The name that pages give to scripts and styles.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Choosing => "choosing",
            Self::Paying => "paying",
            Self::Confirming => "confirming",
            Self::Closing => "closing",
            Self::Paid => "paid",
            Self::Overpaid => "overpaid",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }

    /// True while the invoice has not ended.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Choosing | Self::Paying | Self::Confirming | Self::Closing)
    }
}

/// Facts that decide the phase. Amounts are zero for a draft.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    pub status: Status,
    pub due: BaseUnits,
    pub received: BaseUnits,
    /// Seen, but not counted yet.
    pub unconfirmed: BaseUnits,
    /// True before the deadline.
    pub in_time: bool,
}

impl Facts {
    /// Amount to send now: the rest after all seen deposits, confirmed or not.
    pub fn to_send(&self) -> BaseUnits {
        self.due.remaining_after(self.received).remaining_after(self.unconfirmed)
    }

    pub fn phase(&self) -> Phase {
        match self.status {
            Status::Draft if self.in_time => Phase::Choosing,
            Status::Draft => Phase::Closing,
            Status::Pending | Status::Partial if self.to_send() == BaseUnits::ZERO => {
                Phase::Confirming
            }
            Status::Pending | Status::Partial if self.in_time => Phase::Paying,
            Status::Pending | Status::Partial => Phase::Closing,
            Status::Paid => Phase::Paid,
            Status::Overpaid => Phase::Overpaid,
            Status::Expired => Phase::Expired,
            Status::Cancelled => Phase::Cancelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buyer_is_asked_to_pay_only_while_paying_helps() {
        use Phase::{Cancelled, Choosing, Closing, Confirming, Expired, Overpaid, Paid, Paying};
        for (status, received, unconfirmed, in_time, phase, to_send) in [
            (Status::Draft, 0, 0, true, Choosing, 0),
            (Status::Draft, 0, 0, false, Closing, 0),
            (Status::Pending, 0, 0, true, Paying, 100),
            (Status::Pending, 0, 40, true, Paying, 60),
            (Status::Pending, 0, 100, true, Confirming, 0),
            (Status::Pending, 0, 100, false, Confirming, 0),
            (Status::Pending, 0, 99, false, Closing, 1),
            (Status::Partial, 30, 0, true, Paying, 70),
            (Status::Partial, 30, 60, true, Paying, 10),
            (Status::Partial, 30, u128::MAX, true, Confirming, 0),
            (Status::Partial, 30, 0, false, Closing, 70),
            (Status::Paid, 100, 0, true, Paid, 0),
            (Status::Overpaid, 200, 0, true, Overpaid, 0),
            (Status::Expired, 30, 0, false, Expired, 70),
            (Status::Cancelled, 0, 0, true, Cancelled, 100),
        ] {
            let due = if status == Status::Draft { 0 } else { 100 };
            let [due, received, unconfirmed] = [due, received, unconfirmed].map(BaseUnits::new);
            let facts = Facts { status, due, received, unconfirmed, in_time };
            assert_eq!(
                (facts.phase(), facts.to_send()),
                (phase, BaseUnits::new(to_send)),
                "{facts:?}"
            );
        }
    }
}
