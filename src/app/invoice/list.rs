//! Lists of invoices for operators: of one merchant or of all.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::app::Gateway;
use crate::{
    invoice::Status,
    storage::{
        PgConnection, StorageError,
        invoice_lists::{self, ListedInvoice},
        payment_search::{self, Filter, Side},
    },
};

/// Rows that one query of a merchant's list returns at most.
const PAGE: i64 = 26;

/// The invoices that a list shows.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub merchant_id: Option<Uuid>,
    /// The public id of the payment link that they came by; needs the merchant.
    pub link_id: Option<String>,
    pub status: Option<Status>,
    /// Created then or later.
    pub since: Option<DateTime<Utc>>,
    pub limit: usize,
}

/// The newest invoices that match.
#[derive(Debug, Clone, Default)]
pub struct InvoiceList {
    pub rows: Vec<ListedInvoice>,
    /// There are more that match.
    pub more: bool,
    /// Older ones than this were not looked at, and some may match.
    pub looked_back_to: Option<DateTime<Utc>>,
}

impl Gateway {
    /// The newest invoices that match. Of one merchant all are looked at, without unresolved drafts
    /// unless they are asked for by status; of all merchants only the newest.
    pub async fn list_invoices(&self, asked: &Asked) -> Result<InvoiceList, StorageError> {
        let mut connection = self.db.connection().await?;
        let since = asked.since.unwrap_or(DateTime::UNIX_EPOCH);
        let one_more = i64::try_from(asked.limit).unwrap_or(i64::MAX - 1) + 1;
        let mut list = InvoiceList::default();
        list.rows = match asked.merchant_id {
            Some(merchant) if asked.status == Some(Status::Draft) => {
                invoice_lists::drafts(&mut connection, merchant, since, one_more).await?
            }
            Some(merchant) => of_merchant(&mut connection, merchant, asked).await?,
            None => {
                let (status, limit) = (asked.status, one_more);
                let rows = invoice_lists::newest(&mut connection, status, since, limit).await?;
                if rows.len() <= asked.limit {
                    let last = invoice_lists::looked_at(&mut connection).await?;
                    list.looked_back_to = last.filter(|last| *last > since);
                }
                rows
            }
        };
        list.more = list.rows.len() > asked.limit;
        list.rows.truncate(asked.limit);
        Ok(list)
    }
}

/// Up to one row more than asked for, page by page.
async fn of_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    asked: &Asked,
) -> Result<Vec<ListedInvoice>, StorageError> {
    let filter = Filter {
        status: asked.status,
        link_id: asked.link_id.clone(),
        from: asked.since,
        ..Filter::default()
    };
    let mut rows: Vec<ListedInvoice> = Vec::new();
    let mut place = (Side::Older, DateTime::<Utc>::MAX_UTC, Uuid::max());
    while rows.len() <= asked.limit {
        let page = payment_search::page(connection, merchant_id, &filter, place, PAGE).await?;
        let is_last = page.len() < usize::try_from(PAGE).unwrap_or(usize::MAX);
        rows.extend(page.into_iter().map(|invoice| ListedInvoice { merchant_id, invoice }));
        let Some(last) = rows.last().filter(|_| !is_last) else { break };
        place = (Side::Older, last.invoice.created_at, last.invoice.id);
    }
    Ok(rows)
}
