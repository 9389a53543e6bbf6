//! Deposits and addresses for operators' searches: by transaction, by address, by booking.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError};
use crate::{
    asset::{Family, Network},
    deposit::{BookedAs, State},
    invoice::Status,
};

/// An address that was given out, and its owner.
#[derive(Debug, Clone)]
pub struct KnownAddress {
    pub id: Uuid,
    pub address: String,
    pub match_key: String,
    /// The network it was given out for; its family's other networks share it.
    pub network: Network,
    pub created_at: DateTime<Utc>,
    /// The watcher's height when it was given out; `None` if that network had never been watched.
    pub issued_height: Option<i64>,
    pub invoice_id: Option<Uuid>,
    pub payment_id: Option<String>,
    pub token_id: Option<String>,
    pub invoice_status: Option<Status>,
    pub payout_order_id: Option<String>,
    /// The merchant whose own address it is, which belongs to neither.
    pub own_of: Option<Uuid>,
}

/// A deposit with its address.
#[derive(Debug, Clone)]
pub struct FoundDeposit {
    pub id: Uuid,
    pub network: Network,
    pub deposit_key: String,
    pub tx_hash: String,
    pub match_key: String,
    pub payment_id: Option<String>,
    pub token_id: Option<String>,
    pub contract: Option<String>,
    pub amount_text: String,
    pub height: Option<i64>,
    pub first_seen_at: DateTime<Utc>,
    pub min_confirmations: i64,
    pub state: State,
    pub booked_as: Option<BookedAs>,
    pub settled_at: Option<DateTime<Utc>>,
}

/// The addresses among `match_keys` that were given out. Index: `deposit_address_unique`.
pub async fn known_addresses(
    connection: &mut PgConnection,
    families: &[Family],
    match_keys: &[String],
) -> Result<Vec<KnownAddress>, StorageError> {
    let families: Vec<_> = families.iter().map(|family| family.name().to_owned()).collect();
    let rows = sqlx::query_as!(
        KnownAddress,
        r#"
        select a.id, a.address, a.match_key, a.network as "network: _", a.created_at, a.issued_height, a.invoice_id,
               i.payment_id as "payment_id?", i.token_id as "token_id?", i.status as "invoice_status?: _",
               o.order_id as "payout_order_id?", l.merchant_id as "own_of?"
        from deposit_address a
        left join invoice i on i.id = a.invoice_id
        left join payout_order o on o.id = a.payout_order_id
        left join legacy_address l on l.address_id = a.id
        where a.family = any ($1) and a.match_key = any ($2)
        order by a.created_at, a.id
        limit 1000
        "#,
        &families,
        match_keys
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Query for deposits with their addresses, selected and ordered by the end of the query.
macro_rules! found_deposits {
    ($chosen:tt, $($argument:expr),+) => {
        sqlx::query_as!(
            FoundDeposit,
            r#"
            select d.id, d.network as "network: _", d.deposit_key, d.tx_hash, a.match_key, i.payment_id as "payment_id?", d.token_id,
                   d.contract, d.amount_text, d.height, d.first_seen_at, d.min_confirmations, d.state as "state: _",
                   d.booked_as as "booked_as: _", d.settled_at
            from deposit d
            join deposit_address a on a.id = d.address_id
            left join invoice i on i.id = d.invoice_id
            "# + $chosen,
            $($argument),+
        )
    };
}

/// Deposits of a transaction, by its hash or by the keys of its transfers, without replaced ones.
/// Index: `deposit_by_transaction`, `deposit_unique`, `deposit_replaced_once`.
pub async fn of_transaction(
    connection: &mut PgConnection,
    network: Network,
    tx_hash: &str,
    keys: &[String],
) -> Result<Vec<FoundDeposit>, StorageError> {
    let rows = found_deposits!(
        "where d.network = $1 and (d.tx_hash = $2 or d.deposit_key = any ($3))
           and not exists (select from deposit next where next.replaces = d.id)
         order by d.deposit_key limit 1000",
        network.name(),
        tx_hash,
        keys
    );
    Ok(rows.fetch_all(connection).await?)
}

/// All deposits ever received at an address, on all networks. Index: `deposit_by_address`.
pub async fn at_address(
    connection: &mut PgConnection,
    address_id: Uuid,
) -> Result<Vec<FoundDeposit>, StorageError> {
    let rows = found_deposits!(
        "where d.address_id = $1 order by d.first_seen_at, d.id limit 1000",
        address_id
    );
    Ok(rows.fetch_all(connection).await?)
}

/// The newest deposits that were booked as `booked_as`, on one network or on all.
pub async fn booked(
    connection: &mut PgConnection,
    booked_as: BookedAs,
    network: Option<Network>,
    limit: i64,
) -> Result<Vec<FoundDeposit>, StorageError> {
    let rows = found_deposits!(
        "where d.booked_as = $1 and ($2::text is null or d.network = $2) order by d.settled_at desc, d.id desc limit $3",
        booked_as.as_str(),
        network.map(Network::name),
        limit
    );
    Ok(rows.fetch_all(connection).await?)
}

/// Ids of the events that notified a merchant of a deposit: its own notice, and the event of the
/// invoice's end; at an address without an invoice, the event of its credit. Index: `event_once`.
pub async fn events_of(
    connection: &mut PgConnection,
    deposit_id: Uuid,
) -> Result<Vec<String>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select event_id as "event_id!"
        from (
            select v.event_id, v.created_at
            from deposit d
            join delivery v on v.invoice_id = d.invoice_id
            where d.id = $1
              and (v.subject = d.id or d.booked_as = 'credit' and v.kind = 'finished')
            union all
            select e.event_id, e.created_at
            from deposit d
            join event e on e.resource_id = replace(d.id::text, '-', '') and e.type = 'deposit.credited' and e.subject = d.id
            where d.id = $1 and d.invoice_id is null
        ) as told
        order by created_at, event_id
        limit 100
        "#,
        deposit_id
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| row.event_id).collect())
}

/// A deposit found by an address's balance at or above `height`, because no transaction showed it.
pub async fn by_balance(
    connection: &mut PgConnection,
    network: Network,
    address_id: Uuid,
    height: i64,
) -> Result<Option<String>, StorageError> {
    let row = sqlx::query!(
        r#"
        select deposit_key
        from deposit
        where address_id = $1 and network = $2 and height >= $3 and found_by_balance
          and state in ('seen', 'final', 'settled')
        order by height
        limit 1
        "#,
        address_id,
        network.name(),
        height
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| row.deposit_key))
}
