//! What integration tests share: servers they start, and ways to drive them.

#![allow(clippy::unwrap_used, reason = "only tests use it, and a test that cannot go on panics")]

pub mod anvil;
pub mod balancer;
pub mod broker;
pub mod browser;
pub mod chain_clients;
pub mod client;
pub mod ctl;
pub mod cutting_proxy;
pub mod database;
pub mod disk;
pub mod exchange;
pub mod fake_evm;
pub mod fake_utxo;
pub mod faulty_line;
pub mod fired;
pub mod hostile;
pub mod installation;
pub mod java_tron;
pub mod json_rpc;
pub mod lanes;
pub mod link;
pub mod listener;
pub mod namespace;
pub mod near_data;
pub mod payable;
pub mod paying;
pub mod payouts;
pub mod private_postgres;
pub mod private_rabbitmq;
pub mod processes;
pub mod raw;
pub mod receiver;
pub mod regtest;
pub mod scratch;
pub mod scripted_chain;
pub mod shop;
pub mod solana;
pub mod stack;
pub mod stub_chain;
pub mod stub_node;
pub mod surfpool;
pub mod thornode;
pub mod ton;
pub mod trade;
