//! Operators' tools: the audit log, checks of an installation, the master key, metrics, and the
//! contents of their screens.

pub mod announce;
pub mod audit;
pub mod doctor;
pub mod examine;
pub mod find;
pub mod master_key;
pub mod measure;
pub mod status;
pub mod view_as_merchant;
