//! The master key: proven at every start, and rotated while everything runs.
//!
//! A wrong key would show at the first delivery only, and by then dead letters grow. So the
//! database keeps a proof that only the right key opens, and a process that cannot open it begins
//! no work. A rotation runs with both keys everywhere: it seals each secret anew, and moves the
//! proof last.

use std::time::Duration;

use secrecy::ExposeSecret;
use uuid::Uuid;

use super::doctor::with_causes;
use crate::app::{Gateway, within};
use crate::{
    merchant::secret::OpenedBy,
    storage::{
        PgConnection, StorageError, accounts, legacy_keys,
        sealed::{self, Resealed},
    },
};

/// The time that a start waits for the database before it begins without having asked it.
const CHECK_LIMIT: Duration = Duration::from_secs(5);
/// Of the oldest and of the newest secrets, where a database from before the proof has none. One
/// damaged row proves nothing.
const SAMPLES_EACH: i64 = 8;
/// Rows of merchants that one commit of a rotation holds.
pub const BATCH: i64 = 200;

#[derive(Debug, thiserror::Error)]
pub enum MasterKeyError {
    #[error(
        "{} what this database holds sealed: set the key that the running programs have, or during a rotation both",
        if *.both { "neither GATEWAY_MASTER_KEY nor GATEWAY_MASTER_KEY_OLD opens" } else { "GATEWAY_MASTER_KEY does not open" }
    )]
    Wrong { both: bool },
    #[error(
        "a rotation needs both keys: the new one in GATEWAY_MASTER_KEY, the one before it in GATEWAY_MASTER_KEY_OLD, here and in \
         every running program"
    )]
    OneKey,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The result of one batch of a rotation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// The start of the next batch; `None` after the last one.
    pub next: Option<Uuid>,
    pub seen: usize,
    pub resealed: u64,
    /// Merchants whose secret opens under neither key.
    pub damaged: Vec<Uuid>,
}

impl Gateway {
    /// The key that the database's proof names, or that its secrets do where it has no proof yet;
    /// `None` where nothing is sealed. Only reads.
    pub async fn look_at_master_key(&self) -> Result<Option<OpenedBy>, MasterKeyError> {
        let mut connection = self.db.connection().await?;
        match sealed::proof(&mut connection).await? {
            Some(proof) => self.master_keys.maker_of_proof(&proof).map(Some).ok_or(self.wrong()),
            None => self.judge_by_secrets(&mut connection).await,
        }
    }

    /// Refuses a key that is not the database's. The first to ask leaves the proof for all others.
    pub async fn check_master_key(&self) -> Result<(), MasterKeyError> {
        let mut connection = self.db.connection().await?;
        if sealed::proof(&mut connection).await?.is_none() {
            let by = self.judge_by_secrets(&mut connection).await?;
            // Halfway through a rotation that began before there were proofs, the next rotation
            // leaves one.
            if by != Some(OpenedBy::Old) {
                let proof = self.master_keys.current().seal_proof();
                sealed::insert_proof(&mut connection, &proof).await?;
            }
        }
        drop(connection);
        self.look_at_master_key().await.map(drop)
    }

    /// The same at a start, if the database answers in time: `false` if it did not.
    pub(crate) async fn check_master_key_soon(&self) -> Result<bool, MasterKeyError> {
        match within(CHECK_LIMIT, self.check_master_key()).await {
            Ok(()) => Ok(true),
            Err(MasterKeyError::Storage(error)) => {
                let error = with_causes(&error);
                tracing::warn!(error, "the master key could not be compared with the database yet");
                Ok(false)
            }
            Err(error @ (MasterKeyError::Wrong { .. } | MasterKeyError::OneKey)) => Err(error),
        }
    }

    async fn judge_by_secrets(
        &self,
        connection: &mut PgConnection,
    ) -> Result<Option<OpenedBy>, MasterKeyError> {
        let secrets = sealed::samples(connection, SAMPLES_EACH).await?;
        let opened: Vec<_> = secrets
            .iter()
            .filter_map(|secret| self.master_keys.reseal(secret.merchant_id, &secret.sealed).ok())
            .collect();
        match (secrets.is_empty(), opened.is_empty()) {
            (true, _) => Ok(None),
            (false, true) => Err(self.wrong()),
            (false, false) if opened.iter().any(Option::is_some) => Ok(Some(OpenedBy::Old)),
            (false, false) => Ok(Some(OpenedBy::Current)),
        }
    }

