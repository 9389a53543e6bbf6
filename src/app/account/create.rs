//! Creating accounts and their links, by operators at the command line.

use uuid::Uuid;

use crate::{
    account::{
        Role,
        bearer::Bearer,
        email::{self, InvalidEmail},
        session::{INVITATION_SECONDS, SIGN_IN_LINK_SECONDS},
    },
    app::Gateway,
    storage::{
        StorageError,
        accounts::{
            self,
            links::{self, LinkKind},
        },
        merchants,
    },
};

/// An account with the address that lets its owner in. The address is shown once.
pub struct Invitation {
    pub account_id: Uuid,
    pub url: String,
}

#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    #[error(transparent)]
    Email(#[from] InvalidEmail),
    #[error("the role {0} belongs to a merchant: name it with --merchant ID")]
    NeedsMerchant(Role),
    #[error("the role {0} belongs to no merchant: leave --merchant out")]
    NoMerchant(Role),
    #[error("no merchant has the id {0}")]
    UnknownMerchant(Uuid),
    #[error("{0} has a role there already")]
    Exists(String),
    #[error("no account has the e-mail address {0}")]
    Unknown(String),
    #[error("sign-in links exist in the sandbox only; in production an account signs in itself")]
    NotSandbox,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Gateway {
    /// Creates an account, or gives one another role, and makes the invitation that its owner
    /// accepts. Until then the role counts for nothing.
    pub async fn create_account(
        &self,
        typed_email: &str,
        role: Role,
        merchant_id: Option<Uuid>,
    ) -> Result<Invitation, CreateError> {
        let email = email::normalised(typed_email)?;
        match (role.is_operator(), merchant_id) {
            (true, Some(_)) => return Err(CreateError::NoMerchant(role)),
            (false, None) => return Err(CreateError::NeedsMerchant(role)),
            (true, None) | (false, Some(_)) => {}
        }
        let mut tx = self.db.begin().await?;
        if let Some(id) = merchant_id
            && merchants::by_id(&mut tx, id).await?.is_none()
        {
            return Err(CreateError::UnknownMerchant(id));
        }
        let account_id = accounts::find_or_insert(&mut tx, Uuid::now_v7(), &email).await?;
        if !accounts::insert_membership(&mut tx, account_id, merchant_id, role).await? {
            return Err(CreateError::Exists(email));
        }
        let token = Bearer::generate();
        let (kind, hash) = (LinkKind::Invitation, token.sha256());
        links::replace(&mut tx, account_id, kind, &hash, INVITATION_SECONDS).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(Invitation { account_id, url: self.dashboard_link("invite", &token) })
    }

    /// A link that signs an account in once, in the sandbox.
    pub async fn create_sign_in_link(&self, typed_email: &str) -> Result<String, CreateError> {
        if !self.config.is_sandbox() {
            return Err(CreateError::NotSandbox);
        }
        let email = email::normalised(typed_email)?;
        let mut tx = self.db.begin().await?;
        let account = accounts::by_email(&mut tx, &email).await?;
        let account = account.ok_or_else(|| CreateError::Unknown(email.clone()))?;
        let token = Bearer::generate();
        let (kind, hash) = (LinkKind::SignIn, token.sha256());
        links::replace(&mut tx, account.id, kind, &hash, SIGN_IN_LINK_SECONDS).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(self.dashboard_link("sign-in/link", &token))
    }

    /// Ends an account with all its sessions, or opens it again.
    pub async fn set_account_disabled(
        &self,
        typed_email: &str,
        disabled: bool,
    ) -> Result<(), CreateError> {
        let email = email::normalised(typed_email)?;
        let mut tx = self.db.begin().await?;
        if !accounts::set_disabled(&mut tx, &email, disabled).await? {
            return Err(CreateError::Unknown(email));
        }
        tx.commit().await.map_err(StorageError::from)?;
        Ok(())
    }

    /// Made of the configured address alone, never of a request's.
    fn dashboard_link(&self, place: &str, token: &Bearer) -> String {
        let base = self.config.dashboard_url.trim_end_matches('/');
        format!("{base}/{place}/{}", token.reveal())
    }
}
