//! Opening a session: the one way in, whatever came before it (attack A29).

use super::{SignInError, Visitor};
use crate::{
    account::bearer::Bearer,
    app::Gateway,
    storage::{
        PgConnection,
        accounts::{
            self, AccountRow,
            sessions::{self, NewSession, OpenedBy},
        },
        audit,
    },
};

const AGENT_CHARS_MAX: usize = 200;

/// A session that was just opened; its id is shown to nobody but its browser.
pub struct Opened {
    pub id: Bearer,
    /// False while the second factor is missing.
    pub complete: bool,
}

impl Gateway {
    /// Opens a session of an account that has proved itself by `opened_by`. Only a link of the
    /// sandbox stands for both factors.
    pub(super) async fn open_session(
        &self,
        connection: &mut PgConnection,
        account: &AccountRow,
        opened_by: OpenedBy,
        visitor: &Visitor,
    ) -> Result<Opened, SignInError> {
        if account.disabled {
            return Err(SignInError::Refused);
        }
        let by_link = opened_by == OpenedBy::Link && self.config.is_sandbox();
        let complete = by_link || account.totp_sealed.is_none();
        let memberships = accounts::memberships(connection, account.id).await?;
        let id = Bearer::generate();
        let agent: String = visitor.agent.chars().take(AGENT_CHARS_MAX).collect();
        let session = NewSession {
            id_sha256: &id.sha256(),
            account_id: account.id,
            // Ids grow with time: the merchant that was created last.
            merchant_id: memberships.iter().filter_map(|membership| membership.merchant_id).max(),
            complete,
            opened_by,
            address: &visitor.address,
            agent: &agent,
        };
        sessions::forget(connection, account.id).await?;
        sessions::insert(connection, &session).await?;
        let detail = format!("by {} from {}", opened_by.as_str(), visitor.address);
        let act = ("session", if complete { "open" } else { "begin" });
        audit::note(connection, act, &account.email, &account.email, &detail).await?;
        Ok(Opened { id, complete })
    }
}
