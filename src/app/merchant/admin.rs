//! Merchants in the dashboard: listed page by page, suspended with a reason, given new keys by
//! somebody who has seen the old one's end.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::manage::MerchantError;
use crate::app::Gateway;
use crate::{
    merchant::{ApiKey, WebhookSecret},
    storage::{StorageError, audit, merchants, merchants::MerchantRow},
};

pub const REASON_CHARS_MAX: usize = 500;

impl Gateway {
    /// Merchants that are older than a place, the newest first; those whose name or id begins with
    /// `words`.
    pub async fn merchants_before(
        &self,
        words: &str,
        before: (DateTime<Utc>, Uuid),
        limit: i64,
    ) -> Result<Vec<MerchantRow>, StorageError> {
        let mut connection = self.db.connection().await?;
        merchants::page(&mut connection, words, before, limit).await
    }

    /// Suspends a merchant, or resumes it, with a reason for the audit log.
    pub async fn set_suspended_because(
        &self,
        id: Uuid,
        suspended: bool,
        reason: &str,
        by: &str,
    ) -> Result<(), MerchantError> {
        let reason: String = reason.trim().chars().take(REASON_CHARS_MAX).collect();
        let mut tx = self.db.begin().await?;
        if !merchants::set_suspended(&mut tx, id, suspended).await? {
            return Err(MerchantError::Unknown(id));
        }
        let act = ("merchant", if suspended { "suspend" } else { "resume" });
        audit::note(&mut tx, act, &id.to_string(), by, &reason).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(())
    }

    /// A new key in the place of the one that ends in `seen`: a form that is sent twice makes one.
    pub async fn rotate_key_seen(&self, id: Uuid, seen: &str) -> Result<ApiKey, MerchantError> {
        let key = ApiKey::generate();
        let mut tx = self.db.begin().await?;
        if !merchants::lock(&mut tx, id).await? {
            return Err(MerchantError::Unknown(id));
        }
        let row = merchants::by_id(&mut tx, id).await?.ok_or(MerchantError::Unknown(id))?;
        if row.api_key_preview != seen {
            return Err(MerchantError::ChangedMeanwhile);
        }
        merchants::replace_key(&mut tx, id, &key.record()).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(key)
    }

    /// A text that names the webhook secret in a form without saying anything about it.
    pub async fn secret_version(&self, id: Uuid) -> Result<String, MerchantError> {
        let mut connection = self.db.connection().await?;
        let version = merchants::secret_version(&mut connection, id).await?;
        version.ok_or(MerchantError::Unknown(id))
    }

    /// A new webhook secret in the place of the one with this version.
    pub async fn rotate_secret_seen(
        &self,
        id: Uuid,
        seen: &str,
    ) -> Result<WebhookSecret, MerchantError> {
        self.check_master_key().await?;
        let secret = WebhookSecret::generate();
        let sealed = self.master_keys.seal(id, &secret);
        let mut tx = self.db.begin().await?;
        if !merchants::lock(&mut tx, id).await? {
            return Err(MerchantError::Unknown(id));
        }
        if merchants::secret_version(&mut tx, id).await?.as_deref() != Some(seen) {
            return Err(MerchantError::ChangedMeanwhile);
        }
        merchants::replace_secret(&mut tx, id, &sealed).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(secret)
    }
}