    fn wrong(&self) -> MasterKeyError {
        MasterKeyError::Wrong { both: self.master_keys.has_old() }
    }

    /// The number of secrets that a rotation walks through.
    pub async fn secrets_to_rotate(&self) -> Result<i64, MasterKeyError> {
        if !self.master_keys.has_old() {
            return Err(MasterKeyError::OneKey);
        }
        self.look_at_master_key().await?;
        Ok(sealed::count(&mut *self.db.connection().await?).await?)
    }

    /// Seals the next secrets after `after` under the current key, in one commit. Those that are
    /// already stay as they are, so a rotation that was cut off begins again from the first.
    pub async fn rotate_batch(&self, after: Uuid) -> Result<Batch, MasterKeyError> {
        let mut connection = self.db.connection().await?;
        let secrets = sealed::after(&mut connection, after, BATCH).await?;
        let full = i64::try_from(secrets.len()).is_ok_and(|seen| seen == BATCH);
        let next = secrets.last().map(|last| last.merchant_id).filter(|_| full);
        let (seen, mut damaged, mut anew) = (secrets.len(), Vec::new(), Vec::new());
        for secret in secrets {
            let (merchant_id, before) = (secret.merchant_id, secret.sealed);
            match self.master_keys.reseal(merchant_id, &before) {
                Ok(Some(after)) => anew.push(Resealed { merchant_id, before, after }),
                Ok(None) => {}
                Err(_) => damaged.push(merchant_id),
            }
        }
        let resealed =
            if anew.is_empty() { 0 } else { sealed::reseal(&mut connection, &anew).await? };
        Ok(Batch { next, seen, resealed, damaged })
    }

    /// Seals the secrets of the one-time codes of all accounts under the current key. Accounts are
    /// few, so this is no walk of its own. A damaged one stays as it is: its owner needs another.
    async fn reseal_codes(&self, connection: &mut PgConnection) -> Result<(), StorageError> {
        let mut after = Uuid::nil();
        loop {
            let secrets = accounts::sealed_codes(connection, after, BATCH).await?;
            let Some(last) = secrets.last() else { return Ok(()) };
            after = last.account_id;
            for secret in &secrets {
                let id = secret.account_id;
                let opened = self.master_keys.open_codes(id, &secret.sealed);
                if let Ok((open, OpenedBy::Old)) = opened {
                    let anew = self.master_keys.seal_codes(id, open.expose_secret());
                    accounts::reseal_codes(connection, secret, &anew).await?;
                }
            }
        }
    }

    /// The same for the private keys of the `/legacy` adapter.
    async fn reseal_legacy_keys(&self, connection: &mut PgConnection) -> Result<(), StorageError> {
        let mut after = Uuid::nil();
        loop {
            let keys = legacy_keys::after(connection, after, BATCH).await?;
            let Some(last) = keys.last() else { return Ok(()) };
            after = last.merchant_id;
            for key in &keys {
                let resealed = self.master_keys.reseal_legacy_key(key.merchant_id, &key.sealed);
                if let Ok(Some(anew)) = resealed {
                    legacy_keys::reseal(connection, key, &anew).await?;
                }
            }
        }
    }

    /// Moves the proof to the current key: from now on the old one is needed no more. To be called
    /// after a whole walk that found nothing to seal anew.
    pub async fn finish_rotation(&self) -> Result<(), MasterKeyError> {
        let mut connection = self.db.connection().await?;
        self.reseal_codes(&mut connection).await?;
        self.reseal_legacy_keys(&mut connection).await?;
        let proof = self.master_keys.current().seal_proof();
        match sealed::proof(&mut connection).await? {
            None => sealed::insert_proof(&mut connection, &proof).await?,
            Some(before) => match self.master_keys.maker_of_proof(&before) {
                None => return Err(self.wrong()),
                Some(OpenedBy::Current) => {}
                Some(OpenedBy::Old) => {
                    sealed::replace_proof(&mut connection, &before, &proof).await?;
                }
            },
        }
        Ok(())
    }
}
