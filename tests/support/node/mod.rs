//! Nodes of the chains: real ones in private, and fakes and stubs beside them that pass the same
//! conformance suite.

pub mod anvil;
pub mod chain_clients;
pub mod fake_evm;
pub mod fake_utxo;
pub mod java_tron;
pub mod json_rpc;
pub mod near_data;
pub mod regtest;
pub mod scripted_chain;
pub mod solana;
pub mod stub_chain;
pub mod stub_node;
pub mod surfpool;
pub mod thornode;
pub mod ton;
pub mod usdc;
