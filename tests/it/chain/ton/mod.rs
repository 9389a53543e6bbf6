//! The TON adapter on TON's own virtual machine.

pub(super) mod driver;
mod hostile;
mod left_out;
mod paid;
mod shards;
mod suite;
