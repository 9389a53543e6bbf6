//! A merchant's keys for the adapter: issued, replaced and revoked.

use uuid::Uuid;

use crate::{
    app::{Gateway, merchant::manage::MerchantError},
    legacy::keys::{self, PrivateKey},
    storage::legacy_keys::{self, PublicPart},
};

/// Shown once; the private key is kept sealed.
pub struct NewLegacyKeys {
    pub merchant_id: Uuid,
    pub public_key: String,
    pub private_key: PrivateKey,
}

impl Gateway {
    /// Gives a merchant new keys. The ones before are unknown from the next request on; IPNs are
    /// signed with the webhook secret and do not change.
    pub async fn issue_legacy_keys(&self, id: Uuid) -> Result<NewLegacyKeys, MerchantError> {
        self.check_master_key().await?;
        let (public_key, private_key) = (keys::new_public_key(), PrivateKey::generate());
        let sealed = self.master_keys.seal_legacy_key(id, private_key.reveal());
        let mut connection = self.db.connection().await?;
        if legacy_keys::replace(&mut connection, id, &public_key, &sealed).await? {
            Ok(NewLegacyKeys { merchant_id: id, public_key, private_key })
        } else {
            Err(MerchantError::Unknown(id))
        }
    }

    /// Removes a merchant's keys, and with them its hosted forms. Invoices that were created with
    /// them go on, and so do their IPNs. `false` if it has none.
    pub async fn revoke_legacy_keys(&self, id: Uuid) -> Result<bool, MerchantError> {
        let mut connection = self.db.connection().await?;
        Ok(legacy_keys::remove(&mut connection, id).await?)
    }

    /// The public part of a merchant's keys, if it has any.
    pub async fn legacy_keys(&self, id: Uuid) -> Result<Option<PublicPart>, MerchantError> {
        let mut connection = self.db.connection().await?;
        Ok(legacy_keys::of_merchant(&mut connection, id).await?)
    }
}
