//! Rows behind the operators' screens of the dashboard.

pub mod alerts_of_deposits;
pub mod announcements;
pub mod audit_search;
pub mod currency_effect;
pub mod dead_letters;
pub mod dead_mails;
pub mod examinations;
pub mod observations;
pub mod odd_deposits;
pub mod payout_orders;
pub mod requeue_runs;
