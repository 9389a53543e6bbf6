//! Mass payouts: orders. Their rows, batches, signed payments and kept answers are in the files
//! below.

pub mod answers;
pub mod batches;
pub mod coins;
pub mod events;
pub mod gas;
pub mod held;
pub mod items;
pub mod listed;
pub mod payments;
pub mod pressure;
pub mod reorgs;
mod row;
pub mod safety;
pub mod token_gas;

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use uuid::Uuid;

use super::{PgConnection, StorageError, numeric};
use crate::{
    asset::catalogue::Currency,
    money::BaseUnits,
    payout::{
        FeeMode, Funding, PayoutFamily, State,
        hold::Hold,
        lifecycle::{self, CancelledBy},
    },
};
use row::RawOrder;

/// An order as it is stored.
#[derive(Debug, Clone)]
pub struct PayoutOrder {
    pub id: Uuid,
    pub order_id: String,
    pub merchant_id: Uuid,
    pub family: PayoutFamily,
    pub state: State,
    pub funding: Funding,
    pub currency: &'static Currency,
    pub fee_mode: FeeMode,
    pub label: Option<String>,
    pub metadata: Option<String>,
    pub refund_address: Option<String>,
    pub callback_url: Option<String>,
    pub item_count: u32,
    pub batch_count: u32,
    pub payout_total: BaseUnits,
    pub total_to_send: BaseUnits,
    pub quote: StoredQuote,
    pub books: Books,
    pub deposit: Option<DepositPlace>,
    pub expires_at: DateTime<Utc>,
    pub abandoned_at: DateTime<Utc>,
    pub cancelled_by: Option<CancelledBy>,
    pub held: Option<Hold>,
    /// Why nothing was signed when it was last tried; passes by itself.
    pub waits_for: Option<String>,
    /// Gas that was fronted may lie at its address.
    pub gas_open: bool,
    /// Binds recipients, sums and addresses; its key is not in the database. `None` in orders of an
    /// earlier release.
    pub digest: Option<Vec<u8>>,
    pub created_at: DateTime<Utc>,
    pub confirmed_at: Option<DateTime<Utc>>,
    pub funded_at: Option<DateTime<Utc>>,
    pub finished_at: Option<DateTime<Utc>>,
    pub updated_at: DateTime<Utc>,
}

#[derive(Debug, Clone)]
pub struct StoredQuote {
    pub id: String,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    pub fee_rate: u128,
    pub native_price_usd: Decimal,
    pub asset_price_usd: Decimal,
    pub network_fee: BaseUnits,
    pub service_fee: BaseUnits,
}

/// Where an order's money came from and went. `kept + reserved + paid + returned` never exceeds
/// `credited + late`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Books {
    pub credited: BaseUnits,
    pub late: BaseUnits,
    pub kept: BaseUnits,
    pub reserved: BaseUnits,
    pub paid: BaseUnits,
    pub returned: BaseUnits,
    pub failed: BaseUnits,
}

impl Books {
    /// The part of the order's money that is neither given nor promised to any recipient.
    #[must_use]
    pub fn left(&self) -> BaseUnits {
        let spent = [self.kept, self.reserved, self.paid, self.returned];
        let received = self.credited.saturating_add(self.late);
        spent.into_iter().fold(received, BaseUnits::remaining_after)
    }

    /// Takes back an amount that was received and is gone again, as far as it was not given away:
    /// no order may have given more than it received. Returns how much of it stays counted.
    #[must_use]
    pub fn take_back(&mut self, amount: BaseUnits, was_late: bool) -> BaseUnits {
        let mut missing = amount.min(self.left());
        let counted = amount.remaining_after(missing);
        let (first, second) = if was_late {
            (&mut self.late, &mut self.credited)
        } else {
            (&mut self.credited, &mut self.late)
        };
        for sum in [first, second] {
            let before = *sum;
            *sum = before.remaining_after(missing);
            missing = missing.remaining_after(before);
        }
        counted
    }
}

/// The order's own address and the index of its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DepositPlace {
    pub address: String,
    pub derivation_index: i64,
}

impl PayoutOrder {
    /// The facts that the lifecycle decides on. Callers that looked add the fact that nothing was
    /// signed.
    pub fn for_lifecycle(&self) -> lifecycle::Order {
        lifecycle::Order {
            state: self.state,
            funding: self.funding,
            due: self.total_to_send,
            credited: self.books.credited,
            expires_at: self.expires_at,
            abandoned_at: self.abandoned_at,
            nothing_signed: false,
        }
    }
}

