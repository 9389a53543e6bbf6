//! Signing in: by a password, by an invitation, and in the sandbox by a link.

use sha2::{Digest, Sha256};
use uuid::Uuid;

pub use super::open::Opened;
use super::{SignInError, Visitor, hashing};
use crate::{
    account::{bearer::Bearer, email, password::Password, session::Budget},
    app::Gateway,
    storage::{
        PgConnection, StorageError,
        accounts::{
            self, AccountRow, guesses,
            links::{self, LinkKind},
            sessions::{self, OpenedBy},
        },
    },
};

/// The account that a link is for, for its page.
#[derive(Debug, Clone)]
pub struct Invited {
    pub email: String,
    /// It must be entered then; a new account chooses one.
    pub has_password: bool,
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
        let known = match email::normalised(typed_email) {
            Ok(email) => accounts::by_email(&mut connection, &email).await?,
            Err(_) => accounts::by_email(&mut connection, "").await?,
        };
        let subject = subject_of(typed_email);
        take_guess(&mut connection, known.as_ref(), &subject, visitor).await?;
        drop(connection);
        let hash = known.as_ref().and_then(|account| account.password_hash.clone());
        let right = hashing::is_right(password, hash).await?;
        let Some(account) = known.filter(|_| right) else { return Err(SignInError::Refused) };
        let mut tx = self.db.begin().await?;
        guesses::clear(&mut tx, Budget::Pair, &pair(&subject, visitor)).await?;
        let opened = self.open_session(&mut tx, &account, OpenedBy::Password, visitor).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(opened)
    }

    /// The account of an invitation that may still be accepted. Uses nothing up: mail scanners open
    /// links.
    pub async fn invited(&self, token: &Bearer) -> Result<Option<Invited>, StorageError> {
        let mut connection = self.db.connection().await?;
        let found =
            links::account_of(&mut connection, LinkKind::Invitation, &token.sha256()).await?;
        let Some(id) = found else { return Ok(None) };
        let account = accounts::by_id(&mut connection, id).await?;
        Ok(account.map(|account| Invited {
            has_password: account.password_hash.is_some(),
            email: account.email,
        }))
    }

    /// Accepts an invitation: a new account chooses its password, one that has a password enters
    /// it.
    pub async fn accept_invitation(
        &self,
        token: &Bearer,
        password: Password,
        visitor: &Visitor,
    ) -> Result<Opened, SignInError> {
        let account = self.account_of(LinkKind::Invitation, token).await?;
        let new_hash = if let Some(hash) = account.password_hash.clone() {
            let subject = subject_of(&account.email);
            let mut connection = self.db.connection().await?;
            take_guess(&mut connection, Some(&account), &subject, visitor).await?;
            drop(connection);
            if !hashing::is_right(password, Some(hash)).await? {
                return Err(SignInError::Refused);
            }
            None
        } else {
            password.check(&account.email)?;
            Some(hashing::hash(password).await?)
        };
        let mut tx = self.db.begin().await?;
        if !links::take(&mut tx, LinkKind::Invitation, &token.sha256()).await? {
            return Err(SignInError::LinkUsed);
        }
        if let Some(hash) = new_hash {
            accounts::set_password(&mut tx, account.id, &hash).await?;
        }
        accounts::accept_memberships(&mut tx, account.id).await?;
        let opened = self.open_session(&mut tx, &account, OpenedBy::Invitation, visitor).await?;
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
        if !links::take(&mut tx, LinkKind::SignIn, &token.sha256()).await? {
            return Err(SignInError::LinkUsed);
        }
        accounts::accept_memberships(&mut tx, account.id).await?;
        let opened = self.open_session(&mut tx, &account, OpenedBy::Link, visitor).await?;
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

/// Takes a guess from every budget that it concerns. The same statements run for an account that
/// does not exist.
async fn take_guess(
    connection: &mut PgConnection,
    account: Option<&AccountRow>,
    subject: &str,
    visitor: &Visitor,
) -> Result<(), SignInError> {
    let id = account.map_or(Uuid::nil(), |account| account.id);
    let address = &visitor.address;
    guesses::forget(connection).await?;
    let at_home = sessions::is_known_address(connection, id, address).await?;
    let mut left = guesses::take(connection, Budget::Address, address).await?;
    left &= guesses::take(connection, Budget::Pair, &pair(subject, visitor)).await?;
    if !at_home {
        left &= guesses::take(connection, Budget::Account, subject).await?;
    }
    if left { Ok(()) } else { Err(SignInError::TooManyTries) }
}

/// The account in the names of budgets: a hash, since people type passwords into the wrong field.
fn subject_of(typed_email: &str) -> String {
    hex::encode(Sha256::digest(typed_email.trim().to_ascii_lowercase()))
}

fn pair(subject: &str, visitor: &Visitor) -> String {
    format!("{subject}@{}", visitor.address)
}
