//! Client and webhook verification for the crypto payment gateway's API, version 1.

mod amount;
mod client;
pub mod contract;
mod error;
mod lists;
mod receive;
mod transport;
mod webhooks;
pub mod x402;

pub use amount::{Amount, NoAmount};
pub use client::{EventQuery, Gateway, MassPayouts, NcPayouts, PaymentQuery, Payments, PayoutQuery};
pub use error::{ApiError, Error, Kind};
pub use lists::{Each, Events};
#[cfg(feature = "axum")]
pub use receive::axum;
pub use receive::{Payable, Paying, Transactions, receive_payment_ipn, receive_payout_webhook};
pub use transport::Options;
pub use webhooks::{
    PAYMENT_SIGNATURE_HEADER, PAYOUT_SIGNATURE_HEADER, PaymentEvent, Refused, is_test, verify_payment_ipn, verify_payout_webhook,
};
