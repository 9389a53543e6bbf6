//! One file per resource. A route reads, calls `gateway::app` once, and spells the answer.

pub mod buyer_status;
pub mod catalogue;
pub mod checkout;
pub mod checkout_action;
pub mod docs;
pub mod payment;
pub mod status;
