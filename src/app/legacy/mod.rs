//! The `/legacy` adapter: what clients of the old CoinPayments API ask for.

pub mod account;
pub mod address;
pub mod admit;
pub mod create;
pub mod forms;
pub mod keys;
pub mod read;
pub mod tickers;
pub mod withdraw;

use super::invoice::create::CreateError;
use crate::{legacy::Refusal, storage::StorageError};

/// Reason why a request has no result.
#[derive(Debug, thiserror::Error)]
pub enum LegacyError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<CreateError> for LegacyError {
    fn from(error: CreateError) -> Self {
        Self::Refused(match error {
            CreateError::Storage(error) => return Self::Storage(error),
            CreateError::UnsupportedFiat => Refusal::Currency("currency1"),
            CreateError::CurrencyNotSupported => Refusal::Currency("currency2"),
            CreateError::DirectAmount(_) | CreateError::Quote(_) => Refusal::Amount,
            CreateError::BelowMinimum { .. } => Refusal::TooSmall,
            CreateError::NoEligibleCurrency => Refusal::NotAccepted,
            CreateError::QuotaExceeded => Refusal::Quota,
            CreateError::Suspended => Refusal::Suspended,
            CreateError::NoFreshRate(_) => Refusal::NoRate,
            CreateError::NoAddress(error) => {
                tracing::error!(%error, "no address for a legacy transaction");
                Refusal::NoAddress
            }
            // The adapter creates no such requests.
            CreateError::DirectWithoutCurrency
            | CreateError::DirectInOtherCurrency
            | CreateError::IdempotencyMismatch => {
                tracing::error!(%error, "a legacy transaction was refused without a reason");
                Refusal::Internal
            }
        })
    }
}
