//! TON, read from an indexed node (toncenter's API v3) by masterchain block.
//!
//! A masterchain block names the blocks of all shards that belong to it, and is final: there are no
//! reorgs. A payment is an internal message that its receiver kept. The success or failure of the
//! receiver's code does not matter: every first payment to a wallet that is not deployed yet is
//! `aborted`, and stays.
//!
//! Tokens (jettons) lie in a separate contract per holder. An `internal_transfer` informs it of a
//! payment, and anybody can deploy a contract that accepts one; so a payment counts under the token
//! whose master contract names exactly this contract as its holder's. A contract that the index
//! does not list yet is waited for briefly (`unlisted`).
//!
//! - `source`: the calls, each a request of `index`. `wire`: the tolerant types. `decode`: from
//!   transactions to transfers, without io.
//! - `cell`: the few bits of a message that are needed. `balance`: balances of addresses.
//!   `unlisted`: contracts that are waited for.

mod balance;
mod cell;
mod decode;
mod index;
mod source;
mod unlisted;
mod wire;

pub use source::TonSource;

#[cfg(test)]
mod fixture;
