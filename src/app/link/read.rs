//! A merchant's own links.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::app::Gateway;
use crate::storage::{
    StorageError,
    invoices::ListOrder,
    links::{self, Link},
    payment_search::Side,
};

/// One page of a merchant's links.
#[derive(Debug)]
pub struct LinkPage {
    pub links: Vec<Link>,
    pub total: i64,
}

impl Gateway {
    pub async fn find_link(
        &self,
        merchant_id: Uuid,
        link_id: &str,
    ) -> Result<Option<Link>, StorageError> {
        let mut connection = self.db.connection().await?;
        links::of_merchant(&mut connection, merchant_id, link_id).await
    }

    /// Up to `limit` links on one side of a place, the newest first.
    pub async fn links_beside(
        &self,
        merchant_id: Uuid,
        place: (Side, DateTime<Utc>, Uuid),
        limit: i64,
    ) -> Result<Vec<Link>, StorageError> {
        let mut connection = self.db.connection().await?;
        links::beside(&mut connection, merchant_id, place, limit).await
    }

    pub async fn list_links(
        &self,
        merchant_id: Uuid,
        order: ListOrder,
        limit: i64,
        offset: i64,
    ) -> Result<LinkPage, StorageError> {
        let mut connection = self.db.connection().await?;
        let total = links::count(&mut connection, merchant_id).await?;
        let links = if offset >= total {
            Vec::new()
        } else {
            links::page(&mut connection, merchant_id, order, limit, offset).await?
        };
        Ok(LinkPage { links, total })
    }
}
