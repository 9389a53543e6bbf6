//! Events to deliver to receivers, and all their attempts.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{
    PgConnection, StorageError, legacy_payments::StoredOrder, legacy_withdrawals::StoredWithdrawal,
};
use crate::{
    asset::Network,
    webhook::{
        Channel,
        retry::{DeliveryState, Progress},
    },
};

/// Number of notices of an invoice, with a webhook or without, and whether one of `kind` concerns
/// this contract already; without a contract, the network's own coin.
pub async fn notices_of(
    connection: &mut PgConnection,
    invoice_id: Uuid,
    kind: &str,
    network: Network,
    contract: Option<&str>,
) -> Result<(i64, bool), StorageError> {
    let row = sqlx::query!(
        r#"
        select count(*) as "count!",
               coalesce(bool_or(l.kind = $2 and d.network = $3 and d.contract is not distinct from $4), false) as "told!"
        from (
            select kind, subject from delivery where invoice_id = $1
            union
            select type, subject from event
            where resource_id = (select payment_id from invoice where id = $1) and subject is not null
        ) as l
        join deposit d on d.id = l.subject
        where l.kind in ('wrong_token_received', 'suspicious_token_received')
        "#,
        invoice_id,
        kind,
        network.name(),
        contract
    )
    .fetch_one(connection)
    .await?;
    Ok((row.count, row.told))
}

/// Data of one attempt. The secret is sealed; the body is signed when it is sent.
#[derive(Debug, Clone)]
pub struct DueDelivery {
    pub id: Uuid,
    pub event_id: String,
    pub channel: Channel,
    pub merchant_id: Uuid,
    pub url: String,
    pub payload: String,
    pub webhook_secret_sealed: Vec<u8>,
    pub progress: Progress,
    /// An older event of the same payout order is still open; this one waits for its end.
    pub waits_for_another: bool,
    /// Name of the event.
    pub kind: String,
    pub merchant_is_slow: bool,
    /// Deliveries of its merchant are deferred.
    pub has_deferred: bool,
    /// The order of an invoice that the `/legacy` adapter created: its IPNs have another dialect.
    pub legacy: Option<StoredOrder>,
    /// The same of a payout order.
    pub withdrawal: Option<StoredWithdrawal>,
    pub now: DateTime<Utc>,
}

struct RawDue {
    id: Uuid,
    event_id: String,
    channel: Channel,
    kind: String,
    merchant_id: Uuid,
    url: String,
    payload: String,
    state: DeliveryState,
    cycle: i32,
    attempts: i16,
    waits: bool,
    webhook_secret_sealed: Vec<u8>,
    slow: bool,
    has_deferred: bool,
    now: DateTime<Utc>,
    txn_id: Option<String>,
    view_key: Option<String>,
    ipn_type: Option<String>,
    currency1: Option<String>,
    amount1: Option<String>,
    fields: Option<String>,
    withdrawal_id: Option<String>,
    recipient: Option<String>,
}

/// Query for the data of attempts, for the deliveries that the end of the query selects.
macro_rules! due_deliveries {
    ($chosen:tt, $argument:expr) => {
        sqlx::query_as!(
            RawDue,
            r#"
            select d.id as "id!", d.event_id as "event_id!", d.channel as "channel!: _", d.kind as "kind!",
                   d.merchant_id as "merchant_id!", d.url as "url!", d.payload as "payload!", d.state as "state!: _",
                   d.cycle as "cycle!", d.attempts as "attempts!",
                   exists(
                       select from delivery e
                       where e.payout_order_id = d.payout_order_id and (e.created_at, e.id) < (d.created_at, d.id)
                         and e.state in ('pending', 'retry_wait')
                   ) as "waits!",
                   m.webhook_secret_sealed as "webhook_secret_sealed!",
                   coalesce(m.slow_until > now(), false) as "slow!", clock_timestamp() as "now!",
                   exists(select from deferred_delivery f where f.merchant_id = d.merchant_id) as "has_deferred!",
                   l.txn_id as "txn_id?", l.view_key as "view_key?", l.ipn_type as "ipn_type?", l.currency1 as "currency1?",
                   l.amount1::text as "amount1?", l.fields as "fields?", w.withdrawal_id as "withdrawal_id?",
                   (select r.address from payout_item r where r.order_id = w.payout_order_id limit 1) as "recipient?"
            from delivery d
            join merchant m on m.id = d.merchant_id
            left join legacy_payment l on l.invoice_id = d.invoice_id
            left join legacy_withdrawal w on w.payout_order_id = d.payout_order_id
            "# + $chosen,
            $argument
        )
    };
}

