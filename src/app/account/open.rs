//! Opening a session: the one way in, whatever came before it (attack A29).

use uuid::Uuid;

use super::{SignInError, Visitor};
use crate::{
    account::bearer::Bearer,
    app::Gateway,
    storage::{
        PgConnection, StorageError,
        accounts::{
            self, devices,
            sessions::{self, Factor, NewSession, OpenedBy},
        },
        audit,
    },
};

const AGENT_CHARS_MAX: usize = 200;

/// A session that was just opened or completed; its id is shown to nobody but its browser.
pub struct Opened {
    pub id: Bearer,
    /// False while the second factor is missing.
    pub complete: bool,
    /// By which this browser is known from now on; `None` if it is already.
    pub device: Option<Bearer>,
}

/// The proof that an account has given.
pub(super) struct Proof<'a> {
    pub opened_by: OpenedBy,
    /// The stored hash that its password was compared with, a moment ago.
    pub hash: Option<&'a str>,
    /// The merchant whose screens are shown; otherwise the one that was created last.
    pub merchant_id: Option<Uuid>,
}

impl Gateway {
    /// Opens a session of an account, under the lock of its row: a password, a second factor or an
    /// end that came while the proof was checked counts. Only a passkey, which verifies its user,
    /// and a link of the sandbox stand for both factors.
    pub(super) async fn open_session(
        &self,
        connection: &mut PgConnection,
        account_id: Uuid,
        proof: Proof<'_>,
        visitor: &Visitor,
    ) -> Result<Opened, SignInError> {
        let account = accounts::lock(connection, account_id).await?;
        let account = account.filter(|account| !account.disabled).ok_or(SignInError::Refused)?;
        if proof.hash.is_some() && proof.hash != account.password_hash.as_deref() {
            return Err(SignInError::Refused);
        }
        let complete = match proof.opened_by {
            OpenedBy::Passkey => true,
            OpenedBy::Link if self.config.is_sandbox() => true,
            OpenedBy::Link => return Err(SignInError::LinkUsed),
            OpenedBy::Password | OpenedBy::Invitation => {
                !accounts::factors(connection, account_id).await?.is_any()
            }
        };
        let memberships = accounts::memberships(connection, account_id).await?;
        // Ids grow with time: the merchant that was created last.
        let newest = memberships.iter().filter_map(|membership| membership.merchant_id).max();
        let id = Bearer::generate();
        let agent: String = visitor.agent.chars().take(AGENT_CHARS_MAX).collect();
        let session = NewSession {
            id_sha256: &id.sha256(),
            account_id,
            merchant_id: proof.merchant_id.or(newest),
            complete,
            opened_by: proof.opened_by,
            factor: (proof.opened_by == OpenedBy::Passkey).then_some(Factor::Passkey),
            address: &visitor.address,
            agent: &agent,
        };
        sessions::forget(connection, account_id).await?;
        sessions::insert(connection, &session).await?;
        let detail = format!("by {} from {}", proof.opened_by.as_str(), visitor.address);
        let act = ("session", if complete { "open" } else { "begin" });
        audit::note(connection, act, &account.email, &account.email, &detail).await?;
        let device = if complete && proof.opened_by != OpenedBy::Link {
            remember(connection, account_id, visitor).await?
        } else {
            None
        };
        Ok(Opened { id, complete, device })
    }

    /// Completes a session by its second factor, and gives it another id.
    pub(super) async fn complete_session(
        &self,
        connection: &mut PgConnection,
        (account_id, email): (Uuid, &str),
        handle: Uuid,
        factor: Factor,
        visitor: &Visitor,
    ) -> Result<Opened, SignInError> {
        let id = Bearer::generate();
        if !sessions::renew(connection, handle, &id.sha256(), Some(factor)).await? {
            return Err(SignInError::Ended);
        }
        let detail = format!("by {} from {}", factor.as_str(), visitor.address);
        audit::note(connection, ("session", "open"), email, email, &detail).await?;
        let device = remember(connection, account_id, visitor).await?;
        Ok(Opened { id, complete: true, device })
    }
}

/// Remembers the browser of a whole sign-in. Returns the token by which it is known from now on, if
/// it has none yet.
async fn remember(
    connection: &mut PgConnection,
    account_id: Uuid,
    visitor: &Visitor,
) -> Result<Option<Bearer>, StorageError> {
    if let Some(device) = &visitor.device
        && devices::touch(connection, account_id, &device.sha256()).await?
    {
        return Ok(None);
    }
    let device = Bearer::generate();
    devices::insert(connection, account_id, &device.sha256()).await?;
    Ok(Some(device))
}
