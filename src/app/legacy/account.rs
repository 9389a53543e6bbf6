//! `get_basic_info`: the merchant of a request.

use uuid::Uuid;

use super::LegacyError;
use crate::{
    app::Gateway,
    legacy::Refusal,
    storage::{merchants, merchants::MerchantRow},
};

impl Gateway {
    /// The merchant of an authenticated request.
    pub async fn legacy_account(&self, merchant_id: Uuid) -> Result<MerchantRow, LegacyError> {
        let mut connection = self.db.connection().await?;
        let row = merchants::by_id(&mut connection, merchant_id).await?;
        Ok(row.ok_or(Refusal::PublicKey)?)
    }
}
