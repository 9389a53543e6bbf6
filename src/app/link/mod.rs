//! Payment links: their merchant's operations, and those of visitors, who have no API key.

pub mod by_hand;
pub mod change;
pub mod create;
mod once;
pub mod order;
pub mod read;
pub(crate) mod subscribe;
pub mod visit;

use crate::app::Gateway;
use crate::{
    asset::catalogue::Catalogue,
    link::terms::{Terms, TermsError},
    storage::{StorageError, time_zones},
};

/// Reason why a merchant's link is not stored.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("there is no such link")]
    NotFound,
    #[error(transparent)]
    Terms(#[from] TermsError),
    #[error("accepted names {0:?}, which is no token such as usdtmatic@polygon")]
    UnknownToken(String),
    #[error("there are {max} links already; change one that is not used any more")]
    TooMany { max: i64 },
    #[error("time_zone names no time zone; write it as Europe/Berlin")]
    UnknownTimeZone,
    #[error("pin is for links of type pos")]
    PinWithoutTill,
    #[error("sandbox_day_seconds is for the sandbox")]
    SandboxOnly,
    #[error("the merchant is suspended")]
    Suspended,
    #[error("the Idempotency-Key was used with another request")]
    IdempotencyMismatch,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Checks the rules of the terms, and their tokens by the catalogue.
fn checked(terms: &Terms, is_sandbox: bool) -> Result<(), LinkError> {
    terms.check()?;
    if terms.sandbox_day_seconds.is_some() && !is_sandbox {
        return Err(LinkError::SandboxOnly);
    }
    let tokens = terms.accepted.iter().flatten();
    match tokens.into_iter().find(|token| Catalogue::get().by_token_id(token).is_none()) {
        None => Ok(()),
        Some(token) => Err(LinkError::UnknownToken(token.clone())),
    }
}

impl Gateway {
    /// Checks the time zone of a till, by the names that the database knows.
    async fn check_time_zone(&self, time_zone: Option<&str>) -> Result<(), LinkError> {
        let Some(time_zone) = time_zone else { return Ok(()) };
        let mut connection = self.db.connection().await?;
        let is_known = time_zones::is_known(&mut connection, time_zone).await?;
        if is_known { Ok(()) } else { Err(LinkError::UnknownTimeZone) }
    }
}
