//! A device is unlocked by its PIN, and locked again.

use super::{
    Keys,
    visit::{held, till},
};
use crate::{
    account::bearer::Bearer,
    app::{Gateway, account::hashing},
    storage::{StorageError, tills},
    till::{DeviceState, pin::Pin},
};

#[derive(Debug, thiserror::Error)]
pub enum UnlockError {
    #[error("there is no such till, or this browser is no device of it")]
    Unknown,
    #[error("the PIN is wrong")]
    Wrong,
    /// After some wrong ones. No stranger causes it: he has no token.
    #[error("the next PIN is looked at later")]
    Wait,
    #[error("the PIN was wrong too often: the device has to be enrolled anew")]
    LockedOut,
    #[error("too many PINs are being looked at")]
    Busy,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Gateway {
    /// Unlocks the device of this browser. Its try is taken before the PIN is looked at.
    pub async fn unlock_device(
        &self,
        link_id: &str,
        keys: &Keys,
        typed: &str,
    ) -> Result<Bearer, UnlockError> {
        let mut connection = self.db.connection().await?;
        let link = till(&mut connection, link_id).await?.ok_or(UnlockError::Unknown)?;
        let held = held(&mut connection, link.id, keys).await?.ok_or(UnlockError::Unknown)?;
        let token = keys.token.as_ref().ok_or(UnlockError::Unknown)?;
        if held.device.state == DeviceState::Locked {
            return Err(UnlockError::LockedOut);
        }
        let pin = Pin::parse(typed).ok_or(UnlockError::Wrong)?;
        if !tills::take_try(&mut connection, held.device.id).await? {
            return Err(UnlockError::Wait);
        }
        drop(connection);
        let right = hashing::is_right(pin.with_token(token), held.pin_hash).await;
        let mut connection = self.db.connection().await?;
        let Ok(right) = right else {
            tills::return_try(&mut connection, held.device.id).await?;
            return Err(UnlockError::Busy);
        };
        if !right {
            return Err(UnlockError::Wrong);
        }
        let session = Bearer::generate();
        let is_unlocked = tills::unlock(&mut connection, held.device.id, &session.sha256()).await?;
        if is_unlocked { Ok(session) } else { Err(UnlockError::Unknown) }
    }

    /// Locks the device of this browser, if it is one. The charge that it shows stays.
    pub async fn lock_device(&self, link_id: &str, keys: &Keys) -> Result<(), StorageError> {
        let mut connection = self.db.connection().await?;
        let Some(link) = till(&mut connection, link_id).await? else { return Ok(()) };
        if let Some(held) = held(&mut connection, link.id, keys).await? {
            tills::lock(&mut connection, held.device.id).await?;
        }
        Ok(())
    }
}
