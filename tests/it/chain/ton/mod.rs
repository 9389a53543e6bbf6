//! The TON adapter on TON's own virtual machine.

pub(super) mod driver;
mod hostile;
mod paid;
mod suite;
