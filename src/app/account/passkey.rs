//! Passkeys: registered, used to sign in, as a second factor and as a fresh proof, and removed.

use sha2::{Digest, Sha256};
use url::Url;
use uuid::Uuid;

use super::{
    SignInError, Visitor,
    open::{Opened, Proof},
    second_factor::{renew_alone, replace_recovery},
    session::Signed,
};
use crate::{
    account::{
        bearer::{Bearer, RecoveryCode},
        passkey::{self, Ceremony, Challenge, NAME_CHARS_MAX, PASSKEYS_MAX, Purpose, Refused},
    },
    app::Gateway,
    storage::{
        self, PgConnection, StorageError,
        accounts::{
            self,
            passkeys::{self, ListedPasskey, PasskeyRow},
            sessions::{self, Factor, OpenedBy},
        },
        audit,
    },
};

/// The key of challenges is derived from the master key for this alone.
const CHALLENGES: &[u8] = b"challenges of passkeys";

/// Everything that a page's script passes to the browser.
#[derive(Debug, Clone)]
pub struct Question {
    pub challenge: String,
    pub rp_id: String,
    /// Credentials that are asked for, or that must not be made again.
    pub credentials: Vec<String>,
    /// The account's id, by which its passkeys name it.
    pub user_handle: String,
}

/// An authenticator's answer, as the form posts it.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub credential_id: Vec<u8>,
    pub client_data: Vec<u8>,
    pub authenticator_data: Vec<u8>,
    pub signature: Vec<u8>,
    pub user_handle: Vec<u8>,
}

/// A passkey that was added: recovery codes if the account had none, and the session's new id.
pub struct Added {
    pub recovery: Vec<RecoveryCode>,
    pub session: Bearer,
}

impl Gateway {
    /// A challenge for `holder`, the session or the browser that sees it.
    pub async fn ask_for_passkey(
        &self,
        purpose: Purpose,
        holder: &str,
        signed: Option<&Signed>,
    ) -> Result<Question, SignInError> {
        let mut connection = self.db.connection().await?;
        let now = storage::now(&mut connection).await?.timestamp();
        let challenge = Challenge::generate(now);
        let text = challenge.authenticated(purpose, holder);
        let mac = self.master_keys.current().digest(CHALLENGES, &text);
        let (mut credentials, mut user_handle) = (Vec::new(), String::new());
        if let Some(signed) = signed {
            let known = passkeys::of_account(&mut connection, signed.row.account_id).await?;
            credentials.extend(known.iter().map(|known| passkey::encode(&known.credential_id)));
            user_handle = passkey::encode(signed.row.account_id.as_bytes());
        }
        let challenge = passkey::encode(&challenge.with_mac(&mac));
        Ok(Question { challenge, rp_id: self.site()?.rp_id, credentials, user_handle })
    }

    /// Signs in by a passkey, which names its account and stands for both factors.
    pub async fn sign_in_by_passkey(
        &self,
        holder: &str,
        answer: &Answer,
        visitor: &Visitor,
    ) -> Result<Opened, SignInError> {
        let mut tx = self.db.begin().await?;
        let purpose = Purpose::SignIn;
        let used = self.use_passkey(&mut tx, purpose, holder, answer, None).await?;
        let proof = Proof { opened_by: OpenedBy::Passkey, hash: None, merchant_id: None };
        let opened = self.open_session(&mut tx, used.account_id, proof, visitor).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(opened)
    }

    /// Completes a session that was begun by a password.
    pub async fn enter_passkey(
        &self,
        signed: &Signed,
        holder: &str,
        answer: &Answer,
        visitor: &Visitor,
    ) -> Result<Opened, SignInError> {
        let id = signed.row.account_id;
        let mut tx = self.db.begin().await?;
        self.use_passkey(&mut tx, Purpose::SecondFactor, holder, answer, Some(id)).await?;
        let (who, handle) = ((id, signed.row.email.as_str()), signed.row.handle);
        let opened = self.complete_session(&mut tx, who, handle, Factor::Passkey, visitor).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(opened)
    }

    /// Proves again that the account itself sits there, and gives the session another id.
    pub async fn confirm_by_passkey(
        &self,
        signed: &Signed,
        holder: &str,
        answer: &Answer,
    ) -> Result<Bearer, SignInError> {
        let id = signed.row.account_id;
        let mut tx = self.db.begin().await?;
        self.use_passkey(&mut tx, Purpose::Confirm, holder, answer, Some(id)).await?;
        let bearer = Bearer::generate();
        if !sessions::renew(&mut tx, signed.row.handle, &bearer.sha256(), None).await? {
            return Err(SignInError::Ended);
        }
        tx.commit().await.map_err(StorageError::from)?;
        Ok(bearer)
    }

