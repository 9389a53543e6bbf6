//! The `/legacy` adapter: version 1 of the CoinPayments API, so that clients that were written for
//! it work unmodified.
//!
//! Pure: codes, signatures, encodings and texts. [`order`] is what an invoice of the adapter keeps
//! beside the invoice itself, [`ipn`] its webhooks, which share no signing routine with the others.

pub mod address;
pub mod amount;
pub mod button;
pub mod envelope;
pub mod form;
pub mod ipn;
pub mod keys;
pub mod order;
pub mod refusal;
pub mod sign;
pub mod status;
pub mod withdrawal;

pub use refusal::Refusal;
