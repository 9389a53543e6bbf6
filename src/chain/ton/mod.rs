//! TON, read from an indexed node (toncenter's API v3) by masterchain block.
//!
//! A masterchain block names the blocks of all shards that came with it, and is final: nothing is ever taken back. A
//! payment is an internal message that its receiver kept. Whether the receiver's code ran or failed says nothing about
//! that: every first payment to a wallet that nobody has deployed yet is `aborted`, and stays.
//!
//! Tokens (jettons) live in a contract of their own per holder. It is told of a payment by an `internal_transfer`, and
//! anybody can deploy a contract that takes one; so a payment counts under the token whose master contract names that
//! very contract as its holder's. A contract that the index does not list yet is waited for a little (`unlisted`).
//!
//! - `source`: the calls. `wire`: the tolerant shapes. `decode`: from transactions to transfers, without io.
//! - `cell`: the few bits of a message that are needed. `balance`: what addresses hold. `unlisted`: who is waited for.

mod balance;
mod cell;
mod decode;
mod source;
mod unlisted;
mod wire;

pub use source::TonSource;

#[cfg(test)]
mod fixture;
