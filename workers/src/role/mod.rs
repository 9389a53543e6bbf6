//! One file per role, named as the role; the two roles that deliver webhooks share one.

pub mod chain_watcher;
pub mod delivery;
pub mod deposit_matching;
pub mod expiry_timer;
mod ledger;
pub mod mail_delivery;
mod nc_payouts;
pub mod payout_batch;
pub mod rate_refresher;
mod reconcile;
pub mod reporter;
pub mod sweeper;
pub mod x402_settlement;
