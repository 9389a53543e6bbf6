//! One file per role, named as the role.

pub mod chain_watcher;
pub mod deposit_matching;
pub mod expiry_timer;
pub mod ipn_delivery;
pub mod payout_batch;
pub mod payout_webhook_delivery;
pub mod rate_refresher;
pub mod sweeper;
