//! Webhooks for merchants. The two channels share no signing routine and never will (spec,
//! "Events").

use crate::vocabulary::vocabulary;

pub mod canonical;
pub mod deposit;
pub mod donation;
pub mod event;
pub mod ipn;
pub mod payout;
pub mod retry;
pub mod sample;
pub mod subscription;

vocabulary! {
    /// One of the two kinds of webhooks.
    pub enum Channel: "webhook channel" {
        /// Payment IPNs.
        Ipn = "ipn",
        /// Mass-payout webhooks.
        Payout = "payout",
    }
}