pub async fn insert(
    connection: &mut PgConnection,
    order: &PayoutOrder,
) -> Result<(), StorageError> {
    let quote = &order.quote;
    sqlx::query!(
        r#"
        insert into payout_order (id, order_id, merchant_id, family, state, token_id, network, fee_mode, label, metadata,
            refund_address, callback_url, item_count, batch_count, payout_total, network_fee, service_fee, total_to_send,
            quote_id, quote_created_at, quote_expires_at, fee_rate, native_price_usd, asset_price_usd, expires_at,
            abandoned_at, created_at, updated_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
            $24, $25, $26, $27, $27)
        "#,
        order.id,
        order.order_id,
        order.merchant_id,
        order.family.as_str(),
        order.state.as_str(),
        order.currency.token_id(),
        order.currency.network.name(),
        order.fee_mode.as_str(),
        order.label,
        order.metadata,
        order.refund_address,
        order.callback_url,
        row::small(order.item_count)?,
        row::small(order.batch_count)?,
        numeric::from_units(order.payout_total),
        numeric::from_units(quote.network_fee),
        numeric::from_units(quote.service_fee),
        numeric::from_units(order.total_to_send),
        quote.id,
        quote.created_at,
        quote.expires_at,
        numeric::from_units(BaseUnits::new(quote.fee_rate)),
        numeric::from_decimal(quote.native_price_usd),
        numeric::from_decimal(quote.asset_price_usd),
        order.expires_at,
        order.abandoned_at,
        order.created_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Reads orders by a condition. The columns are named one by one: `select *` would get another
/// shape by the next column that a migration adds, and PostgreSQL then refuses the prepared
/// statements of programs that still run.
macro_rules! orders_where {
    ($condition:literal; $($argument:expr),+) => {
        sqlx::query_as!(
            RawOrder,
            r#"
            select id, order_id, merchant_id, family, state, funding, token_id, fee_mode, label,
                   metadata, refund_address, callback_url, item_count, batch_count, payout_total,
                   network_fee, service_fee, total_to_send, quote_id, quote_created_at,
                   quote_expires_at, fee_rate, native_price_usd, asset_price_usd, credited, late,
                   kept, reserved, paid, returned, failed, deposit_address, derivation_index,
                   expires_at, abandoned_at, cancelled_by, hold_reason, gas_open, waits_for, digest,
                   created_at, confirmed_at, funded_at, finished_at, updated_at
            from payout_order
            where "# + $condition,
            $($argument),+
        )
    };
}

/// Locks an order: every decision about it is made under this row's lock. Index:
/// `payout_order_pkey`.
pub async fn lock(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<PayoutOrder>, StorageError> {
    let row = orders_where!("id = $1 for no key update"; id).fetch_optional(connection).await?;
    row.map(TryInto::try_into).transpose()
}

/// An order as it is now, without holding it.
pub async fn by_id(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<PayoutOrder>, StorageError> {
    let row = orders_where!("id = $1"; id).fetch_optional(connection).await?;
    row.map(TryInto::try_into).transpose()
}

/// Locks several orders in one order, so that two callers never wait for each other in a ring.
pub async fn lock_all(connection: &mut PgConnection, ids: &[Uuid]) -> Result<(), StorageError> {
    sqlx::query!(
        "select id from payout_order where id = any ($1) order by id for no key update",
        ids
    )
    .fetch_all(connection)
    .await?;
    Ok(())
}

/// An order of any merchant by its public id: for the operator. Index: `payout_order_id_unique`.
pub async fn by_order_id(
    connection: &mut PgConnection,
    order_id: &str,
) -> Result<Option<PayoutOrder>, StorageError> {
    let row = orders_where!("order_id = $1"; order_id).fetch_optional(connection).await?;
    row.map(TryInto::try_into).transpose()
}

/// A merchant's order.
pub async fn of_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    order_id: &str,
) -> Result<Option<PayoutOrder>, StorageError> {
    let found = by_order_id(connection, order_id).await?;
    Ok(found.filter(|order| order.merchant_id == merchant_id))
}

/// One page of a merchant's orders, newest first, and how many there are. Index:
/// `payout_order_by_merchant`.
pub async fn page(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    family: PayoutFamily,
    state: Option<State>,
    limit: i64,
    offset: i64,
) -> Result<(Vec<PayoutOrder>, i64), StorageError> {
    let state = state.map(State::as_str);
    let rows = orders_where!(
        r#"
        merchant_id = $1 and family = $2 and ($3::text is null or state = $3)
        order by created_at desc, id desc
        limit $4 offset $5
        "#;
        merchant_id,
        family.as_str(),
        state,
        limit,
        offset
    )
    .fetch_all(&mut *connection)
    .await?;
    let count = sqlx::query!(
        r#"
        select count(*) as "count!"
        from payout_order
        where merchant_id = $1 and family = $2 and ($3::text is null or state = $3)
        "#,
        merchant_id,
        family.as_str(),
        state
    )
    .fetch_one(connection)
    .await?;
    let orders: Result<_, _> = rows.into_iter().map(TryInto::try_into).collect();
    Ok((orders?, count.count))
}

/// Stores a step's decision. The caller holds the row lock. Returns the new `updated_at`.
pub async fn update_standing(
    connection: &mut PgConnection,
    order: &PayoutOrder,
) -> Result<DateTime<Utc>, StorageError> {
    let row = sqlx::query!(
        r#"
        update payout_order
        set state = $2, funding = $3, credited = $4, late = $5, kept = $6, reserved = $7, paid = $8, returned = $9,
            failed = $10, cancelled_by = $11, updated_at = clock_timestamp(),
            funded_at = case when $2 = 'funded' then coalesce(funded_at, clock_timestamp()) else funded_at end,
            finished_at = case when $2 in ('completed', 'partial_failed', 'expired', 'cancelled')
                               then coalesce(finished_at, now()) end
        where id = $1
        returning updated_at
        "#,
        order.id,
        order.state.as_str(),
        order.funding.as_str(),
        numeric::from_units(order.books.credited),
        numeric::from_units(order.books.late),
        numeric::from_units(order.books.kept),
        numeric::from_units(order.books.reserved),
        numeric::from_units(order.books.paid),
        numeric::from_units(order.books.returned),
        numeric::from_units(order.books.failed),
        order.cancelled_by.map(CancelledBy::as_str)
    )
    .fetch_one(connection)
    .await?;
    Ok(row.updated_at)
}

/// Gives an order its address and its funding window. The caller holds the row lock.
pub async fn open_funding(
    connection: &mut PgConnection,
    id: Uuid,
    place: &DepositPlace,
    expires_at: DateTime<Utc>,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update payout_order
        set deposit_address = $2, derivation_index = $3, expires_at = $4, confirmed_at = now()
        where id = $1
        "#,
        id,
        place.address,
        place.derivation_index,
        expires_at
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Replaces the quote. The caller holds the row lock, and stores the new net amounts of the rows
/// with it.
pub async fn requote(
    connection: &mut PgConnection,
    order: &PayoutOrder,
) -> Result<(), StorageError> {
    let quote = &order.quote;
    sqlx::query!(
        r#"
        update payout_order
        set network_fee = $2, service_fee = $3, total_to_send = $4, quote_id = $5, quote_created_at = $6,
            quote_expires_at = $7, fee_rate = $8, native_price_usd = $9, asset_price_usd = $10, expires_at = $11
        where id = $1
        "#,
        order.id,
        numeric::from_units(quote.network_fee),
        numeric::from_units(quote.service_fee),
        numeric::from_units(order.total_to_send),
        quote.id,
        quote.created_at,
        quote.expires_at,
        numeric::from_units(BaseUnits::new(quote.fee_rate)),
        numeric::from_decimal(quote.native_price_usd),
        numeric::from_decimal(quote.asset_price_usd),
        order.expires_at
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The next orders that a digest binds, after the id `after` and in the order of their ids.
pub async fn bound_after(
    connection: &mut PgConnection,
    after: Uuid,
    limit: i64,
) -> Result<Vec<(Uuid, String)>, StorageError> {
    let rows = sqlx::query!(
        "select id, order_id from payout_order where id > $1 and digest is not null order by id limit $2",
        after,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.order_id)).collect())
}

/// The number of orders that a digest binds.
pub async fn count_bound(connection: &mut PgConnection) -> Result<i64, StorageError> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from payout_order where digest is not null"#
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}

/// Stores the digest that binds an order. Call it wherever bound columns were written, under the
/// order's row lock.
pub async fn set_digest(
    connection: &mut PgConnection,
    id: Uuid,
    digest: &[u8],
) -> Result<(), StorageError> {
    sqlx::query!("update payout_order set digest = $2 where id = $1", id, digest)
        .execute(connection)
        .await?;
    Ok(())
}

/// Where an order's refund goes, if that was never said. The caller holds the row lock.
pub async fn set_refund_address(
    connection: &mut PgConnection,
    id: Uuid,
    address: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update payout_order
        set refund_address = $2, updated_at = clock_timestamp()
        where id = $1 and refund_address is null
        "#,
        id,
        address
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Takes the order for a while, so that two workers do not do the same looking. `false` if another
/// has it.
pub async fn lease(
    connection: &mut PgConnection,
    id: Uuid,
    seconds: i32,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update payout_order
        set leased_until = now() + $2::int * interval '1 second'
        where id = $1 and (leased_until is null or leased_until < now())
        "#,
        id,
        seconds
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub async fn end_lease(connection: &mut PgConnection, id: Uuid) -> Result<(), StorageError> {
    sqlx::query!("update payout_order set leased_until = null where id = $1", id)
        .execute(connection)
        .await?;
    Ok(())
}

/// The number of a merchant's orders that have not ended. Index: `payout_order_open`.
pub async fn count_open(
    connection: &mut PgConnection,
    merchant_id: Uuid,
) -> Result<u64, StorageError> {
    let row = sqlx::query!(
        r#"
        select count(*) as "count!"
        from payout_order
        where merchant_id = $1 and state in ('draft', 'pending_deposit', 'funded', 'processing')
        "#,
        merchant_id
    )
    .fetch_one(connection)
    .await?;
    Ok(row.count.unsigned_abs())
}

/// Orders of all merchants for the operator, those at work first.
pub async fn list(
    connection: &mut PgConnection,
    merchant_id: Option<Uuid>,
    state: Option<State>,
    limit: i64,
) -> Result<Vec<PayoutOrder>, StorageError> {
    let rows = orders_where!(
        r#"
        ($1::uuid is null or merchant_id = $1) and ($2::text is null or state = $2)
        order by finished_at is not null, created_at desc, id
        limit $3
        "#;
        merchant_id,
        state.map(State::as_str),
        limit
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}
