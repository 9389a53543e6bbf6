//! The second factor: one-time codes of an authenticator app, and recovery codes in their place.

use secrecy::ExposeSecret;
use uuid::Uuid;

use super::{SignInError, session::Signed};
use crate::{
    account::{
        bearer::{Bearer, RECOVERY_CODES, RecoveryCode},
        session::Budget,
        totp::TotpSecret,
    },
    app::Gateway,
    storage::{
        self, PgConnection, StorageError,
        accounts::{self, guesses, sessions},
        audit,
    },
};

/// Recovery codes, shown once, and the new id of the session.
pub struct CodesSetUp {
    pub recovery: Vec<RecoveryCode>,
    pub session: Bearer,
}

impl Gateway {
    /// Completes a session by a one-time code or a recovery code, and gives it another id.
    pub async fn enter_code(&self, signed: &Signed, typed: &str) -> Result<Bearer, SignInError> {
        let (account_id, email) = (signed.row.account_id, &signed.row.email);
        let subject = account_id.to_string();
        let mut connection = self.db.connection().await?;
        if !guesses::take(&mut connection, Budget::Code, &subject).await? {
            return Err(SignInError::TooManyTries);
        }
        drop(connection);
        let mut tx = self.db.begin().await?;
        if !self.use_code(&mut tx, account_id, typed).await? {
            return Err(SignInError::WrongCode);
        }
        guesses::clear(&mut tx, Budget::Code, &subject).await?;
        let bearer = Bearer::generate();
        if !sessions::renew(&mut tx, signed.row.handle, &bearer.sha256()).await? {
            return Err(SignInError::Ended);
        }
        audit::note(&mut tx, ("session", "open"), email, email, "by password and code").await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(bearer)
    }

    /// Uses up a one-time code or a recovery code of an account, under the lock of its row.
    pub(super) async fn use_code(
        &self,
        connection: &mut PgConnection,
        account_id: Uuid,
        typed: &str,
    ) -> Result<bool, SignInError> {
        let account = accounts::lock(connection, account_id).await?;
        let account = account.ok_or(SignInError::Ended)?;
        let Some(sealed) = account.totp_sealed else { return Ok(false) };
        let secret = self.open_codes(account_id, &sealed)?;
        let now = storage::now(connection).await?;
        if let Some(step) = secret.step_of(typed, now, account.totp_step) {
            accounts::set_step(connection, account_id, step).await?;
            return Ok(true);
        }
        let code = RecoveryCode::sha256_of(typed);
        Ok(accounts::use_recovery_code(connection, account_id, &code).await?)
    }

    /// Makes a new secret, which counts once a code of it was entered. The one in use goes on until
    /// then.
    pub async fn begin_codes(&self, signed: &Signed) -> Result<TotpSecret, SignInError> {
        self.check_master_key().await?;
        let (id, secret) = (signed.row.account_id, TotpSecret::generate());
        let sealed = self.master_keys.seal_codes(id, secret.bytes());
        let mut connection = self.db.connection().await?;
        accounts::set_pending_codes(&mut connection, id, &sealed).await?;
        Ok(secret)
    }

    /// The secret that waits for its first code.
    pub async fn pending_codes(&self, signed: &Signed) -> Result<Option<TotpSecret>, SignInError> {
        let id = signed.row.account_id;
        let mut connection = self.db.connection().await?;
        let account = accounts::by_id(&mut connection, id).await?;
        let sealed = account.and_then(|account| account.totp_pending_sealed);
        sealed.map(|sealed| self.open_codes(id, &sealed)).transpose()
    }

    /// Makes the pending secret the account's second factor, by a code of it. Earlier recovery
    /// codes end, and all other sessions.
    pub async fn confirm_codes(
        &self,
        signed: &Signed,
        typed: &str,
    ) -> Result<CodesSetUp, SignInError> {
        let id = signed.row.account_id;
        let mut tx = self.db.begin().await?;
        let account = accounts::lock(&mut tx, id).await?.ok_or(SignInError::Ended)?;
        let sealed = account.totp_pending_sealed.ok_or(SignInError::Ended)?;
        let secret = self.open_codes(id, &sealed)?;
        let now = storage::now(&mut tx).await?;
        let step = secret.step_of(typed, now, 0).ok_or(SignInError::WrongCode)?;
        let recovery: Vec<_> = (0..RECOVERY_CODES).map(|_| RecoveryCode::generate()).collect();
        let hashes: Vec<_> = recovery.iter().map(|code| code.sha256().to_vec()).collect();
        accounts::confirm_codes(&mut tx, id, step, &hashes).await?;
        sessions::end_others(&mut tx, id, signed.row.handle).await?;
        let session = Bearer::generate();
        if !sessions::renew(&mut tx, signed.row.handle, &session.sha256()).await? {
            return Err(SignInError::Ended);
        }
        tx.commit().await.map_err(StorageError::from)?;
        Ok(CodesSetUp { recovery, session })
    }

    pub async fn recovery_codes_left(&self, signed: &Signed) -> Result<i64, StorageError> {
        let mut connection = self.db.connection().await?;
        accounts::recovery_codes_left(&mut connection, signed.row.account_id).await
    }

    fn open_codes(&self, account_id: Uuid, sealed: &[u8]) -> Result<TotpSecret, SignInError> {
        let opened = self.master_keys.open_codes(account_id, sealed).ok();
        let bytes = opened.and_then(|(open, _)| open.expose_secret().as_slice().try_into().ok());
        let bytes = bytes.ok_or_else(|| StorageError::damaged("account", "a sealed secret"))?;
        Ok(TotpSecret::from_bytes(bytes))
    }
}
