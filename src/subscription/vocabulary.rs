//! Names of intervals and states.

use crate::vocabulary::vocabulary;

vocabulary! {
    /// Unit of the time between two payments.
    pub enum Interval: "interval" {
        Day = "day",
        Week = "week",
        Month = "month",
        Year = "year",
    }
}

vocabulary! {
    /// State of a subscription.
    pub enum State: "state of a subscription" {
        /// Its first cycle was never paid. The API does not show it yet.
        Pending = "pending",
        /// The present period is paid, or its payment is not late yet.
        Active = "active",
        /// The last reminder was sent and nothing was paid.
        PastDue = "past_due",
        Cancelled = "cancelled",
        /// The last of its cycles is over.
        Ended = "ended",
    }
}
