//! Deposits: a network is followed, its transfers become deposits, and final deposits are credited.

pub mod accept;
pub mod accept_together;
pub mod credit;
pub mod exceptions;
pub mod explain;
pub mod follow_chain;
pub mod import;
mod own_address;
pub mod reconcile;
pub mod restart_chain;
