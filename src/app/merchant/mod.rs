//! Merchants: their accounts, and their balances, the authentication and rate limits of their
//! requests.

pub mod admin;
pub mod admit;
pub mod balance;
pub mod change;
pub mod front;
pub mod manage;
pub mod overview;
pub mod statement;
