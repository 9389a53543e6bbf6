//! Faults on the path between programs, and peers that misbehave.

pub mod cutting_proxy;
pub mod faulty_line;
pub mod fired;
pub mod hostile;
pub mod lagging_line;
pub mod line;
pub mod link;
pub mod weaker;
