//! The second factor: one-time codes of an authenticator app, and recovery codes in their place.

use secrecy::ExposeSecret;
use uuid::Uuid;

use super::{SignInError, Visitor, budget, open::Opened, session::Signed};
use crate::{
    account::{
        bearer::{Bearer, RECOVERY_CODES, RecoveryCode},
        factor::Factors,
        totp::TotpSecret,
    },
    app::Gateway,
    storage::{
        self, PgConnection, StorageError,
        accounts::{
            self,
            sessions::{self, Factor},
        },
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
    pub async fn enter_code(
        &self,
        signed: &Signed,
        typed: &str,
        visitor: &Visitor,
    ) -> Result<(Opened, Factor), SignInError> {
        let (account_id, email) = (signed.row.account_id, signed.row.email.as_str());
        let mut connection = self.db.connection().await?;
        let taken = budget::take_code(&mut connection, account_id, visitor).await?;
        drop(connection);
        let mut tx = self.db.begin().await?;
        let factor = self.use_code(&mut tx, account_id, typed).await?;
        let factor = factor.ok_or(SignInError::WrongCode)?;
        budget::give_back(&mut tx, &taken).await?;
        let (who, handle) = ((account_id, email), signed.row.handle);
        let opened = self.complete_session(&mut tx, who, handle, factor, visitor).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok((opened, factor))
    }

    /// Uses up a one-time code or a recovery code of an account, under the lock of its row.
    pub(super) async fn use_code(
        &self,
        connection: &mut PgConnection,
        account_id: Uuid,
        typed: &str,
    ) -> Result<Option<Factor>, SignInError> {
        let account = accounts::lock(connection, account_id).await?;
        let account = account.filter(|account| !account.disabled).ok_or(SignInError::Ended)?;
        if let Some(sealed) = account.totp_sealed {
            let secret = self.open_codes(account_id, &sealed)?;
            let now = storage::now(connection).await?;
            if let Some(step) = secret.step_of(typed, now, account.totp_step) {
                accounts::set_step(connection, account_id, step).await?;
                return Ok(Some(Factor::Code));
            }
        }
        let code = RecoveryCode::sha256_of(typed);
        if !accounts::use_recovery_code(connection, account_id, &code).await? {
            return Ok(None);
        }
        let left = accounts::factors(connection, account_id).await?.recovery_codes;
        let detail = format!("{left} are left");
        let email = &account.email;
        audit::note(connection, ("security", "recovery code used"), email, email, &detail).await?;
        Ok(Some(Factor::Recovery))
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
        let (id, handle) = (signed.row.account_id, signed.row.handle);
        let mut connection = self.db.connection().await?;
        let taken = budget::take_confirmation(&mut connection, handle).await?;
        drop(connection);
        let mut tx = self.db.begin().await?;
        let account = accounts::lock(&mut tx, id).await?.ok_or(SignInError::Ended)?;
        let sealed = account.totp_pending_sealed.ok_or(SignInError::NothingPending)?;
        let secret = self.open_codes(id, &sealed)?;
        let now = storage::now(&mut tx).await?;
        let step = secret.step_of(typed, now, 0).ok_or(SignInError::WrongCode)?;
        budget::give_back(&mut tx, &taken).await?;
        accounts::confirm_codes(&mut tx, id, step).await?;
        let recovery = replace_recovery(&mut tx, id).await?;
        let (email, act) = (&account.email, ("security", "authenticator app set up"));
        audit::note(&mut tx, act, email, email, "earlier recovery codes have ended").await?;
        let session = renew_alone(&mut tx, id, handle, Some(Factor::Code)).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(CodesSetUp { recovery, session })
    }

    /// Takes the authenticator app away, if what is left is enough.
    pub async fn remove_codes(&self, signed: &Signed) -> Result<Bearer, SignInError> {
        let (id, handle) = (signed.row.account_id, signed.row.handle);
        let mut tx = self.db.begin().await?;
        let account = accounts::lock(&mut tx, id).await?.ok_or(SignInError::Ended)?;
        if account.totp_sealed.is_none() {
            return Err(SignInError::NothingPending);
        }
        accounts::factors(&mut tx, id).await?.without_codes()?;
        accounts::remove_codes(&mut tx, id).await?;
        let (email, act) = (&account.email, ("security", "authenticator app removed"));
        audit::note(&mut tx, act, email, email, "passkeys are left").await?;
        let session = renew_alone(&mut tx, id, handle, None).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(session)
    }

    /// Replaces the recovery codes of an account that has a second factor.
    pub async fn replace_recovery_codes(&self, signed: &Signed) -> Result<CodesSetUp, SignInError> {
        let (id, handle) = (signed.row.account_id, signed.row.handle);
        let mut tx = self.db.begin().await?;
        let account = accounts::lock(&mut tx, id).await?.ok_or(SignInError::Ended)?;
        if !accounts::factors(&mut tx, id).await?.is_any() {
            return Err(SignInError::NoFactor);
        }
        let recovery = replace_recovery(&mut tx, id).await?;
        let (email, act) = (&account.email, ("security", "recovery codes replaced"));
        audit::note(&mut tx, act, email, email, "the earlier ones have ended").await?;
        let session = Bearer::generate();
        if !sessions::renew(&mut tx, handle, &session.sha256(), None).await? {
            return Err(SignInError::Ended);
        }
        tx.commit().await.map_err(StorageError::from)?;
        Ok(CodesSetUp { recovery, session })
    }

    /// The second factors of the account that is signed in.
    pub async fn factors(&self, signed: &Signed) -> Result<Factors, StorageError> {
        let mut connection = self.db.connection().await?;
        accounts::factors(&mut connection, signed.row.account_id).await
    }

    fn open_codes(&self, account_id: Uuid, sealed: &[u8]) -> Result<TotpSecret, SignInError> {
        let opened = self.master_keys.open_codes(account_id, sealed).ok();
        let bytes = opened.and_then(|(open, _)| open.expose_secret().as_slice().try_into().ok());
        let bytes = bytes.ok_or_else(|| StorageError::damaged("account", "a sealed secret"))?;
        Ok(TotpSecret::from_bytes(bytes))
    }
}

/// Makes recovery codes in the place of all earlier ones.
pub(super) async fn replace_recovery(
    connection: &mut PgConnection,
    account_id: Uuid,
) -> Result<Vec<RecoveryCode>, StorageError> {
    let recovery: Vec<_> = (0..RECOVERY_CODES).map(|_| RecoveryCode::generate()).collect();
    let hashes: Vec<_> = recovery.iter().map(|code| code.sha256().to_vec()).collect();
    accounts::replace_recovery_codes(connection, account_id, &hashes).await?;
    Ok(recovery)
}

/// Ends all other sessions of an account and gives this one another id.
pub(super) async fn renew_alone(
    connection: &mut PgConnection,
    account_id: Uuid,
    handle: Uuid,
    factor: Option<Factor>,
) -> Result<Bearer, SignInError> {
    sessions::end_others(connection, account_id, handle).await?;
    let session = Bearer::generate();
    if !sessions::renew(connection, handle, &session.sha256(), factor).await? {
        return Err(SignInError::Ended);
    }
    Ok(session)
}
