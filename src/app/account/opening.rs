//! Accounts with which production does not start the dashboard.

use crate::{
    account::{email::SANDBOX_HOST, session::INVITATION_SECONDS},
    app::Gateway,
    storage::{StorageError, accounts},
};

/// Reasons for which production must not start.
#[derive(Debug, thiserror::Error)]
pub enum OpeningError {
    #[error(
        "production refuses the accounts of the sandbox: {0}. End each: gatewayctl account disable --email E"
    )]
    Sandbox(String),
    #[error(
        "production refuses operators without a second factor, three days after they accepted: {0}. End each: gatewayctl \
         account disable --email E. Whoever is let in again (gatewayctl account enable) has three days more"
    )]
    NoSecondFactor(String),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Gateway {
    /// Refuses accounts that were made for the sandbox, and operators who have left their account
    /// without a second factor for as long as an invitation lasts.
    ///
    /// The pages let an operator without one do nothing but set it up, so the first operator needs
    /// the program to run: this is the time that he has.
    pub async fn check_accounts(&self) -> Result<(), OpeningError> {
        let mut connection = self.db.connection().await?;
        let sandbox = accounts::enabled_at_host(&mut connection, SANDBOX_HOST).await?;
        if !sandbox.is_empty() {
            return Err(OpeningError::Sandbox(sandbox.join(", ")));
        }
        let bare = accounts::operators_without_codes(&mut connection, INVITATION_SECONDS).await?;
        if bare.is_empty() { Ok(()) } else { Err(OpeningError::NoSecondFactor(bare.join(", "))) }
    }
}
