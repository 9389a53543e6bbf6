//! One page of invoices.

use gateway::{app::invoice::read::Page, invoice::payment::Payment};
use serde::Serialize;
use utoipa::ToSchema;

/// One page of invoices, without unresolved drafts.
#[derive(Debug, Serialize, ToSchema)]
pub struct PaymentList {
    #[schema(max_items = 100)]
    pub data: Vec<Payment>,
    /// Invoices per page, after clamping.
    #[schema(minimum = 1, maximum = 100)]
    pub limit: i64,
    /// 0-based, after clamping.
    #[schema(minimum = 0)]
    pub page: i64,
    /// Number of pages; at least 1, even if there are no entries.
    #[serde(rename = "pagesCount")]
    #[schema(minimum = 1)]
    pub pages_count: i64,
    /// Invoices on all pages.
    #[schema(minimum = 0)]
    pub total: i64,
}

impl PaymentList {
    pub fn render(found: Page, limit: i64, page: i64) -> Self {
        let pages = found.total.checked_add(limit - 1).unwrap_or(found.total) / limit;
        Self { data: found.payments, limit, page, pages_count: pages.max(1), total: found.total }
    }
}