    /// Adds a passkey to an account. Its other sessions end. Its first second factor comes with
    /// recovery codes.
    pub async fn add_passkey(
        &self,
        signed: &Signed,
        holder: &str,
        answer: &Answer,
        typed_name: &str,
    ) -> Result<Added, SignInError> {
        let (id, handle) = (signed.row.account_id, signed.row.handle);
        let site = self.site()?;
        let name: String = typed_name.trim().chars().take(NAME_CHARS_MAX).collect();
        let name = if name.is_empty() { "Passkey".to_owned() } else { name };
        let credential =
            passkey::new_credential(&answer.authenticator_data, &site.rp_id).map_err(refused)?;
        let mut tx = self.db.begin().await?;
        let (purpose, create) = (Purpose::Register, Ceremony::Create);
        self.use_challenge(&mut tx, (purpose, create), holder, &answer.client_data).await?;
        let account = accounts::lock(&mut tx, id).await?.ok_or(SignInError::Ended)?;
        let before = accounts::factors(&mut tx, id).await?;
        if before.passkeys >= PASSKEYS_MAX {
            return Err(SignInError::TooManyPasskeys);
        }
        if !passkeys::insert(&mut tx, id, &credential, &name).await? {
            return Err(refused(Refused::Credential));
        }
        let email = &account.email;
        audit::note(&mut tx, ("security", "passkey added"), email, email, &name).await?;
        let recovery = match before.recovery_codes {
            0 => replace_recovery(&mut tx, id).await?,
            _ => Vec::new(),
        };
        let session = renew_alone(&mut tx, id, handle, Some(Factor::Passkey)).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(Added { recovery, session })
    }

    /// Removes a passkey, if what is left is enough. `None` if the account has no such passkey.
    pub async fn remove_passkey(
        &self,
        signed: &Signed,
        passkey_id: Uuid,
    ) -> Result<Option<Bearer>, SignInError> {
        let (id, handle) = (signed.row.account_id, signed.row.handle);
        let mut tx = self.db.begin().await?;
        let account = accounts::lock(&mut tx, id).await?.ok_or(SignInError::Ended)?;
        let before = accounts::factors(&mut tx, id).await?;
        let Some(name) = passkeys::delete(&mut tx, id, passkey_id).await? else {
            return Ok(None);
        };
        before.without_one_passkey()?;
        let email = &account.email;
        audit::note(&mut tx, ("security", "passkey removed"), email, email, &name).await?;
        let session = renew_alone(&mut tx, id, handle, None).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(Some(session))
    }

    pub async fn passkeys_of(&self, signed: &Signed) -> Result<Vec<ListedPasskey>, StorageError> {
        let mut connection = self.db.connection().await?;
        passkeys::of_account(&mut connection, signed.row.account_id).await
    }

    /// Checks an answer under the lock of its account, and uses its challenge up. Where the account
    /// is known it must be that one; otherwise the passkey itself names it.
    async fn use_passkey(
        &self,
        connection: &mut PgConnection,
        purpose: Purpose,
        holder: &str,
        answer: &Answer,
        account_id: Option<Uuid>,
    ) -> Result<PasskeyRow, SignInError> {
        let site = self.site()?;
        let get = (purpose, Ceremony::Get);
        self.use_challenge(connection, get, holder, &answer.client_data).await?;
        let unknown = || refused(Refused::Credential);
        let found = passkeys::by_credential(connection, &answer.credential_id).await?;
        let owner = found.ok_or_else(unknown)?.account_id;
        let handle = Uuid::from_slice(&answer.user_handle).ok();
        // Only where the account is known may an authenticator leave its name out.
        let is_named =
            handle == Some(owner) || (answer.user_handle.is_empty() && account_id.is_some());
        if !is_named || account_id.is_some_and(|id| id != owner) {
            return Err(unknown());
        }
        accounts::lock(connection, owner).await?;
        let row = passkeys::by_credential(connection, &answer.credential_id).await?;
        let row = row.ok_or_else(unknown)?;
        let data = (&answer.authenticator_data, &answer.client_data, &answer.signature);
        let checked = row.key.check(data.0, data.1, data.2, &site.rp_id);
        let sign_count = checked.map_err(refused)?;
        passkeys::note_use(connection, row.id, sign_count).await?;
        Ok(row)
    }

    /// Uses up the challenge that client data answers. It rolls back with its transaction, so only
    /// an answer that counts uses it.
    async fn use_challenge(
        &self,
        connection: &mut PgConnection,
        (purpose, ceremony): (Purpose, Ceremony),
        holder: &str,
        client_data: &[u8],
    ) -> Result<(), SignInError> {
        let origin = self.site()?.origin;
        let bytes = passkey::challenge_of(client_data, ceremony, &origin).map_err(refused)?;
        let stale = || refused(Refused::Challenge);
        let (challenge, mac) = Challenge::parse(&bytes).ok_or_else(stale)?;
        let text = challenge.authenticated(purpose, holder);
        let now = storage::now(connection).await?.timestamp();
        let ours = self.master_keys.is_digest(CHALLENGES, &text, &mac);
        if !ours || !challenge.is_fresh(now) {
            return Err(stale());
        }
        if passkeys::use_challenge(connection, &Sha256::digest(&bytes)).await? {
            Ok(())
        } else {
            Err(stale())
        }
    }

    /// Passkeys belong to the configured address, never to a request's.
    fn site(&self) -> Result<Site, SignInError> {
        let url = Url::parse(&self.config.dashboard_url).ok();
        let url = url.ok_or_else(|| refused(Refused::Site))?;
        let rp_id = url.domain().ok_or_else(|| refused(Refused::Site))?.to_owned();
        Ok(Site { rp_id, origin: url.origin().ascii_serialization() })
    }
}

struct Site {
    rp_id: String,
    origin: String,
}

/// The reason is for the logs: people can only try again.
fn refused(reason: Refused) -> SignInError {
    tracing::info!(%reason, "a passkey was refused");
    SignInError::WrongPasskey
}
