//! Invoices, for their merchant: `/v1/payment`. Types of requests and answers are frozen: a type
//! may gain a field, never lose one.

pub mod deposits;
pub mod list;
pub mod new_payment;
pub mod route;
