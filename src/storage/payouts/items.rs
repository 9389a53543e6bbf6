//! The rows of an order: the recipients, their amounts, and the results.

use uuid::Uuid;

use crate::{
    money::BaseUnits,
    payout::{
        batch::{ItemState, Tally},
        binding::BoundRow,
    },
    storage::{PgConnection, StorageError, numeric},
};

/// A row to be written.
#[derive(Debug, Clone)]
pub struct NewItem {
    pub id: Uuid,
    pub item_id: String,
    pub batch_id: Uuid,
    pub row_number: i32,
    pub address: String,
    pub amount: BaseUnits,
    pub net_amount: BaseUnits,
    pub reference: Option<String>,
    pub memo: Option<String>,
}

/// A row as it is stored, with the public id of its batch and the result of its payment.
#[derive(Debug, Clone)]
pub struct ItemRow {
    pub id: Uuid,
    pub item_id: String,
    pub batch_id: String,
    pub row_number: i32,
    pub address: String,
    pub amount: BaseUnits,
    pub net_amount: BaseUnits,
    pub reference: Option<String>,
    pub memo: Option<String>,
    pub state: ItemState,
    pub payment_id: Option<Uuid>,
    pub tx_hash: Option<String>,
    pub error: Option<String>,
}

/// Writes all rows of an order in one statement.
pub async fn insert_all(
    connection: &mut PgConnection,
    order_id: Uuid,
    items: &[NewItem],
) -> Result<(), StorageError> {
    let ids: Vec<_> = items.iter().map(|item| item.id).collect();
    let item_ids: Vec<_> = items.iter().map(|item| item.item_id.clone()).collect();
    let batches: Vec<_> = items.iter().map(|item| item.batch_id).collect();
    let rows: Vec<_> = items.iter().map(|item| item.row_number).collect();
    let addresses: Vec<_> = items.iter().map(|item| item.address.clone()).collect();
    let amounts: Vec<_> = items.iter().map(|item| numeric::from_units(item.amount)).collect();
    let nets: Vec<_> = items.iter().map(|item| numeric::from_units(item.net_amount)).collect();
    let references: Vec<_> = items.iter().map(|item| item.reference.clone()).collect();
    let memos: Vec<_> = items.iter().map(|item| item.memo.clone()).collect();
    sqlx::query!(
        r#"
        insert into payout_item (id, item_id, order_id, batch_id, row_number, address, amount, net_amount, reference, memo)
        select t.id, t.item_id, $1, t.batch_id, t.row_number, t.address, t.amount, t.net_amount, t.reference, t.memo
        from unnest($2::uuid[], $3::text[], $4::uuid[], $5::int[], $6::text[], $7::numeric[], $8::numeric[], $9::text[],
                    $10::text[])
             as t (id, item_id, batch_id, row_number, address, amount, net_amount, reference, memo)
        "#,
        order_id,
        &ids,
        &item_ids,
        &batches,
        &rows,
        &addresses,
        &amounts,
        &nets,
        &references as &[Option<String>],
        &memos as &[Option<String>]
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Amounts of an order in the order of its rows, for a new quote.
pub async fn amounts(
    connection: &mut PgConnection,
    order_id: Uuid,
) -> Result<Vec<BaseUnits>, StorageError> {
    let rows = sqlx::query!(
        "select amount from payout_item where order_id = $1 order by row_number limit 10000",
        order_id
    )
    .fetch_all(connection)
    .await?;
    rows.iter().map(|row| numeric::to_units("payout_item", &row.amount)).collect()
}

/// Stores each row's amount after its fees, in the order of [`amounts`].
pub async fn set_net_amounts(
    connection: &mut PgConnection,
    order_id: Uuid,
    net: &[BaseUnits],
) -> Result<(), StorageError> {
    let net: Vec<_> = net.iter().copied().map(numeric::from_units).collect();
    sqlx::query!(
        r#"
        with numbered as (
            select id, row_number() over (order by row_number) as position
            from payout_item
            where order_id = $1
        )
        update payout_item
        set net_amount = t.net
        from numbered
        join unnest($2::numeric[]) with ordinality as t (net, position) on t.position = numbered.position
        where payout_item.id = numbered.id
        "#,
        order_id,
        &net
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// All rows of an order as its digest covers them, in the order of their numbers. More than any
/// order may have are read, so that rows added by another hand are among them.
pub async fn bound(
    connection: &mut PgConnection,
    order_id: Uuid,
) -> Result<Vec<BoundRow>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select id, row_number, address, amount, net_amount
        from payout_item
        where order_id = $1
        order by row_number
        limit 10001
        "#,
        order_id
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(BoundRow {
                id: row.id,
                row_number: row.row_number,
                address: row.address,
                amount: numeric::to_units("payout_item", &row.amount)?,
                net_amount: numeric::to_units("payout_item", &row.net_amount)?,
            })
        })
        .collect()
}

/// Where the rows of an order stand.
pub async fn tally(connection: &mut PgConnection, order_id: Uuid) -> Result<Tally, StorageError> {
    let row = sqlx::query!(
        r#"
        select count(*) filter (where state = 'pending' and payment_id is null) as "pending!",
               count(*) filter (where state = 'pending' and payment_id is not null) as "signed!",
               count(*) filter (where state = 'sent') as "sent!",
               count(*) filter (where state = 'confirmed') as "confirmed!",
               count(*) filter (where state = 'failed') as "failed!"
        from payout_item
        where order_id = $1
        "#,
        order_id
    )
    .fetch_one(connection)
    .await?;
    let count = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
    Ok(Tally {
        pending: count(row.pending),
        signed: count(row.signed),
        sent: count(row.sent),
        confirmed: count(row.confirmed),
        failed: count(row.failed),
    })
}

/// The number of rows of an order that have no payment yet, and the number of their batches.
pub async fn unsigned_count(
    connection: &mut PgConnection,
    order_id: Uuid,
) -> Result<(usize, usize), StorageError> {
    let row = sqlx::query!(
        r#"
        select count(*) as "rows!", count(distinct batch_id) as "batches!"
        from payout_item
        where order_id = $1 and state = 'pending' and payment_id is null
        "#,
        order_id
    )
    .fetch_one(connection)
    .await?;
    let count = |n: i64| usize::try_from(n).unwrap_or(usize::MAX);
    Ok((count(row.rows), count(row.batches)))
}

/// One page of an order's rows and how many there are.
pub async fn page(
    connection: &mut PgConnection,
    order_id: Uuid,
    state: Option<ItemState>,
    limit: i64,
    offset: i64,
) -> Result<(Vec<ItemRow>, i64), StorageError> {
    let state = state.map(ItemState::as_str);
    let rows = sqlx::query_as!(
        RawItem,
        r#"
        select i.id, i.item_id, b.batch_id, i.row_number, i.address, i.amount, i.net_amount, i.reference, i.memo, i.state,
               i.payment_id, p.tx_hash as "tx_hash?", i.error
        from payout_item i
        join payout_batch b on b.id = i.batch_id
        left join payout_payment p on p.id = i.payment_id
        where i.order_id = $1 and ($2::text is null or i.state = $2)
        order by i.row_number
        limit $3 offset $4
        "#,
        order_id,
        state,
        limit,
        offset
    )
    .fetch_all(&mut *connection)
    .await?;
    let count = sqlx::query!(
        r#"select count(*) as "count!" from payout_item where order_id = $1 and ($2::text is null or state = $2)"#,
        order_id,
        state
    )
    .fetch_one(connection)
    .await?;
    let items: Result<_, _> = rows.into_iter().map(TryInto::try_into).collect();
    Ok((items?, count.count))
}

/// Up to `limit` rows of an order behind row number `after`, in one state or in all. Index:
/// `payout_item_row_once`.
pub async fn after(
    connection: &mut PgConnection,
    order_id: Uuid,
    state: Option<ItemState>,
    after: i32,
    limit: i64,
) -> Result<Vec<ItemRow>, StorageError> {
    let rows = sqlx::query_as!(
        RawItem,
        r#"
        select i.id, i.item_id, b.batch_id, i.row_number, i.address, i.amount, i.net_amount, i.reference, i.memo, i.state,
               i.payment_id, p.tx_hash as "tx_hash?", i.error
        from payout_item i
        join payout_batch b on b.id = i.batch_id
        left join payout_payment p on p.id = i.payment_id
        where i.order_id = $1 and i.row_number > $3 and ($2::text is null or i.state = $2)
        order by i.row_number
        limit $4
        "#,
        order_id,
        state.map(ItemState::as_str),
        after,
        limit
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// The first rows of an order that have no payment yet.
pub async fn unsigned(
    connection: &mut PgConnection,
    order_id: Uuid,
    limit: i64,
) -> Result<Vec<ItemRow>, StorageError> {
    let rows = sqlx::query_as!(
        RawItem,
        r#"
        select i.id, i.item_id, b.batch_id, i.row_number, i.address, i.amount, i.net_amount, i.reference, i.memo, i.state,
               i.payment_id, null::text as "tx_hash?", i.error
        from payout_item i
        join payout_batch b on b.id = i.batch_id
        where i.order_id = $1 and i.state = 'pending' and i.payment_id is null
        order by i.row_number
        limit $2
        "#,
        order_id,
        limit
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// The rows that a payment pays.
pub async fn of_payment(
    connection: &mut PgConnection,
    payment_id: Uuid,
) -> Result<Vec<ItemRow>, StorageError> {
    let rows = sqlx::query_as!(
        RawItem,
        r#"
        select i.id, i.item_id, b.batch_id, i.row_number, i.address, i.amount, i.net_amount, i.reference, i.memo, i.state,
               i.payment_id, p.tx_hash as "tx_hash?", i.error
        from payout_item i
        join payout_batch b on b.id = i.batch_id
        join payout_payment p on p.id = i.payment_id
        where i.payment_id = $1
        order by i.row_number
        "#,
        payment_id
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// Gives rows their payment. Call it with the payment's insertion: a row that has one already fails
/// the transaction.
pub async fn assign(
    connection: &mut PgConnection,
    ids: &[Uuid],
    payment_id: Uuid,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        update payout_item
        set payment_id = $2
        where id = any ($1) and state = 'pending' and payment_id is null
        "#,
        ids,
        payment_id
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Ends a row for which nothing was signed: its recipient refuses every transfer. Returns the
/// amount that it was to get by the present quote, unless it had ended or was signed for.
pub async fn fail_unsigned(
    connection: &mut PgConnection,
    id: Uuid,
    error: &str,
) -> Result<Option<BaseUnits>, StorageError> {
    let net_amount = sqlx::query_scalar!(
        r#"
        update payout_item
        set state = 'failed', error = $2
        where id = $1 and state = 'pending' and payment_id is null
        returning net_amount
        "#,
        id,
        error
    )
    .fetch_optional(connection)
    .await?;
    net_amount.map(|net| numeric::to_units("payout_item", &net)).transpose()
}

/// The number of rows of an order that failed with nothing signed for them, and the sum they were
/// to pay, fees included.
pub async fn never_sent(
    connection: &mut PgConnection,
    order_id: Uuid,
) -> Result<(usize, BaseUnits), StorageError> {
    let row = sqlx::query!(
        r#"
        select count(*) as "count!", coalesce(sum(amount), 0) as "amount!"
        from payout_item
        where order_id = $1 and state = 'failed' and payment_id is null
        "#,
        order_id
    )
    .fetch_one(connection)
    .await?;
    let count = usize::try_from(row.count).unwrap_or(usize::MAX);
    Ok((count, numeric::to_units("payout_item", &row.amount)?))
}

/// Moves all rows of payments.
pub async fn follow_payments(
    connection: &mut PgConnection,
    payment_ids: &[Uuid],
    state: ItemState,
    error: Option<&str>,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update payout_item
        set state = $2, error = $3
        where payment_id = any ($1) and state in ('pending', 'sent')
        "#,
        payment_ids,
        state.as_str(),
        error
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Rows of a payment that finally paid none of them wait for another one.
pub async fn release(connection: &mut PgConnection, payment_id: Uuid) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update payout_item
        set payment_id = null, state = 'pending', error = null
        where payment_id = $1 and state in ('pending', 'sent')
        "#,
        payment_id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Sum of the rows of an order that have no payment yet, and their number.
pub async fn unsigned_sum(
    connection: &mut PgConnection,
    order_id: Uuid,
) -> Result<(BaseUnits, usize), StorageError> {
    let row = sqlx::query!(
        r#"
        select coalesce(sum(net_amount), 0) as "sum!", count(*) as "rows!"
        from payout_item
        where order_id = $1 and state = 'pending' and payment_id is null
        "#,
        order_id
    )
    .fetch_one(connection)
    .await?;
    let rows = usize::try_from(row.rows).unwrap_or(usize::MAX);
    Ok((numeric::to_units("payout_item", &row.sum)?, rows))
}

/// Returns whether an order pays to `address` itself or sends its refund there.
pub async fn names_address(
    connection: &mut PgConnection,
    order_id: Uuid,
    address: &str,
) -> Result<bool, StorageError> {
    let row = sqlx::query!(
        r#"
        select exists(select from payout_item where order_id = $1 and address = $2)
            or exists(select from payout_order where id = $1 and refund_address = $2) as "named!"
        "#,
        order_id,
        address
    )
    .fetch_one(connection)
    .await?;
    Ok(row.named)
}

/// Which of `match_keys` are addresses that this gateway gave out itself.
pub async fn own_addresses(
    connection: &mut PgConnection,
    family: &str,
    match_keys: &[String],
) -> Result<Vec<String>, StorageError> {
    let rows = sqlx::query!(
        "select match_key from deposit_address where family = $1 and match_key = any ($2)",
        family,
        match_keys
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| row.match_key).collect())
}

struct RawItem {
    id: Uuid,
    item_id: String,
    batch_id: String,
    row_number: i32,
    address: String,
    amount: bigdecimal::BigDecimal,
    net_amount: bigdecimal::BigDecimal,
    reference: Option<String>,
    memo: Option<String>,
    state: String,
    payment_id: Option<Uuid>,
    tx_hash: Option<String>,
    error: Option<String>,
}

impl TryFrom<RawItem> for ItemRow {
    type Error = StorageError;

    fn try_from(raw: RawItem) -> Result<Self, StorageError> {
        Ok(Self {
            id: raw.id,
            item_id: raw.item_id,
            batch_id: raw.batch_id,
            row_number: raw.row_number,
            address: raw.address,
            amount: numeric::to_units("payout_item", &raw.amount)?,
            net_amount: numeric::to_units("payout_item", &raw.net_amount)?,
            reference: raw.reference,
            memo: raw.memo,
            state: raw.state.parse().map_err(|e| StorageError::damaged("payout_item", e))?,
            payment_id: raw.payment_id,
            tx_hash: raw.tx_hash,
            error: raw.error,
        })
    }
}
