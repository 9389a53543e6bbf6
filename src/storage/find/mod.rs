//! Rows of any kind that a text names, for operators: by an id, an order id, a transaction, an
//! address or an e-mail address.
//!
//! Each query reads an index, and at most [`FOUND_MAX`] rows and one more of each kind.

pub mod merchants;
pub mod messages;
pub mod payments;
pub mod payouts;
pub mod programs;
pub mod received;

use chrono::{DateTime, Utc};
use uuid::Uuid;

/// Rows that one query returns at most, beside the one that shows that there are more.
pub const FOUND_MAX: usize = 20;

/// A row that a text names.
#[derive(Debug, Clone)]
pub struct FoundRow {
    /// By which people and commands name it.
    pub id: String,
    pub merchant_id: Option<Uuid>,
    /// The merchant's name.
    pub merchant: Option<String>,
    pub state: String,
    pub network: Option<String>,
    /// What else says which one it is, by its kind: an order id, a title, the id of its payment.
    pub about: Option<String>,
    /// `None` for an address of a pool.
    pub created_at: Option<DateTime<Utc>>,
}

/// Query for rows, the newest first; the inner query gives the six columns named below.
macro_rules! found_rows {
    ($inner:tt $(+ $more:tt)*, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            $crate::storage::find::FoundRow,
            r#"
            select hit.id as "id!", hit.merchant_id as "merchant_id?", m.name as "merchant?", hit.state as "state!",
                   hit.network as "network?", hit.about as "about?", hit.created_at as "created_at?"
            from ("# + $inner $(+ $more)* + r#") as hit (id, merchant_id, state, network, about, created_at)
            left join merchant m on m.id = hit.merchant_id
            order by hit.created_at desc, hit.id
            limit 21
            "#,
            $($argument),+
        )
    };
}
pub(in crate::storage) use found_rows;
