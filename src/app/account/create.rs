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
            links::{self, LinkKind, NewLink},
        },
        audit, merchants,
    },
};

/// An account with the address that lets its owner in. The address is shown once.
pub struct Invitation {
    pub account_id: Uuid,
    pub url: String,
}

/// The way of an invitation to whoever is invited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way<'a> {
    /// Whoever invites hands the address over.
    ByHand,
    /// The gateway mails the address, which whoever invites does not see. The text is the account
    /// that invites.
    ByMail(&'a str),
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
    #[error("a team has at most 200 people, invitations included")]
    TooMany,
    #[error("your own role was changed meanwhile; sign in again")]
    NoLonger,
    #[error("no mail is sent from here; hand the address over yourself")]
    MailsAreOff,
    #[error("too many invitations by mail; wait 15 minutes, or hand the address over yourself")]
    TooManyMails,
    #[error("the merchant has an owner already, who invites the others")]
    HasOwner,
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
        if let Some(id) = merchant_id.filter(|_| !role.is_operator())
            && merchants::by_id(&mut *self.db.connection().await?, id).await?.is_none()
        {
            return Err(CreateError::UnknownMerchant(id));
        }
        self.invite(typed_email, role, merchant_id, None, Way::ByHand).await
    }

    /// Takes an account's password, second factors and sessions away, and makes the link by which
    /// its owner chooses a new password. Its roles stay.
    pub async fn reset_account(&self, typed_email: &str) -> Result<Invitation, CreateError> {
        let email = email::normalised(typed_email)?;
        let mut tx = self.db.begin().await?;
        let account = accounts::by_email(&mut tx, &email).await?;
        let account = account.ok_or_else(|| CreateError::Unknown(email.clone()))?;
        accounts::lock(&mut tx, account.id).await?;
        accounts::forget_proofs(&mut tx, account.id).await?;
        let token = Bearer::generate();
        let link = NewLink {
            account_id: account.id,
            kind: LinkKind::Invitation,
            membership_id: None,
            token_sha256: &token.sha256(),
            seconds: INVITATION_SECONDS,
        };
        links::replace(&mut tx, &link).await?;
        let act = ("security", "account reset");
        audit::note(&mut tx, act, &email, "operator", "by gatewayctl account reset").await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(Invitation { account_id: account.id, url: self.dashboard_link("invite", &token) })
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
        let link = NewLink {
            account_id: account.id,
            kind: LinkKind::SignIn,
            membership_id: None,
            token_sha256: &token.sha256(),
            seconds: SIGN_IN_LINK_SECONDS,
        };
        links::replace(&mut tx, &link).await?;
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
    pub(super) fn dashboard_link(&self, place: &str, token: &Bearer) -> String {
        let base = self.config.dashboard_url.trim_end_matches('/');
        format!("{base}/{place}/{}", token.reveal())
    }
}
