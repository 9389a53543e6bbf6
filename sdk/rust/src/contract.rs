//! Types of the API. Values that may grow, such as states and networks, are text.

mod codes;
mod event;
mod link;
mod nc_payout;
mod payment;
mod payout;

pub use codes::ERROR_CODES;
pub use event::*;
pub use link::*;
pub use nc_payout::*;
pub use payment::*;
pub use payout::*;

use serde::{Deserialize, Serialize};

pub use crate::amount::Amount;

/// The transactions to sign, according to `kind`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NcPayload {
    /// With `evm_tx`: the transactions, in the order of the outputs.
    Transactions(Vec<NcTransaction>),
    /// With `psbt`: a PSBT of version 0 in base64.
    Psbt(String),
}

/// One page of a list. Pages are counted from 0.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    pub data: Vec<T>,
    pub limit: i64,
    pub page: i64,
    pub pages_count: i64,
    pub total: i64,
}
