//! Deposits that were booked late, in another currency, or of an unknown token, page by page.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    asset::Network,
    deposit::BookedAs,
    storage::{PgConnection, StorageError},
};

/// A deposit in the list.
#[derive(Debug, Clone)]
pub struct OddDeposit {
    pub id: Uuid,
    pub network: Network,
    pub tx_hash: String,
    pub token_id: Option<String>,
    pub contract: Option<String>,
    pub amount_text: String,
    pub payment_id: Option<String>,
    pub order_id: Option<String>,
    /// That of the invoice, the order or the address.
    pub merchant_id: Option<Uuid>,
    pub settled_at: DateTime<Utc>,
}

/// Deposits before a place, the newest first. Index: `deposit_odd`.
pub async fn page(
    connection: &mut PgConnection,
    (booked_as, network): (BookedAs, Option<Network>),
    (before, id): (DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<OddDeposit>, StorageError> {
    let rows = sqlx::query_as!(
        OddDeposit,
        r#"
        select d.id, d.network as "network: _", d.tx_hash, d.token_id, d.contract, d.amount_text,
               i.payment_id as "payment_id?", o.order_id as "order_id?",
               coalesce(i.merchant_id, o.merchant_id, a.merchant_id) as merchant_id, d.settled_at as "settled_at!"
        from deposit d
        left join invoice i on i.id = d.invoice_id
        left join payout_order o on o.id = d.payout_order_id
        left join legacy_address a on a.address_id = d.address_id
        where d.booked_as in ('late', 'foreign', 'suspicious') and d.booked_as = $1 and d.state = 'settled'
          and ($2::text is null or d.network = $2)
          and (d.settled_at, d.id) < ($3, $4)
        order by d.settled_at desc, d.id desc
        limit $5
        "#,
        booked_as.as_str(),
        network.map(Network::name),
        before,
        id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}
