//! Merchants: created, given new keys and secrets, suspended and resumed. By operators only.

use uuid::Uuid;

use crate::app::{Gateway, operator::master_key::MasterKeyError};
use crate::{
    asset::catalogue::Catalogue,
    egress::guard::UrlRefused,
    merchant::{
        ApiKey, WebhookSecret,
        front::is_deceptive,
        settings::{Settings, SettingsError},
    },
    storage::{StorageError, merchants, merchants::MerchantRow},
};

pub const MERCHANTS_LISTED_MAX: i64 = 10_000;

#[derive(Debug, thiserror::Error)]
pub enum MerchantError {
    #[error("no merchant has the id {0}")]
    Unknown(Uuid),
    #[error("the merchant {0} was created already; its key and secret were shown then")]
    AlreadyThere(Uuid),
    #[error("somebody changed this meanwhile; look at it as it is now, and decide again")]
    ChangedMeanwhile,
    #[error("a name is 1 to 200 characters")]
    Name,
    #[error(
        "buyers read this name: it must hold no hidden character, and no word that mixes Latin letters with Cyrillic or Greek ones"
    )]
    DeceptiveName,
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("{0} is not a currency; write CODE or CODE@NETWORK as in `gatewayctl currency list`")]
    UnknownCurrency(String),
    #[error(
        "the {what} URL must begin with {schemes}, name a host, hold no password and have at most 2048 characters"
    )]
    Url { what: &'static str, schemes: String },
    #[error("the address for webhooks of payments {0}")]
    DefaultCallback(UrlRefused),
    #[error(transparent)]
    MasterKey(#[from] MasterKeyError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Shown once; only the key's hash and the sealed secret are kept.
pub struct NewMerchant {
    pub id: Uuid,
    pub api_key: ApiKey,
    pub webhook_secret: WebhookSecret,
}

impl Gateway {
    pub async fn create_merchant(
        &self,
        name: &str,
        settings: Settings,
    ) -> Result<NewMerchant, MerchantError> {
        self.create_merchant_as(Uuid::now_v7(), name, settings).await
    }

    /// The same under an id that was made beforehand, so that a repeated request makes no second
    /// merchant but fails ([`MerchantError::AlreadyThere`]).
    pub async fn create_merchant_as(
        &self,
        id: Uuid,
        name: &str,
        mut settings: Settings,
    ) -> Result<NewMerchant, MerchantError> {
        let name = checked_name(name)?;
        settings.check(self.config.window_seconds_min())?;
        settings.accepted = settings.accepted.map(token_ids).transpose()?;
        self.check_master_key().await?;
        let new = NewMerchant {
            id,
            api_key: ApiKey::generate(),
            webhook_secret: WebhookSecret::generate(),
        };
        let sealed = self.master_keys.seal(new.id, &new.webhook_secret);
        let mut connection = self.db.connection().await?;
        let key = new.api_key.record();
        let done = merchants::insert(&mut connection, new.id, name, &key, &sealed, &settings).await;
        match done {
            Ok(()) => Ok(new),
            Err(error) if error.is_constraint("merchant_pkey") => {
                Err(MerchantError::AlreadyThere(id))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A new key; the old one is unknown from the next request on.
    pub async fn rotate_key(&self, id: Uuid) -> Result<ApiKey, MerchantError> {
        let key = ApiKey::generate();
        let mut connection = self.db.connection().await?;
        let known = merchants::replace_key(&mut connection, id, &key.record()).await?;
        if known { Ok(key) } else { Err(MerchantError::Unknown(id)) }
    }

    /// A new webhook secret; it signs from the next attempt on, retries included.
    pub async fn rotate_secret(&self, id: Uuid) -> Result<WebhookSecret, MerchantError> {
        self.check_master_key().await?;
        let secret = WebhookSecret::generate();
        let sealed = self.master_keys.seal(id, &secret);
        let mut connection = self.db.connection().await?;
        let known = merchants::replace_secret(&mut connection, id, &sealed).await?;
        if known { Ok(secret) } else { Err(MerchantError::Unknown(id)) }
    }

    /// A suspended merchant creates nothing; open invoices still take payments and send events.
    pub async fn set_suspended(&self, id: Uuid, suspended: bool) -> Result<(), MerchantError> {
        let mut connection = self.db.connection().await?;
        let known = merchants::set_suspended(&mut connection, id, suspended).await?;
        if known { Ok(()) } else { Err(MerchantError::Unknown(id)) }
    }

    pub async fn merchant(&self, id: Uuid) -> Result<MerchantRow, MerchantError> {
        let mut connection = self.db.connection().await?;
        merchants::by_id(&mut connection, id).await?.ok_or(MerchantError::Unknown(id))
    }

    pub async fn merchants(&self) -> Result<Vec<MerchantRow>, MerchantError> {
        let mut connection = self.db.connection().await?;
        Ok(merchants::list(&mut connection, MERCHANTS_LISTED_MAX).await?)
    }
}

/// A merchant's name without the space around it.
pub(super) fn checked_name(name: &str) -> Result<&str, MerchantError> {
    let name = name.trim();
    if !(1..=200).contains(&name.chars().count()) {
        return Err(MerchantError::Name);
    }
    if is_deceptive(name) { Err(MerchantError::DeceptiveName) } else { Ok(name) }
}

/// `CODE` or `CODE@NETWORK`, in any order, to `code@network` without repeats.
pub(super) fn token_ids(names: Vec<String>) -> Result<Vec<String>, MerchantError> {
    let mut ids = Vec::with_capacity(names.len());
    for name in names {
        let currency = Catalogue::get().named(name.trim());
        let id = currency.ok_or(MerchantError::UnknownCurrency(name))?.token_id();
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}
