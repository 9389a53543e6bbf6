//! Stopping the reminders of a subscription by the token of one of them. The subscription goes on,
//! and so do its webhooks.

use crate::{
    app::Gateway,
    mail::Token,
    storage::{
        StorageError,
        mail::{self, Unsubscription},
    },
};

impl Gateway {
    /// The subscription of a token. It changes nothing: mail programs open links by themselves.
    pub async fn visit_unsubscription(
        &self,
        token: &str,
    ) -> Result<Option<Unsubscription>, StorageError> {
        let Some(token) = Token::parse(token) else { return Ok(None) };
        let mut connection = self.db.connection().await?;
        mail::unsubscription(&mut connection, &token.sha256()).await
    }

    /// Stops the reminders. `false` if there is no such token.
    pub async fn unsubscribe(&self, token: &str) -> Result<bool, StorageError> {
        let Some(token) = Token::parse(token) else { return Ok(false) };
        let mut connection = self.db.connection().await?;
        mail::unsubscribe(&mut connection, &token.sha256()).await
    }
}
