//! The sandbox: control of the simulated chain, and the buyer's simulated payment. Production has
//! neither.

pub mod history;
pub mod own;
pub mod pay;
pub mod simulate;
