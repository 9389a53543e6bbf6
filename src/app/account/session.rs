//! Sessions: read with each request, proved again, listed and ended.

use uuid::Uuid;

use super::{SignInError, hashing};
use crate::{
    account::{Action, Role, action::Scope, bearer::Bearer, password::Password, session::Budget},
    app::Gateway,
    storage::{
        StorageError,
        accounts::{
            self, MembershipRow, guesses,
            sessions::{self, ListedSession, SessionRow, Use},
        },
        audit,
    },
};

/// A session with everything that decides what it may do.
#[derive(Debug, Clone)]
pub struct Signed {
    pub row: SessionRow,
    pub memberships: Vec<MembershipRow>,
    /// Links open sessions in the sandbox alone.
    is_sandbox: bool,
}

/// The merchant whose screens a session shows.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<'a> {
    pub merchant_id: Uuid,
    pub name: &'a str,
    pub role: Role,
}

/// The answer to the question whether a session may do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    Granted,
    /// Its second factor is missing.
    CodeMissing,
    /// An operator must have a second factor, and this one has yet to set it up.
    CodesMissing,
    /// No role of the account may do it.
    Refused,
}

impl Signed {
    pub fn operator_role(&self) -> Option<Role> {
        let found = self.memberships.iter().find(|membership| membership.merchant_id.is_none());
        found.map(|membership| membership.role)
    }

    pub fn chosen(&self) -> Option<Chosen<'_>> {
        let merchant_id = self.row.merchant_id?;
        let found = self.memberships.iter().find(|m| m.merchant_id == Some(merchant_id))?;
        let name = found.merchant_name.as_deref().unwrap_or_default();
        Some(Chosen { merchant_id, name, role: found.role })
    }

    /// Decides by the one table of roles and actions.
    pub fn may(&self, action: Action) -> Permission {
        let scope = action.scope();
        if scope == Scope::Anyone {
            return Permission::Granted;
        }
        if !self.row.complete {
            let enters = matches!(action, Action::CodeEnter | Action::SessionClose);
            return if enters { Permission::Granted } else { Permission::CodeMissing };
        }
        let role = match scope {
            Scope::Anyone | Scope::HalfSignedIn | Scope::Account => return Permission::Granted,
            Scope::Merchant => self.chosen().map(|chosen| chosen.role),
            Scope::Operator => self.operator_role(),
        };
        if !role.is_some_and(|role| action.is_for(role)) {
            Permission::Refused
        } else if self.must_set_up_codes() {
            Permission::CodesMissing
        } else {
            Permission::Granted
        }
    }

    /// An operator who has no second factor may do nothing but set one up.
    fn must_set_up_codes(&self) -> bool {
        let by_link = self.row.by_link && self.is_sandbox;
        self.operator_role().is_some() && !self.row.has_codes && !by_link
    }
}

impl Gateway {
    /// The session of an id, if it is alive. This is a use of it.
    pub async fn signed(&self, id: &Bearer) -> Result<Option<Signed>, StorageError> {
        self.session_of(id, Use::Somebody).await
    }

    /// The same for a page that asks by itself: such requests keep no idle session alive.
    pub async fn still_signed(&self, id: &Bearer) -> Result<Option<Signed>, StorageError> {
        self.session_of(id, Use::Poll).await
    }

    async fn session_of(&self, id: &Bearer, by: Use) -> Result<Option<Signed>, StorageError> {
        let mut connection = self.db.connection().await?;
        let Some(row) = sessions::touch(&mut connection, &id.sha256(), by).await? else {
            return Ok(None);
        };
        let memberships = accounts::memberships(&mut connection, row.account_id).await?;
        Ok(Some(Signed { row, memberships, is_sandbox: self.config.is_sandbox() }))
    }

    /// Proves again, by the password and where there is one by the second factor, that the account
    /// itself sits there. Gives the session another id.
    pub async fn confirm_session(
        &self,
        signed: &Signed,
        password: Password,
        code: &str,
    ) -> Result<Bearer, SignInError> {
        let id = signed.row.account_id;
        let mut connection = self.db.connection().await?;
        let account = accounts::by_id(&mut connection, id).await?.ok_or(SignInError::Ended)?;
        let hash = account.password_hash.ok_or(SignInError::NoPassword)?;
        if !guesses::take(&mut connection, Budget::Code, &id.to_string()).await? {
            return Err(SignInError::TooManyTries);
        }
        drop(connection);
        if !hashing::is_right(password, Some(hash)).await? {
            return Err(SignInError::Refused);
        }
        let mut tx = self.db.begin().await?;
        if account.totp_sealed.is_some() && !self.use_code(&mut tx, id, code).await? {
            return Err(SignInError::WrongCode);
        }
        guesses::clear(&mut tx, Budget::Code, &id.to_string()).await?;
        let bearer = Bearer::generate();
        if !sessions::renew(&mut tx, signed.row.handle, &bearer.sha256()).await? {
            return Err(SignInError::Ended);
        }
        tx.commit().await.map_err(StorageError::from)?;
        Ok(bearer)
    }

    /// Replaces the password, ends all other sessions and gives this one another id.
    pub async fn change_password(
        &self,
        signed: &Signed,
        password: Password,
    ) -> Result<Bearer, SignInError> {
        password.check(&signed.row.email)?;
        let hash = hashing::hash(password).await?;
        let (account_id, handle) = (signed.row.account_id, signed.row.handle);
        let mut tx = self.db.begin().await?;
        accounts::set_password(&mut tx, account_id, &hash).await?;
        sessions::end_others(&mut tx, account_id, handle).await?;
        let bearer = Bearer::generate();
        if !sessions::renew(&mut tx, handle, &bearer.sha256()).await? {
            return Err(SignInError::Ended);
        }
        tx.commit().await.map_err(StorageError::from)?;
        Ok(bearer)
    }

    pub async fn sessions_of(&self, signed: &Signed) -> Result<Vec<ListedSession>, StorageError> {
        let mut connection = self.db.connection().await?;
        sessions::of_account(&mut connection, signed.row.account_id).await
    }

    /// Ends a session of the same account. `false` if it has none of that name.
    pub async fn end_session(&self, signed: &Signed, handle: Uuid) -> Result<bool, StorageError> {
        let email = &signed.row.email;
        let mut tx = self.db.begin().await?;
        let ended = sessions::end(&mut tx, signed.row.account_id, handle).await?;
        if ended {
            audit::note(&mut tx, ("session", "end"), email, email, &handle.to_string()).await?;
        }
        tx.commit().await?;
        Ok(ended)
    }

    /// Shows another merchant from now on. `false` if the account has no role in it.
    pub async fn choose_merchant(
        &self,
        signed: &Signed,
        merchant_id: Uuid,
    ) -> Result<bool, StorageError> {
        if !signed.memberships.iter().any(|m| m.merchant_id == Some(merchant_id)) {
            return Ok(false);
        }
        let mut connection = self.db.connection().await?;
        sessions::choose_merchant(&mut connection, signed.row.handle, merchant_id).await?;
        Ok(true)
    }
}
