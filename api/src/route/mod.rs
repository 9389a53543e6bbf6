//! One file per resource. A route parses the request, calls `gateway::app` once, and renders the
//! response.

pub mod buyer_status;
pub mod catalogue;
pub mod checkout;
pub mod checkout_action;
pub mod docs;
pub mod payment;
pub mod status;
