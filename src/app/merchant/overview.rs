//! Figures of a merchant, and of what asks for attention.

use uuid::Uuid;

use crate::app::Gateway;
use crate::storage::{
    StorageError,
    overview::{self, Attention, Taken},
};

/// The first page of a merchant.
#[derive(Debug)]
pub struct Overview {
    pub taken: Vec<Taken>,
    pub attention: Attention,
}

impl Gateway {
    pub async fn overview(&self, merchant_id: Uuid) -> Result<Overview, StorageError> {
        let mut connection = self.db.connection().await?;
        let taken = overview::taken(&mut connection, merchant_id).await?;
        let attention = overview::attention(&mut connection, merchant_id).await?;
        Ok(Overview { taken, attention })
    }
}
