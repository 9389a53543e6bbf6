//! The rules of an invoice. Pure: no clock, no database, no network.
//!
//! [`lifecycle`] decides every status, [`deadline`] what was in time, [`quote`] what must be paid, [`vocabulary`] how a
//! status is called where, [`payment`] what a merchant gets to see, [`buyer_phase`] what a buyer is to do, and
//! [`payment_uri`] what a wallet reads; [`schema`] describes the payment to machines.

pub mod buyer_phase;
pub mod deadline;
pub mod id;
pub mod lifecycle;
pub mod payment;
pub mod payment_uri;
pub mod quote;
pub mod schema;
pub mod vocabulary;

pub use id::PaymentId;
pub use vocabulary::Status;
