//! Operators' tools: the audit log, checks of an installation, the master key, and metrics.

pub mod audit;
pub mod doctor;
pub mod master_key;
pub mod measure;
