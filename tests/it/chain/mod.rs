//! Chains: one suite for every adapter, the faults that each adapter must survive, and invoices
//! that are paid on a node.

mod compared;
mod conformance;
mod doctor;
mod evm;
mod graded;
mod lookup;
mod needs;
mod paid_on_a_node;
mod paid_on_a_stub;
mod paid_on_regtest;
mod random;
mod simulated;
mod solana;
mod stub;
mod ton;
mod utxo;