/// Loads deliveries by their ids; missing ones are left out. Index: `delivery_pkey`.
pub async fn load(
    connection: &mut PgConnection,
    ids: &[Uuid],
) -> Result<Vec<DueDelivery>, StorageError> {
    let rows = match ids {
        // Under normal load deliveries come one by one. PostgreSQL keeps the plan of this
        // statement, but plans the other one anew each time.
        [id] => due_deliveries!("where d.id = $1", id).fetch_all(connection).await?,
        ids => due_deliveries!("where d.id = any ($1)", ids).fetch_all(connection).await?,
    };
    Ok(rows.into_iter().map(Into::into).collect())
}

impl RawDue {
    /// The columns that are null together on all other invoices.
    fn legacy(&self) -> Option<StoredOrder> {
        Some(StoredOrder {
            txn_id: self.txn_id.clone()?,
            view_key: self.view_key.clone()?,
            ipn_type: self.ipn_type.clone()?,
            currency1: self.currency1.clone()?,
            amount1: self.amount1.clone()?,
            fields: self.fields.clone()?,
        })
    }

    /// The same of all other payout orders.
    fn withdrawal(&self) -> Option<StoredWithdrawal> {
        let (withdrawal_id, address) = (self.withdrawal_id.clone()?, self.recipient.clone()?);
        Some(StoredWithdrawal { withdrawal_id, address })
    }
}

impl From<RawDue> for DueDelivery {
    fn from(raw: RawDue) -> Self {
        let (legacy, withdrawal) = (raw.legacy(), raw.withdrawal());
        let progress = Progress { state: raw.state, cycle: raw.cycle, attempts: raw.attempts };
        Self {
            id: raw.id,
            event_id: raw.event_id,
            channel: raw.channel,
            merchant_id: raw.merchant_id,
            url: raw.url,
            payload: raw.payload,
            webhook_secret_sealed: raw.webhook_secret_sealed,
            progress,
            waits_for_another: raw.waits,
            kind: raw.kind,
            merchant_is_slow: raw.slow,
            has_deferred: raw.has_deferred,
            legacy,
            withdrawal,
            now: raw.now,
        }
    }
}

/// Result of an attempt.
#[derive(Debug, Clone)]
pub struct AttemptRecord {
    pub delivery_id: Uuid,
    /// The row as it was when the attempt was admitted; if the row changed since, nothing is
    /// written.
    pub expected: Progress,
    pub cycle: i32,
    pub attempt: i16,
    pub new_state: DeliveryState,
    pub retry_in_seconds: i32,
    pub started_at: DateTime<Utc>,
    pub duration_ms: i32,
    pub status: Option<i16>,
    pub error: Option<String>,
    pub excerpt: Option<String>,
    /// The next message: a retry or a dead letter.
    pub next: Option<(String, String)>,
}

/// Records attempts, advances their rows and queues their next messages, all in one statement. No
/// two may belong to one delivery.
///
/// Returns the recorded ones. The rows of the others have changed: another copy of the message won.
pub async fn record_attempts(
    connection: &mut PgConnection,
    records: &[&AttemptRecord],
) -> Result<HashSet<Uuid>, StorageError> {
    let moved = sqlx::query_scalar!(
        r#"
        with record as (
            select *
            from unnest($1::uuid[], $2::text[], $3::int[], $4::smallint[], $5::text[], $6::int[], $7::smallint[],
                        $8::int[], $9::timestamptz[], $10::int[], $11::smallint[], $12::text[], $13::text[],
                        $14::text[], $15::text[])
                as t (delivery_id, old_state, old_cycle, old_attempts, new_state, cycle, attempt, retry_in, started_at,
                      duration_ms, status, error, excerpt, route, body)
        ),
        moved as (
            update delivery as d
            set state = new_state, cycle = r.cycle, attempts = attempt, last_status = status, last_error = error,
                updated_at = now(),
                next_attempt_at = case when new_state = 'retry_wait' then now() + retry_in * interval '1 second' end,
                dead_since = case when new_state = 'dead' then now() end
            from record as r
            where d.id = delivery_id and d.state = old_state and d.cycle = old_cycle and d.attempts = old_attempts
            returning d.id
        ),
        attempted as (
            insert into delivery_attempt (delivery_id, cycle, attempt, started_at, duration_ms, status, error, excerpt)
            select delivery_id, cycle, attempt, started_at, duration_ms, status, error, excerpt
            from record join moved on moved.id = delivery_id
        ),
        queued as (
            insert into outbox (route, body)
            select route, body from record join moved on moved.id = delivery_id where route is not null
        )
        select id from moved
        "#,
        &column(records, |record| record.delivery_id),
        &column(records, |record| record.expected.state.as_str().to_owned()),
        &column(records, |record| record.expected.cycle),
        &column(records, |record| record.expected.attempts),
        &column(records, |record| record.new_state.as_str().to_owned()),
        &column(records, |record| record.cycle),
        &column(records, |record| record.attempt),
        &column(records, |record| record.retry_in_seconds),
        &column(records, |record| record.started_at),
        &column(records, |record| record.duration_ms),
        &column(records, |record| record.status) as &[Option<i16>],
        &column(records, |record| record.error.clone()) as &[Option<String>],
        &column(records, |record| record.excerpt.clone()) as &[Option<String>],
        &column(records, |record| Some(record.next.as_ref()?.0.clone())) as &[Option<String>],
        &column(records, |record| Some(record.next.as_ref()?.1.clone())) as &[Option<String>]
    )
    .fetch_all(connection)
    .await?;
    Ok(moved.into_iter().collect())
}

