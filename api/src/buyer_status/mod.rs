//! The buyer's view of an invoice: `/v1/invoices/:id/status`.

pub mod route;
pub mod wire;
