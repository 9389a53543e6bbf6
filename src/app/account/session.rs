//! Sessions: read with each request, proved again, listed and ended.

use uuid::Uuid;

use super::{SignInError, budget, hashing, second_factor::renew_alone};
use crate::{
    account::{Action, Role, action::Scope, bearer::Bearer, password::Password},
    app::Gateway,
    storage::{
        StorageError,
        accounts::{
            self, MembershipRow,
            sessions::{self, ListedSession, SessionRow, Use},
        },
        audit,
        operator::observations::{self, Observed},
    },
};

/// A session with everything that decides what it may do.
#[derive(Debug, Clone)]
pub struct Signed {
    pub row: SessionRow,
    pub memberships: Vec<MembershipRow>,
    /// The merchant whose pages an operator reads.
    pub observed: Option<Observed>,
    /// Links open sessions in the sandbox alone.
    is_sandbox: bool,
}

/// The merchant whose screens a session shows.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<'a> {
    pub merchant_id: Uuid,
    pub name: &'a str,
    pub role: Role,
    pub is_suspended: bool,
}

/// The answer to the question whether a session may do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    Granted,
    /// Its second factor is missing.
    CodeMissing,
    /// An operator must have a second factor, and this one has yet to set it up.
    CodesMissing,
    /// The merchant is suspended: its people read, and change nothing.
    Suspended,
    /// No role of the account may do it.
    Refused,
}

impl Signed {
    pub fn operator_role(&self) -> Option<Role> {
        let found = self.memberships.iter().find(|membership| membership.merchant_id.is_none());
        found.map(|membership| membership.role)
    }

    pub fn chosen(&self) -> Option<Chosen<'_>> {
        if let Some(observed) = &self.observed {
            let (merchant_id, name) = (observed.merchant_id, observed.name.as_str());
            // The role that reads, which changes nothing, of a suspended merchant too.
            let (role, is_suspended) = (Role::Viewer, false);
            return Some(Chosen { merchant_id, name, role, is_suspended });
        }
        let merchant_id = self.row.merchant_id?;
        let found = self.memberships.iter().find(|m| m.merchant_id == Some(merchant_id))?;
        let name = found.merchant_name.as_deref().unwrap_or_default();
        let (role, is_suspended) = (found.role, found.is_suspended);
        Some(Chosen { merchant_id, name, role, is_suspended })
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
            Scope::Anyone | Scope::SecondFactorPending | Scope::Account => {
                return Permission::Granted;
            }
            Scope::Merchant => self.chosen().map(|chosen| chosen.role),
            Scope::Operator => self.operator_role(),
        };
        if !role.is_some_and(|role| action.is_for(role)) {
            Permission::Refused
        } else if self.must_set_up_factor() {
            Permission::CodesMissing
        } else if scope == Scope::Merchant && !action.is_view() && self.is_suspended() {
            Permission::Suspended
        } else {
            Permission::Granted
        }
    }

    /// An operator who has no second factor may do nothing but set one up.
    pub fn must_set_up_factor(&self) -> bool {
        let by_link = self.row.by_link && self.is_sandbox;
        self.operator_role().is_some() && !self.has_factor() && !by_link
    }

    pub const fn has_factor(&self) -> bool {
        self.row.has_codes || self.row.has_passkeys
    }

    fn is_suspended(&self) -> bool {
        self.chosen().is_some_and(|chosen| chosen.is_suspended)
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
        let is_sandbox = self.config.is_sandbox();
        let mut connection = self.db.connection().await?;
        let found = sessions::touch(&mut connection, &id.sha256(), by).await?;
        // A link opens nothing outside the sandbox, even if the row says that it did.
        let Some(row) = found.filter(|row| is_sandbox || !row.by_link) else { return Ok(None) };
        let memberships = accounts::memberships(&mut connection, row.account_id).await?;
        let mut signed = Signed { row, memberships, observed: None, is_sandbox };
        if signed.operator_role().is_some() {
            signed.observed = observations::of_session(&mut connection, signed.row.handle).await?;
        }
        Ok(Some(signed))
    }

    /// Proves again, by the password and where there is one by the second factor, that the account
    /// itself sits there. Gives the session another id.
    pub async fn confirm_session(
        &self,
        signed: &Signed,
        password: Password,
        code: &str,
    ) -> Result<Bearer, SignInError> {
        let (id, handle) = (signed.row.account_id, signed.row.handle);
        let mut connection = self.db.connection().await?;
        let account = accounts::by_id(&mut connection, id).await?.ok_or(SignInError::Ended)?;
        let hash = account.password_hash.ok_or(SignInError::NoPassword)?;
        let taken = budget::take_confirmation(&mut connection, handle).await?;
        drop(connection);
        if !hashing::is_right(password, Some(hash.clone())).await? {
            return Err(SignInError::WrongPassword);
        }
        let mut tx = self.db.begin().await?;
        // As it is now: a second factor that was set up meanwhile is asked for.
        let account = accounts::lock(&mut tx, id).await?.ok_or(SignInError::Ended)?;
        if account.password_hash.as_deref() != Some(hash.as_str()) {
            return Err(SignInError::WrongPassword);
        }
        let has_factor = accounts::factors(&mut tx, id).await?.is_any();
        if has_factor && self.use_code(&mut tx, id, code).await?.is_none() {
            return Err(SignInError::WrongCode);
        }
        budget::give_back(&mut tx, &taken).await?;
        let bearer = Bearer::generate();
        if !sessions::renew(&mut tx, handle, &bearer.sha256(), None).await? {
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
        let (email, account_id) = (&signed.row.email, signed.row.account_id);
        password.check(email)?;
        let hash = hashing::hash(password).await?;
        let mut tx = self.db.begin().await?;
        accounts::lock(&mut tx, account_id).await?.ok_or(SignInError::Ended)?;
        accounts::set_password(&mut tx, account_id, &hash).await?;
        let act = ("security", "password changed");
        audit::note(&mut tx, act, email, email, "all other sessions have ended").await?;
        let bearer = renew_alone(&mut tx, account_id, signed.row.handle, None).await?;
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
