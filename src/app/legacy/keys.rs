//! A merchant's keys for the adapter: issued, replaced and revoked.

use uuid::Uuid;

use crate::{
    app::{Gateway, merchant::manage::MerchantError},
    legacy::keys::{self, PrivateKey},
    storage::legacy_keys::{self, NewKeys, PublicPart},
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
    pub async fn issue_legacy_keys(
        &self,
        id: Uuid,
        may_withdraw: bool,
    ) -> Result<NewLegacyKeys, MerchantError> {
        let (keys, sealed) = self.new_legacy_keys(id).await?;
        let new = NewKeys { public_key: &keys.public_key, sealed: &sealed, may_withdraw };
        let mut connection = self.db.connection().await?;
        if legacy_keys::replace(&mut connection, id, &new).await? {
            Ok(keys)
        } else {
            Err(MerchantError::Unknown(id))
        }
    }

    /// The same while the merchant's public key is still the one that was shown, or while it has
    /// none where none was shown: a reload, or a second person, replaces nothing.
    pub async fn issue_legacy_keys_seen(
        &self,
        id: Uuid,
        seen: Option<&str>,
        may_withdraw: bool,
    ) -> Result<NewLegacyKeys, MerchantError> {
        let (keys, sealed) = self.new_legacy_keys(id).await?;
        let new = NewKeys { public_key: &keys.public_key, sealed: &sealed, may_withdraw };
        let mut connection = self.db.connection().await?;
        if legacy_keys::replace_seen(&mut connection, id, seen, &new).await? {
            Ok(keys)
        } else {
            Err(MerchantError::ChangedMeanwhile)
        }
    }

    async fn new_legacy_keys(&self, id: Uuid) -> Result<(NewLegacyKeys, Vec<u8>), MerchantError> {
        self.check_master_key().await?;
        let (public_key, private_key) = (keys::new_public_key(), PrivateKey::generate());
        let sealed = self.master_keys.seal_legacy_key(id, private_key.reveal());
        Ok((NewLegacyKeys { merchant_id: id, public_key, private_key }, sealed))
    }

    /// Removes a merchant's keys, and with them its hosted forms. Invoices that were created with
    /// them go on, and so do their IPNs. `false` if it has none.
    pub async fn revoke_legacy_keys(&self, id: Uuid) -> Result<bool, MerchantError> {
        let mut connection = self.db.connection().await?;
        Ok(legacy_keys::remove(&mut connection, id, None).await?)
    }

    /// The same for the keys that were shown, and no newer ones.
    pub async fn revoke_legacy_keys_seen(&self, id: Uuid, seen: &str) -> Result<(), MerchantError> {
        let mut connection = self.db.connection().await?;
        if legacy_keys::remove(&mut connection, id, Some(seen)).await? {
            Ok(())
        } else {
            Err(MerchantError::ChangedMeanwhile)
        }
    }

    /// The public part of a merchant's keys, if it has any.
    pub async fn legacy_keys(&self, id: Uuid) -> Result<Option<PublicPart>, MerchantError> {
        let mut connection = self.db.connection().await?;
        Ok(legacy_keys::of_merchant(&mut connection, id).await?)
    }
}