fn column<T>(records: &[&AttemptRecord], of: impl Fn(&AttemptRecord) -> T) -> Vec<T> {
    records.iter().map(|record| of(record)).collect()
}

/// Routes of one kind of message, by the channel of its delivery.
#[derive(Debug, Clone, Copy)]
pub struct ChannelRoutes<'a> {
    pub ipn: &'a str,
    pub payout: &'a str,
    /// They lead to queues of dead letters, whose messages say why their delivery was given up. Of
    /// work it would be said in vain, and falsely once the work has ended otherwise.
    pub tell_why: bool,
}

/// Forwards a delivery's message by another route, on which it travels for `seconds`, without using
/// an attempt.
///
/// The row's due time is postponed by the same time: otherwise the message would count as lost
/// while it travels, and a second one would be sent.
pub async fn send_on(
    connection: &mut PgConnection,
    id: Uuid,
    (route, seconds): (&str, i32),
    body: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        with touched as (
            update delivery set next_attempt_at = now() + $4::int * interval '1 second'
            where id = $1 and state in ('pending', 'retry_wait')
        )
        insert into outbox (route, body) values ($2, $3)
        "#,
        id,
        route,
        body,
        seconds
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Seconds after which a due delivery counts as lost, by channel.
#[derive(Debug, Clone, Copy)]
pub struct LostAfter {
    pub ipn: i32,
    pub payout: i32,
}

/// Replaces lost messages of deliveries whose attempt is overdue. Each gets a new message with the
/// same numbers.
///
/// Safe to over-fire: a message that was not lost after all makes this one stale.
pub async fn rearm_overdue(
    connection: &mut PgConnection,
    routes: ChannelRoutes<'_>,
    lost_after: LostAfter,
    limit: i64,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        with overdue as (
            select id
            from delivery d
            where state in ('pending', 'retry_wait')
              -- For the index.
              and next_attempt_at < now() - least($2::int, $5::int) * interval '1 second'
              and next_attempt_at < now() - case channel when 'payout' then $5::int else $2::int end * interval '1 second'
              and not exists (
                  select from delivery e
                  where e.payout_order_id = d.payout_order_id and (e.created_at, e.id) < (d.created_at, d.id)
                    and e.state in ('pending', 'retry_wait')
              )
              -- Those have no message that could be lost (`deferred_deliveries::resume_forgotten`).
              and not exists (select from deferred_delivery f where f.delivery_id = d.id)
            order by next_attempt_at
            limit $3
            for update skip locked
        ),
        touched as (
            update delivery
            set next_attempt_at = now()
            from overdue
            where delivery.id = overdue.id
            returning delivery.id, channel, event_id, merchant_id, cycle, attempts
        )
        insert into outbox (route, body)
        select case channel when 'payout' then $4 else $1 end,
               json_build_object('v', 1, 'type', 'delivery', 'merchant_id', merchant_id, 'delivery_id', id,
                                 'event_id', event_id, 'cycle', cycle, 'attempt', attempts + 1)::text
        from touched
        "#,
        routes.ipn,
        lost_after.ipn,
        limit,
        routes.payout,
        lost_after.payout
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// An operator's selection of dead letters.
#[derive(Debug, Clone, Default)]
pub struct DeadFilter {
    pub event_id: Option<String>,
    pub merchant_id: Option<Uuid>,
    pub since: Option<DateTime<Utc>>,
    pub channel: Option<Channel>,
}

/// Queues a message with (cycle + 1, 1) for every matching dead delivery. In the work queue it
/// starts a fresh cycle; in the dead-letter queue it is the parked copy that an operator can move,
/// and says why the delivery was given up, as [`crate::broker::envelope::GivenUp`] does.
pub async fn queue_dead(
    connection: &mut PgConnection,
    routes: ChannelRoutes<'_>,
    filter: &DeadFilter,
    limit: i64,
) -> Result<Vec<String>, StorageError> {
    let rows = sqlx::query!(
        r#"
        with matching as (
            select id, channel, event_id, merchant_id, cycle, last_error, last_status
            from delivery
            where state = 'dead'
              and ($2::text is null or event_id = $2)
              and ($3::uuid is null or merchant_id = $3)
              and ($4::timestamptz is null or dead_since >= $4)
              and ($7::text is null or channel = $7)
            order by dead_since, id
            limit $5
        ),
        queued as (
            insert into outbox (route, body)
            select case channel when 'payout' then $6 else $1 end,
                   json_strip_nulls(json_build_object(
                       'v', 1, 'type', 'delivery', 'merchant_id', merchant_id, 'delivery_id', id, 'event_id', event_id,
                       'cycle', cycle + 1, 'attempt', 1, 'reason', case when $8 then left(last_error, 200) end,
                       'last_status', case when $8 then last_status end
                   ))::text
            from matching
        )
        select event_id from matching
        "#,
        routes.ipn,
        filter.event_id,
        filter.merchant_id,
        filter.since,
        limit,
        routes.payout,
        filter.channel.map(Channel::as_str),
        routes.tell_why
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| row.event_id).collect())
}

/// A delivery in the operators' view.
#[derive(Debug, Clone)]
pub struct DeliveryRow {
    pub id: Uuid,
    pub event_id: String,
    pub channel: Channel,
    pub kind: String,
    pub merchant_id: Uuid,
    /// Its subject: an invoice or a payout order.
    pub payment_id: Option<String>,
    pub order_id: Option<String>,
    pub url: String,
    pub state: DeliveryState,
    pub cycle: i32,
    pub attempts: i16,
    pub next_attempt_at: Option<DateTime<Utc>>,
    pub last_status: Option<i16>,
    pub last_error: Option<String>,
    pub dead_since: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
}

/// Query for deliveries, selected and ordered by the end of the query.
macro_rules! delivery_rows {
    ($chosen:tt $(+ $more:tt)*, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            $crate::storage::deliveries::DeliveryRow,
            r#"
            select d.id, d.event_id, d.channel as "channel: _", d.kind, d.merchant_id, i.payment_id as "payment_id?",
                   o.order_id as "order_id?", d.url, d.state as "state: _", d.cycle, d.attempts, d.next_attempt_at,
                   d.last_status, d.last_error, d.dead_since, d.created_at
            from delivery d
            left join invoice i on i.id = d.invoice_id
            left join payout_order o on o.id = d.payout_order_id
            "# + $chosen $(+ $more)*,
            $($argument),+
        )
    };
}
pub(in crate::storage) use delivery_rows;

