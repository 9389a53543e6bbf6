//! Invoices: created, chosen, read, cancelled and expired.

pub mod accepted_currencies;
pub mod buyer_status;
pub mod by_hand;
pub mod cancel;
pub(crate) mod carry_out;
pub mod create;
pub mod currency_choices;
pub mod deposits;
pub mod expire;
pub mod expire_quiet;
pub mod explain;
pub mod follow;
pub mod happened;
pub mod list;
pub mod read;
pub mod receipt;
pub mod search;
pub mod select_currency;
