//! Messages between processes: declared in the broker, relayed from the outbox, and found again by
//! the sweep when the broker has lost them.

pub mod apply_topology;
pub mod relay_outbox;
pub mod set_aside;
pub mod sweep;
