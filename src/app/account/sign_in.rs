//! Signing in: by a password, by an invitation, and in the sandbox by a link.

pub use super::open::Opened;
use super::{SignInError, Visitor, budget, hashing, open::Proof};
use crate::{
    account::{bearer::Bearer, email, password::Password},
    app::Gateway,
    storage::{
        PgConnection, StorageError,
        accounts::{
            self, AccountRow,
            links::{self, LinkKind, Offer},
            sessions::OpenedBy,
        },
        audit,
    },
};

/// The account that an invitation is for, for its page.
#[derive(Debug, Clone)]
pub struct Invited {
    pub email: String,
    /// It must be entered then; a new account chooses one.
    pub has_password: bool,
    /// `None` if an operator only lets the account in again.
    pub offer: Option<Offer>,
}

impl Gateway {
    /// Signs in by e-mail address and password.
    pub async fn sign_in(
        &self,
        typed_email: &str,
        password: Password,
        visitor: &Visitor,
    ) -> Result<Opened, SignInError> {
        let mut connection = self.db.connection().await?;
        let email = email::normalised(typed_email).unwrap_or_default();
        let known = accounts::by_email(&mut connection, &email).await?;
        let subject = budget::subject_of(typed_email);
        let id = known.as_ref().map(|account| account.id);
        let taken = budget::take_password(&mut connection, id, &subject, visitor).await?;
        drop(connection);
        let hash = known.as_ref().and_then(|account| account.password_hash.clone());
        let right = hashing::is_right(password, hash.clone()).await?;
        let Some(account) = known.filter(|_| right) else { return Err(SignInError::Refused) };
        let mut tx = self.db.begin().await?;
        budget::give_back(&mut tx, &taken).await?;
        let (opened_by, hash) = (OpenedBy::Password, hash.as_deref());
        let proof = Proof { opened_by, hash, merchant_id: None };
        let opened = self.open_session(&mut tx, account.id, proof, visitor).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(opened)
    }

    /// The account of an invitation that may still be accepted. Uses nothing up: mail scanners open
    /// links.
    pub async fn invited(&self, token: &Bearer) -> Result<Option<Invited>, StorageError> {
        let mut connection = self.db.connection().await?;
        let hash = token.sha256();
        let found = links::account_of(&mut connection, LinkKind::Invitation, &hash).await?;
        let Some(id) = found else { return Ok(None) };
        let offer = links::offer(&mut connection, &hash).await?;
        let account = accounts::by_id(&mut connection, id).await?;
        Ok(account.map(|account| Invited {
            has_password: account.password_hash.is_some(),
            email: account.email,
            offer,
        }))
    }

    /// Accepts an invitation: a new account chooses its password, one that has a password enters
    /// it. It accepts the role of this invitation and no other.
    pub async fn accept_invitation(
        &self,
        token: &Bearer,
        password: Password,
        visitor: &Visitor,
    ) -> Result<Opened, SignInError> {
        let account = self.account_of(LinkKind::Invitation, token).await?;
        let stored = account.password_hash.clone();
        let chosen = if let Some(hash) = &stored {
            let subject = budget::subject_of(&account.email);
            let mut connection = self.db.connection().await?;
            let id = Some(account.id);
            let taken = budget::take_password(&mut connection, id, &subject, visitor).await?;
            drop(connection);
            if !hashing::is_right(password, Some(hash.clone())).await? {
                return Err(SignInError::Refused);
            }
            budget::give_back(&mut *self.db.connection().await?, &taken).await?;
            None
        } else {
            password.check(&account.email)?;
            Some(hashing::hash(password).await?)
        };
        let mut tx = self.db.begin().await?;
        let offered = links::take(&mut tx, LinkKind::Invitation, &token.sha256()).await?;
        let membership_id = offered.ok_or(SignInError::LinkUsed)?;
        if let Some(hash) = &chosen {
            let is_reset = membership_id.is_none();
            choose_password(&mut tx, &account, hash, is_reset).await?;
        }
        let merchant_id = match membership_id {
            Some(id) => {
                let accepted = accounts::accept_membership(&mut tx, id).await?;
                accepted.ok_or(SignInError::LinkUsed)?
            }
            None => None,
        };
        let (opened_by, hash) = (OpenedBy::Invitation, stored.as_deref());
        let proof = Proof { opened_by, hash, merchant_id };
        let opened = self.open_session(&mut tx, account.id, proof, visitor).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(opened)
    }

    /// Returns true if a sign-in link may still be used. Uses nothing up.
    pub async fn is_sign_in_link(&self, token: &Bearer) -> Result<bool, StorageError> {
        let mut connection = self.db.connection().await?;
        let found = links::account_of(&mut connection, LinkKind::SignIn, &token.sha256()).await?;
        Ok(found.is_some() && self.config.is_sandbox())
    }

    /// Signs in by a link, which exists in the sandbox alone.
    pub async fn sign_in_by_link(
        &self,
        token: &Bearer,
        visitor: &Visitor,
    ) -> Result<Opened, SignInError> {
        if !self.config.is_sandbox() {
            return Err(SignInError::LinkUsed);
        }
        let account = self.account_of(LinkKind::SignIn, token).await?;
        let mut tx = self.db.begin().await?;
        let taken = links::take(&mut tx, LinkKind::SignIn, &token.sha256()).await?;
        taken.ok_or(SignInError::LinkUsed)?;
        accounts::accept_memberships(&mut tx, account.id).await?;
        let proof = Proof { opened_by: OpenedBy::Link, hash: None, merchant_id: None };
        let opened = self.open_session(&mut tx, account.id, proof, visitor).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(opened)
    }

    async fn account_of(&self, kind: LinkKind, token: &Bearer) -> Result<AccountRow, SignInError> {
        let mut connection = self.db.connection().await?;
        let id = links::account_of(&mut connection, kind, &token.sha256()).await?;
        let id = id.ok_or(SignInError::LinkUsed)?;
        accounts::by_id(&mut connection, id).await?.ok_or(SignInError::LinkUsed)
    }
}

/// Sets the password of an account that has none, under its lock: of two invitations that are
/// accepted at once, one chooses it. An account that has roles already was reset by an operator,
/// and then only the operator's link chooses: whoever else invites it holds a link too.
async fn choose_password(
    connection: &mut PgConnection,
    account: &AccountRow,
    hash: &str,
    is_reset: bool,
) -> Result<(), SignInError> {
    let now = accounts::lock(connection, account.id).await?.ok_or(SignInError::LinkUsed)?;
    if now.password_hash.is_some() {
        return Err(SignInError::Refused);
    }
    if !is_reset && !accounts::memberships(connection, account.id).await?.is_empty() {
        return Err(SignInError::ResetFirst);
    }
    accounts::set_password(connection, account.id, hash).await?;
    let (email, act) = (&account.email, ("security", "password chosen"));
    audit::note(connection, act, email, email, "by an invitation").await?;
    Ok(())
}
