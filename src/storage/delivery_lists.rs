//! Deliveries in the lists of the dashboard: a merchant's, page by page.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{
    PgConnection, StorageError,
    deliveries::{DeliveryRow, delivery_rows},
};
use crate::webhook::retry::DeliveryState;

/// A merchant's deliveries before a place, the newest first. Index: `delivery_by_merchant`.
pub async fn of_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    state: Option<DeliveryState>,
    (before, id): (DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<DeliveryRow>, StorageError> {
    let rows = delivery_rows!(
        "where d.merchant_id = $1 and d.created_at <= $2 and (d.created_at, d.id) < ($2, $3)
           and ($4::text is null or d.state = $4)
         order by d.created_at desc, d.id desc
         limit $5",
        merchant_id,
        before,
        id,
        state.map(DeliveryState::as_str),
        limit
    );
    Ok(rows.fetch_all(connection).await?)
}
