//! Operators who read a merchant's pages as that merchant's viewer.

use uuid::Uuid;

use crate::app::{Gateway, account::session::Signed};
use crate::storage::{StorageError, audit, merchants, operator::observations};

/// The audit names of an observation's begin and end.
const BEGIN: (&str, &str) = ("merchant", "observe");
const END: (&str, &str) = ("merchant", "observe-end");

impl Gateway {
    /// Shows a merchant's pages to an operator's session, to be read alone. `false` if there is no
    /// such merchant.
    pub async fn observe_merchant(
        &self,
        signed: &Signed,
        merchant_id: Uuid,
    ) -> Result<bool, StorageError> {
        let mut tx = self.db.begin().await?;
        if merchants::by_id(&mut tx, merchant_id).await?.is_none() {
            return Ok(false);
        }
        let (id, by) = (merchant_id.to_string(), &signed.row.email);
        observations::begin(&mut tx, signed.row.handle, merchant_id).await?;
        audit::note(&mut tx, BEGIN, &id, by, "reads the merchant's pages").await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Shows the operator's own pages again.
    pub async fn end_observation(&self, signed: &Signed) -> Result<Option<Uuid>, StorageError> {
        let mut tx = self.db.begin().await?;
        let ended = observations::end(&mut tx, signed.row.handle).await?;
        if let Some(id) = ended {
            let (id, by) = (id.to_string(), &signed.row.email);
            audit::note(&mut tx, END, &id, by, "reads them no more").await?;
        }
        tx.commit().await?;
        Ok(ended)
    }
}
