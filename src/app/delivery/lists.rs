//! Deliveries in lists: a merchant's, page by page, and operators' of one merchant or of all.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::app::Gateway;
use crate::{
    storage::{
        PgConnection, StorageError,
        deliveries::DeliveryRow,
        delivery_lists::{self, LastAttempt, Listed},
    },
    webhook::retry::DeliveryState,
};

/// Rows that one query of a merchant's list returns at most.
const PAGE: i64 = 26;
/// Queries that one operators' list makes at most: each looks at up to
/// [`delivery_lists::LOOKED_AT`] deliveries.
const PAGES_MAX: usize = 100;

/// A page of a merchant's deliveries.
#[derive(Debug)]
pub struct DeliveryPage {
    /// Each with its last attempt.
    pub rows: Vec<(DeliveryRow, Option<LastAttempt>)>,
    pub beyond: Option<(DateTime<Utc>, Uuid)>,
}

/// The deliveries that an operators' list shows.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub merchant_id: Option<Uuid>,
    pub state: Option<DeliveryState>,
    /// Created then or later.
    pub since: Option<DateTime<Utc>>,
    pub limit: usize,
}

/// The newest deliveries that match.
#[derive(Debug, Default)]
pub struct DeliveryList {
    pub rows: Vec<DeliveryRow>,
    /// There are more that match.
    pub more: bool,
    /// Older ones than this were not looked at, and some may match.
    pub looked_back_to: Option<DateTime<Utc>>,
}

impl Gateway {
    /// The newest deliveries that match, of one merchant or of all. The number looked at is
    /// bounded.
    pub async fn list_deliveries(&self, asked: &Asked) -> Result<DeliveryList, StorageError> {
        let mut connection = self.db.connection().await?;
        let since = asked.since.unwrap_or(DateTime::UNIX_EPOCH);
        let mut list = match asked.merchant_id {
            Some(merchant) => newest_of(&mut connection, merchant, asked, since).await?,
            None => newest_of_all(&mut connection, asked, since).await?,
        };
        list.more = list.rows.len() > asked.limit;
        list.rows.truncate(asked.limit);
        Ok(list)
    }

    /// A merchant's deliveries before a place that match, the newest first.
    ///
    /// One page looks at a bounded number. `beyond` is the place at which the next page goes on
    /// where this one has fewer rows than asked for and there may be more.
    pub async fn deliveries_before(
        &self,
        merchant_id: Uuid,
        listed: Listed,
        before: (DateTime<Utc>, Uuid),
        limit: i64,
    ) -> Result<DeliveryPage, StorageError> {
        let mut connection = self.db.connection().await?;
        let rows = delivery_lists::of_merchant(&mut connection, merchant_id, listed, before, limit)
            .await?;
        let is_short = i64::try_from(rows.len()).unwrap_or(i64::MAX) < limit;
        let beyond = if is_short && (listed.state.is_some() || listed.kind.is_some()) {
            delivery_lists::looked_at(&mut connection, merchant_id, listed, before).await?
        } else {
            None
        };
        let rows = delivery_lists::with_last_attempts(&mut connection, rows).await?;
        Ok(DeliveryPage { rows, beyond })
    }
}

async fn newest_of_all(
    connection: &mut PgConnection,
    asked: &Asked,
    since: DateTime<Utc>,
) -> Result<DeliveryList, StorageError> {
    let one_more = i64::try_from(asked.limit).unwrap_or(i64::MAX - 1) + 1;
    let rows = delivery_lists::newest(connection, asked.state, since, one_more).await?;
    let mut looked_back_to = None;
    if rows.len() <= asked.limit {
        let last = delivery_lists::newest_looked_at(connection).await?;
        looked_back_to = last.filter(|last| *last > since);
    }
    Ok(DeliveryList { rows, more: false, looked_back_to })
}

/// Up to one row more than asked for, page by page.
async fn newest_of(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    asked: &Asked,
    since: DateTime<Utc>,
) -> Result<DeliveryList, StorageError> {
    let listed = Listed { state: asked.state, ..Listed::default() };
    let mut list = DeliveryList::default();
    let mut before = (DateTime::<Utc>::MAX_UTC, Uuid::max());
    for _ in 0..PAGES_MAX {
        let page =
            delivery_lists::of_merchant(connection, merchant_id, listed, before, PAGE).await?;
        let is_full = i64::try_from(page.len()).is_ok_and(|rows| rows >= PAGE);
        let next = match page.last() {
            Some(last) if is_full => Some((last.created_at, last.id)),
            _ => delivery_lists::looked_at(connection, merchant_id, listed, before).await?,
        };
        list.rows.extend(page.into_iter().filter(|row| row.created_at >= since));
        let Some(next) = next.filter(|(at, _)| *at >= since) else { return Ok(list) };
        if list.rows.len() > asked.limit {
            return Ok(list);
        }
        before = next;
    }
    list.looked_back_to = Some(before.0);
    Ok(list)
}
