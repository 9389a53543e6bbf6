//! A till's page, as the browser that opens it may see it.

use uuid::Uuid;

use super::Keys;
use crate::app::Gateway;
use crate::{
    link::{self, LinkKind},
    storage::{
        PgConnection, StorageError,
        links::{self, Link},
        merchants,
        tills::{self, Device, Held},
    },
    till::DeviceState,
};

/// The page of a till, for one browser.
#[derive(Debug)]
pub enum TillVisit {
    /// No device of the till: a code enrols it.
    Unknown {
        link: Link,
    },
    /// Its device, locked: the PIN unlocks it, or nothing if it was wrong too often.
    Locked {
        link: Link,
        device: Device,
    },
    Open(Box<Desk>),
}

/// An unlocked device.
#[derive(Debug)]
pub struct Desk {
    pub link: Link,
    pub device: Device,
    /// `payment_id` of the charge that it shows.
    pub shown: Option<String>,
    /// True if no charge can be made: the link is switched off, or its merchant suspended.
    pub is_closed: bool,
}

/// Reason why a browser does nothing at a till.
#[derive(Debug, thiserror::Error)]
pub enum NotAtDesk {
    #[error("there is no such till")]
    NoTill,
    #[error("this browser is no device of the till")]
    Unknown,
    #[error("the device is locked")]
    Locked,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Gateway {
    /// `None` if there is no such till.
    pub async fn visit_till(
        &self,
        link_id: &str,
        keys: &Keys,
    ) -> Result<Option<TillVisit>, StorageError> {
        let mut connection = self.db.connection().await?;
        let Some(link) = till(&mut connection, link_id).await? else { return Ok(None) };
        let Some(held) = held(&mut connection, link.id, keys).await? else {
            return Ok(Some(TillVisit::Unknown { link }));
        };
        if !held.is_open || held.device.state != DeviceState::Enrolled {
            return Ok(Some(TillVisit::Locked { link, device: held.device }));
        }
        tills::note_use(&mut connection, held.device.id).await?;
        let merchant = merchants::by_id(&mut connection, link.merchant_id).await?;
        let suspended = merchant.is_none_or(|merchant| merchant.suspended_at.is_some());
        let is_closed = suspended || !link.active;
        let desk = Desk { link, device: held.device, shown: held.shown, is_closed };
        Ok(Some(TillVisit::Open(Box::new(desk))))
    }

    /// The title of a till, for whoever has its address.
    pub async fn till_title(&self, link_id: &str) -> Result<Option<String>, StorageError> {
        let mut connection = self.db.connection().await?;
        Ok(till(&mut connection, link_id).await?.map(|link| link.terms.title))
    }

    /// The unlocked device, for what its cashier does.
    pub(super) async fn desk(&self, link_id: &str, keys: &Keys) -> Result<Desk, NotAtDesk> {
        match self.visit_till(link_id, keys).await? {
            None => Err(NotAtDesk::NoTill),
            Some(TillVisit::Unknown { .. }) => Err(NotAtDesk::Unknown),
            Some(TillVisit::Locked { .. }) => Err(NotAtDesk::Locked),
            Some(TillVisit::Open(desk)) => Ok(*desk),
        }
    }
}

/// The link of a till. Texts that name none are not looked up.
pub(super) async fn till(
    connection: &mut PgConnection,
    link_id: &str,
) -> Result<Option<Link>, StorageError> {
    if !link::is_id(link_id) {
        return Ok(None);
    }
    let link = links::by_link_id(connection, link_id).await?;
    Ok(link.filter(|link| link.terms.kind == LinkKind::Pos))
}

/// The device that a browser's token names.
pub(super) async fn held(
    connection: &mut PgConnection,
    link: Uuid,
    keys: &Keys,
) -> Result<Option<Held>, StorageError> {
    let Some(token) = &keys.token else { return Ok(None) };
    let session = keys.session.as_ref().map(|session| session.sha256());
    tills::by_token(connection, link, &token.sha256(), session.as_ref()).await
}
