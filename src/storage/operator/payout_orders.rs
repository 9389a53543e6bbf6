//! Payout orders, stops, limits and gas wallets, for the operators' screen.

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    payout::State,
    storage::{PgConnection, StorageError, numeric},
};

/// An order in the list.
#[derive(Debug, Clone)]
pub struct ListedOrder {
    pub id: Uuid,
    pub order_id: String,
    pub merchant_id: Uuid,
    pub merchant_name: String,
    pub state: State,
    pub token_id: String,
    pub item_count: i32,
    pub payout_total: BaseUnits,
    pub hold_reason: Option<String>,
    pub waits_for: Option<String>,
    /// The time by which the list is ordered: of the hold, or of the order.
    pub at: DateTime<Utc>,
}

/// Query for orders, selected and ordered by the end of the query; `$at` is the time they are
/// listed by.
macro_rules! listed_orders {
    ($at:tt, $chosen:tt, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            ListedOrder,
            r#"
            select o.id, o.order_id, o.merchant_id, m.name as merchant_name, o.state as "state: _", o.token_id, o.item_count,
                   o.payout_total as "payout_total: _", o.hold_reason, o.waits_for, "# + $at + r#" as "at!"
            from payout_order o
            join merchant m on m.id = o.merchant_id
            "# + $chosen,
            $($argument),+
        )
    };
}

/// Held orders, the first held first; the place is that of the last one seen. Index:
/// `payout_order_held`.
pub async fn held(
    connection: &mut PgConnection,
    after: Option<(DateTime<Utc>, Uuid)>,
    limit: i64,
) -> Result<Vec<ListedOrder>, StorageError> {
    let (at, id) = after.unzip();
    let rows = listed_orders!(
        "o.held_at",
        "where o.held_at is not null and ($1::timestamptz is null or (o.held_at, o.id) > ($1, $2))
         order by o.held_at, o.id
         limit $3",
        at,
        id,
        limit
    );
    Ok(rows.fetch_all(connection).await?)
}

/// Orders that are being paid out and are not held, the first funded first. Index:
/// `payout_order_at_work`.
pub async fn at_work(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<Vec<ListedOrder>, StorageError> {
    let rows = listed_orders!(
        "o.funded_at",
        "where o.state in ('funded', 'processing') and o.held_at is null and o.funded_at is not null
         order by o.funded_at, o.id
         limit $1",
        limit
    );
    Ok(rows.fetch_all(connection).await?)
}

/// A thrown stop switch; its network is `*` for all of them.
#[derive(Debug, Clone)]
pub struct StopRow {
    pub network: String,
    pub reason: String,
    pub stopped_at: DateTime<Utc>,
}

pub async fn stops(connection: &mut PgConnection) -> Result<Vec<StopRow>, StorageError> {
    let rows = sqlx::query_as!(
        StopRow,
        "select network, reason, stopped_at from payout_stop order by network limit 100"
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// USD signed for recipients within an hour and a day, and fronted as gas within a day. Waits for
/// no signer, unlike the sums by which limits are kept.
#[derive(Debug, Clone, Copy)]
pub struct SignedNow {
    pub hour: Decimal,
    pub day: Decimal,
    pub gas_day: Decimal,
}

pub async fn signed_now(connection: &mut PgConnection) -> Result<SignedNow, StorageError> {
    let row = sqlx::query!(
        r#"
        select coalesce(sum(value_usd) filter (where purpose <> 'gas' and created_at > now() - interval '1 hour'), 0) as "hour!",
               coalesce(sum(value_usd) filter (where purpose <> 'gas'), 0) as "day!",
               coalesce(sum(value_usd) filter (where purpose = 'gas'), 0) as "gas!"
        from payout_payment
        where created_at > now() - interval '24 hours' and purpose in ('pay', 'refund', 'gas')
        "#
    )
    .fetch_one(connection)
    .await?;
    let decimal = |value| numeric::to_decimal("payout_payment", value);
    Ok(SignedNow {
        hour: decimal(&row.hour)?,
        day: decimal(&row.day)?,
        gas_day: decimal(&row.gas)?,
    })
}

/// A gas wallet at its last comparison with the chain.
#[derive(Debug, Clone)]
pub struct GasWalletRow {
    pub network: Network,
    pub address: String,
    /// Amount that operators paid in.
    pub paid_in: BaseUnits,
    /// Amounts that its final payments took out of it, and that came back.
    pub went: BaseUnits,
    pub came: BaseUnits,
    pub height: i64,
    pub seen_at: DateTime<Utc>,
}

pub async fn gas_wallets(connection: &mut PgConnection) -> Result<Vec<GasWalletRow>, StorageError> {
    let rows = sqlx::query_as!(
        GasWalletRow,
        r#"
        select w.network as "network: _", w.address, w.paid_in as "paid_in: _", w.height, w.seen_at,
               (select coalesce(sum(coalesce(p.fee, 0) + case when p.state = 'confirmed' then p.amount else 0 end), 0)
                from payout_payment p
                where p.network = w.network and p.sender = w.address and p.height <= w.height) as "went!: _",
               (select coalesce(sum(p.amount), 0)
                from payout_payment p
                where p.network = w.network and p.purpose = 'gas_return' and p.state = 'confirmed'
                  and p.height <= w.height and p.returned_to = w.address) as "came!: _"
        from gas_wallet w
        order by w.network, w.address
        limit 100
        "#
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// People who let a held order go, since it is held.
pub async fn released_by(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Vec<String>, StorageError> {
    let names = sqlx::query_scalar!(
        r#"
        select r.released_by
        from payout_release r
        join payout_order o on o.id = r.order_id
        where r.order_id = $1 and r.created_at > o.held_at and r.by_account
        order by r.created_at
        limit 20
        "#,
        id
    )
    .fetch_all(connection)
    .await?;
    Ok(names)
}

/// Rows of an order, in the order of their numbers.
#[derive(Debug, Clone)]
pub struct OrderRow {
    pub row_number: i32,
    pub address: String,
    pub net_amount: BaseUnits,
    pub state: String,
    pub error: Option<String>,
}

pub async fn rows(
    connection: &mut PgConnection,
    id: Uuid,
    limit: i64,
) -> Result<Vec<OrderRow>, StorageError> {
    let rows = sqlx::query_as!(
        OrderRow,
        r#"
        select row_number, address, net_amount as "net_amount: _", state, error
        from payout_item
        where order_id = $1
        order by row_number
        limit $2
        "#,
        id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The time since which an order is held.
pub async fn held_at(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<DateTime<Utc>>, StorageError> {
    let at = sqlx::query_scalar!("select held_at from payout_order where id = $1", id)
        .fetch_optional(connection)
        .await?;
    Ok(at.flatten())
}
