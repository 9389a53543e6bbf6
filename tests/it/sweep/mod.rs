//! Collecting deposits of invoices: planned and sent by the built command over real nodes, signed
//! by the same command without any server.

#![allow(clippy::unwrap_used, reason = "what a test's helper cannot unwrap has failed the test")]

mod evm;
mod killed;
mod refused;
mod scene;
mod utxo;