pub async fn dead(
    connection: &mut PgConnection,
    merchant_id: Option<Uuid>,
    channel: Option<Channel>,
    limit: i64,
) -> Result<Vec<DeliveryRow>, StorageError> {
    let rows = delivery_rows!(
        "where d.state = 'dead' and ($1::uuid is null or d.merchant_id = $1) and ($3::text is null or d.channel = $3)
         order by d.dead_since, d.id
         limit $2",
        merchant_id,
        limit,
        channel.map(Channel::as_str)
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The deliveries of an invoice, oldest first.
pub async fn of_invoice(
    connection: &mut PgConnection,
    invoice_id: Uuid,
) -> Result<Vec<DeliveryRow>, StorageError> {
    let rows = delivery_rows!(
        "where d.invoice_id = $1
         order by d.created_at, d.id
         limit 1000",
        invoice_id
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

pub async fn by_event_id(
    connection: &mut PgConnection,
    event_id: &str,
) -> Result<Option<DeliveryRow>, StorageError> {
    let row = delivery_rows!("where d.event_id = $1", event_id).fetch_optional(connection).await?;
    Ok(row)
}

#[derive(Debug, Clone)]
pub struct AttemptRow {
    pub cycle: i32,
    pub attempt: i16,
    pub started_at: DateTime<Utc>,
    pub duration_ms: i32,
    pub status: Option<i16>,
    pub error: Option<String>,
    pub excerpt: Option<String>,
}

/// Every attempt of a delivery, in order; five per cycle.
pub async fn attempts(
    connection: &mut PgConnection,
    delivery_id: Uuid,
) -> Result<Vec<AttemptRow>, StorageError> {
    let rows = sqlx::query_as!(
        AttemptRow,
        r#"
        select cycle, attempt, started_at, duration_ms, status, error, excerpt
        from delivery_attempt
        where delivery_id = $1
        order by cycle, attempt
        limit 1000
        "#,
        delivery_id
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

pub async fn count_dead(
    connection: &mut PgConnection,
    channel: Channel,
    dead_for_seconds: i32,
) -> Result<i64, StorageError> {
    let row = sqlx::query!(
        r#"
        select count(*) as "count!"
        from delivery
        where state = 'dead' and channel = $2 and dead_since < now() - $1::int * interval '1 second'
        "#,
        dead_for_seconds,
        channel.as_str()
    )
    .fetch_one(connection)
    .await?;
    Ok(row.count)
}
