//! Support of the integration tests, in folders by subject: servers and programs, chain nodes,
//! clients, faults, and a merchant's shop.

#![allow(clippy::unwrap_used, reason = "only tests use it, and a test that cannot go on panics")]

pub mod books;
pub mod client;
pub mod fault;
pub mod lanes;
pub mod node;
pub mod seed;
pub mod server;
pub mod shop;
