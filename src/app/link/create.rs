//! Creating a link.

use uuid::Uuid;

use super::{LinkError, checked};
use crate::app::{Gateway, invoice::create::Idempotency};
use crate::{
    link::{self, LinkKind, terms::Terms},
    storage::{
        PgConnection, StorageError, idempotency,
        links::{self, Link, NewLink},
        merchants,
    },
    till::pin::Pin,
};

/// A link, and whether it was created by an earlier request with the same key.
#[derive(Debug)]
pub struct CreatedLink {
    pub link: Link,
    pub replayed: bool,
}

impl Gateway {
    /// Creates a link, or finds the one that the same request created before.
    ///
    /// The lock of the merchant's row makes the limit and the idempotency key exact, as it does for
    /// invoices.
    pub async fn create_link(
        &self,
        merchant_id: Uuid,
        terms: &Terms,
        pin: Option<&Pin>,
        idempotency: Option<&Idempotency>,
    ) -> Result<CreatedLink, LinkError> {
        checked(terms, self.config.is_sandbox())?;
        if pin.is_some() && terms.kind != LinkKind::Pos {
            return Err(LinkError::PinWithoutTill);
        }
        self.check_time_zone(terms.time_zone.as_deref()).await?;
        let mut tx = self.db.begin().await?;
        if !merchants::lock_for_creation(&mut tx, merchant_id).await? {
            return Err(LinkError::Suspended);
        }
        if let Some(wanted) = idempotency
            && let Some(link) = repeated(&mut tx, merchant_id, wanted).await?
        {
            return Ok(CreatedLink { link, replayed: true });
        }
        if links::count(&mut tx, merchant_id).await? >= link::LINKS_MAX {
            return Err(LinkError::TooMany { max: link::LINKS_MAX });
        }
        let link_id = link::new_id();
        let pin_digest = pin.map(|pin| self.digest_of_pin(&link_id, pin));
        let new = NewLink { link_id: &link_id, terms, pin_digest };
        let link = links::insert(&mut tx, merchant_id, new).await?;
        if let Some(wanted) = idempotency {
            let (key, sha256) = (&wanted.key, &wanted.request_sha256);
            if !idempotency::insert(&mut tx, merchant_id, key, sha256, &link.link_id).await? {
                let reason = "an answer appeared under the merchant's lock";
                return Err(StorageError::damaged("idempotency", reason).into());
            }
        }
        tx.commit().await.map_err(StorageError::from)?;
        Ok(CreatedLink { link, replayed: false })
    }
}

/// The link of an earlier request under this key. Its id is kept instead of an answer: a link
/// changes, and a repeated request gets it as it is now.
async fn repeated(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    wanted: &Idempotency,
) -> Result<Option<Link>, LinkError> {
    let Some(stored) = idempotency::find(connection, merchant_id, &wanted.key).await? else {
        return Ok(None);
    };
    if stored.request_sha256 != wanted.request_sha256 {
        return Err(LinkError::IdempotencyMismatch);
    }
    let link = links::of_merchant(connection, merchant_id, &stored.response).await?;
    link.map(Some).ok_or(LinkError::IdempotencyMismatch)
}
