//! The TON adapter on TON's own virtual machine.

mod driver;
mod hostile;
mod paid;
mod suite;
