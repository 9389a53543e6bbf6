//! Rules of an invoice. Pure: no clock, no database, no network.
//!
//! [`lifecycle`] decides every status, [`deadline`] which deposits came in time, [`quote`] the
//! amount due, [`vocabulary`] the names of a status, [`payment`] the merchant's view,
//! [`buyer_phase`] the buyer's next action, [`happening`] what became of a payment that does not
//! count, [`payment_uri`] and [`wallet_links`] the
//! texts for wallets; [`schema`]
//! describes the payment in OpenAPI.

pub mod buyer_phase;
pub mod deadline;
pub mod happening;
pub mod id;
pub mod lifecycle;
pub mod payment;
pub mod payment_uri;
pub mod quote;
pub mod schema;
pub mod vocabulary;
pub mod wallet_links;

pub use id::PaymentId;
pub use vocabulary::{InvoiceType, Pricing, Status};
