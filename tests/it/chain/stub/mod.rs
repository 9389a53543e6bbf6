//! Adapters of chains whose nodes cannot be run here, over stubs that behave like them.

mod clients;
pub mod driver;
mod hostile;
mod left_out;
pub mod near;
mod reported;
mod suite;
pub mod thorchain;
pub mod tron;
