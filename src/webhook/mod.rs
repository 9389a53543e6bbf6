//! Webhooks for merchants. The two channels share no signing routine and never will (spec,
//! "Events").

pub mod canonical;
pub mod ipn;
pub mod payout;
pub mod retry;
