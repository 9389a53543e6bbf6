//! Authentication and rate limits of requests.

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::app::{Gateway, keyed_limiter::KeyedLimiter};
pub use crate::storage::access::BuyerBudget;
use crate::{
    merchant::ApiKey,
    storage::{
        StorageError,
        access::{self, Caller},
    },
};

/// Concurrent admissions per rate-limit budget; the others wait, at most as long as their request
/// may take. More of them would wait for the row lock of the budget, each with a database
/// connection that all other requests need.
const TOGETHER: usize = 2;

/// Admissions in progress.
#[derive(Default)]
pub(crate) struct Admissions {
    merchants: KeyedLimiter<[u8; 32]>,
    buyers: KeyedLimiter<(BuyerBudget, Box<str>)>,
}

#[derive(Debug, thiserror::Error)]
pub enum NotAdmitted {
    #[error("no merchant has this key")]
    UnknownKey,
    #[error("the merchant is suspended")]
    Suspended,
    #[error("60 requests in 60 seconds were accepted already")]
    TooManyRequests,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Gateway {
    /// Authenticates a merchant's request and counts it against the merchant's rate limit.
    pub async fn admit_merchant(&self, key: &ApiKey) -> Result<Caller, NotAdmitted> {
        let key = key.sha256();
        let (turn, db) = (self.admissions.merchants.take(key, TOGETHER).await, self.db.clone());
        let asked =
            turn.during(
                async move { access::admit_merchant(&mut *db.connection().await?, &key).await },
            );
        let caller = asked.await.unwrap_or(Err(StorageError::TimedOut))?;
        let caller = caller.ok_or(NotAdmitted::UnknownKey)?;
        if caller.suspended {
            Err(NotAdmitted::Suspended)
        } else if caller.admitted {
            Ok(caller)
        } else {
            Err(NotAdmitted::TooManyRequests)
        }
    }

    /// Counts a request of a merchant who was authenticated in another way against the same budget.
    pub(crate) async fn take_request(&self, merchant_id: Uuid) -> Result<bool, StorageError> {
        let who = Sha256::digest(merchant_id.as_bytes()).into();
        let (turn, db) = (self.admissions.merchants.take(who, TOGETHER).await, self.db.clone());
        let asked = turn.during(async move {
            access::take_request(&mut *db.connection().await?, merchant_id).await
        });
        asked.await.unwrap_or(Err(StorageError::TimedOut))
    }

    /// Counts a buyer's request against one of the rate limits of its address (one address, or one
    /// IPv6 network of 64 bits).
    pub async fn admit_buyer(&self, budget: BuyerBudget, client: &str) -> Result<(), NotAdmitted> {
        let who = (budget, client.into());
        let (turn, db) = (self.admissions.buyers.take(who, TOGETHER).await, self.db.clone());
        let client = client.to_owned();
        let asked = turn.during(async move {
            access::admit_buyer(&mut *db.connection().await?, budget, &client).await
        });
        if asked.await.unwrap_or(Err(StorageError::TimedOut))? {
            Ok(())
        } else {
            Err(NotAdmitted::TooManyRequests)
        }
    }
}
