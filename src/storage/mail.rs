//! Mails: rows, attempts, budgets and unsubscriptions.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError};
use crate::{
    mail::{Language, MailKind, schedule, standing::Refusal},
    subscription,
    webhook::retry::{DeliveryState, Progress},
};

/// A mail to be written. Not printable: its contents may hold a credential.
pub struct NewMail {
    pub id: Uuid,
    pub kind: MailKind,
    /// What it is about; with kind and recipient it is the mail's key.
    pub subject: Uuid,
    pub recipient: [u8; 32],
    pub merchant_id: Uuid,
    pub link: Option<Uuid>,
    pub subscription: Option<Uuid>,
    pub renewal_cycle: Option<u32>,
    pub language: Language,
    pub address: String,
    pub contents: String,
    /// The message of its first attempt.
    pub message: String,
}

/// Writes mails with their messages. One that was written before is left out.
pub async fn insert(
    connection: &mut PgConnection,
    new: &[NewMail],
    (route, lost_after_seconds): (&str, i32),
) -> Result<(), StorageError> {
    let column = |of: fn(&NewMail) -> Uuid| new.iter().map(of).collect::<Vec<_>>();
    let texts =
        |of: fn(&NewMail) -> &str| new.iter().map(|one| of(one).to_owned()).collect::<Vec<_>>();
    let cycles = new.iter().map(|one| one.renewal_cycle.map(i32::try_from).transpose());
    let cycles = cycles.collect::<Result<Vec<_>, _>>();
    let cycles = cycles.map_err(|_| StorageError::damaged("subscription", "its cycle"))?;
    let recipients: Vec<_> = new.iter().map(|one| one.recipient.to_vec()).collect();
    let subscriptions: Vec<_> = new.iter().map(|one| one.subscription).collect();
    let lifetime =
        |one: &NewMail| i32::try_from(schedule::lifetime(one.kind).as_secs()).unwrap_or(i32::MAX);
    sqlx::query!(
        r#"
        with new as (
            select *
            from unnest($1::uuid[], $2::text[], $3::uuid[], $4::bytea[], $5::uuid[], $6::uuid[], $7::uuid[],
                        $8::integer[], $9::text[], $10::text[], $11::text[], $12::integer[], $13::text[])
                as t (id, kind, subject, recipient, merchant_id, link_id, subscription_id, renewal_cycle, language,
                      address, contents, lifetime, message)
        ),
        written as (
            insert into mail (id, kind, subject, recipient, merchant_id, link_id, subscription_id, renewal_cycle,
                language, address, contents, next_attempt_at, expires_at)
            select id, kind, subject, recipient, merchant_id, link_id, subscription_id, renewal_cycle, language,
                   address, contents, now() + $15::integer * interval '1 second', now() + lifetime * interval '1 second'
            from new
            on conflict (kind, subject, recipient) do nothing
            returning id
        )
        insert into outbox (route, body)
        select $14, new.message from new join written on written.id = new.id
        "#,
        &column(|one| one.id),
        &texts(|one| one.kind.as_str()),
        &column(|one| one.subject),
        &recipients,
        &column(|one| one.merchant_id),
        &new.iter().map(|one| one.link).collect::<Vec<_>>() as &[Option<Uuid>],
        &subscriptions as &[Option<Uuid>],
        &cycles as &[Option<i32>],
        &texts(|one| one.language.as_str()),
        &texts(|one| &one.address),
        &texts(|one| &one.contents),
        &new.iter().map(lifetime).collect::<Vec<_>>(),
        &texts(|one| &one.message),
        route,
        lost_after_seconds
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A subscriber who takes reminders by mail.
#[derive(Debug, Clone)]
pub struct Subscriber {
    /// The row's id of the subscription.
    pub id: Uuid,
    pub language: Language,
    /// The title of the link.
    pub title: String,
}

/// The subscribers of these subscriptions who have not stopped the reminders. Index:
/// `subscription_pkey`.
pub async fn subscribers(
    connection: &mut PgConnection,
    subscriptions: &[Uuid],
) -> Result<Vec<Subscriber>, StorageError> {
    let rows = sqlx::query_as!(
        Subscriber,
        r#"
        select s.id, coalesce(s.language, 'en') as "language!: Language", l.title
        from subscription s join link l on l.id = s.link_id
        where s.id = any ($1) and s.unsubscribed_at is null
        "#,
        subscriptions
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The link of an invoice, and the language of whoever paid it.
#[derive(Debug, Clone)]
pub struct Payer {
    pub link: Uuid,
    pub title: String,
    pub language: Language,
}

/// `None` for an invoice that no link created. Index: `invoice_pkey`.
pub async fn payer(
    connection: &mut PgConnection,
    invoice_id: Uuid,
) -> Result<Option<Payer>, StorageError> {
    let row = sqlx::query_as!(
        Payer,
        r#"
        select l.id as link, l.title, coalesce(s.language, i.language, 'en') as "language!: Language"
        from invoice i
        join link l on l.id = i.link_id
        left join subscription s on s.id = i.subscription_id
        where i.id = $1
        "#,
        invoice_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// A mail with all that decides about its attempt. Not printable, as [`NewMail`].
pub struct DueMail {
    pub id: Uuid,
    pub kind: MailKind,
    pub subject: Uuid,
    pub recipient: Vec<u8>,
    /// An announcement has none, nor has an invitation.
    pub link: Option<Uuid>,
    pub subscription: Option<Uuid>,
    pub renewal_cycle: Option<i32>,
    pub language: Language,
    pub address: Option<String>,
    pub contents: Option<String>,
    pub state: DeliveryState,
    pub cycle: i32,
    pub attempts: i16,
    /// An attempt of it is under way.
    pub is_leased: bool,
    pub is_counted: bool,
    pub expires_at: DateTime<Utc>,
    pub bounces: i32,
    pub is_suspended: bool,
    pub covered: Option<i32>,
    pub subscription_state: Option<subscription::State>,
    pub is_unsubscribed: Option<bool>,
    /// Title and text of the announcement that it tells.
    pub title: Option<String>,
    pub body: Option<String>,
    pub is_withdrawn: bool,
    pub now: DateTime<Utc>,
}

impl DueMail {
    pub const fn progress(&self) -> Progress {
        Progress { state: self.state, cycle: self.cycle, attempts: self.attempts }
    }
}

/// Locks a mail. `None` if there is none of this id. Index: `mail_pkey`.
pub async fn lock(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<DueMail>, StorageError> {
    let row = sqlx::query_as!(
        DueMail,
        r#"
        select m.id, m.kind as "kind: MailKind", m.subject, m.recipient, m.link_id as link, m.subscription_id as subscription,
               m.renewal_cycle, m.language as "language: Language", m.address, m.contents,
               m.state as "state: DeliveryState", m.cycle, m.attempts,
               coalesce(m.leased_until > clock_timestamp(), false) as "is_leased!", m.is_counted, m.expires_at,
               coalesce(b.bounces, 0) as "bounces!", (c.suspended_at is not null) as "is_suspended!",
               s.covered as "covered?", s.state as "subscription_state?: subscription::State",
               (s.unsubscribed_at is not null) as "is_unsubscribed?", n.title as "title?", n.body as "body?",
               case m.kind
                   when 'announcement' then coalesce(n.withdrawn_at is not null or n.ends_at <= clock_timestamp(), false)
                   when 'invitation' then o.id is null
                   else false
               end as "is_withdrawn!",
               clock_timestamp() as "now!"
        from mail m
        join merchant c on c.id = m.merchant_id
        left join subscription s on s.id = m.subscription_id
        left join mail_bounce b on b.recipient = m.recipient
        left join announcement n on n.id = m.subject and m.kind = 'announcement'
        left join membership o on o.id = m.subject and m.kind = 'invitation' and o.accepted_at is null
        where m.id = $1
        for no key update of m
        "#,
        id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// Counts one mail more in today's budget; `false` if it is used up. Index: `mail_budget_pkey`.
pub async fn take_budget(
    connection: &mut PgConnection,
    scope: &str,
    limit: i64,
) -> Result<bool, StorageError> {
    let row = sqlx::query!(
        r#"
        insert into mail_budget (scope, day, used)
        values ($1, (clock_timestamp() at time zone 'UTC')::date, 1)
        on conflict (scope, day) do update set used = mail_budget.used + 1 where mail_budget.used < $2::bigint
        returning used
        "#,
        scope,
        limit
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.is_some())
}

/// An attempt that begins.
#[derive(Debug, Clone, Copy)]
pub struct Beginning {
    pub id: Uuid,
    pub cycle: i32,
    pub attempt: i16,
    pub lease_seconds: i32,
    pub expires_at: DateTime<Utc>,
}

/// Leases a mail to one attempt, and returns the end of the lease, by which the outcome is fenced.
/// A dead mail leaves the dead letters: should the attempt die, its row is due again. The caller
/// holds the row's lock.
pub async fn begin(
    connection: &mut PgConnection,
    new: Beginning,
) -> Result<DateTime<Utc>, StorageError> {
    let row = sqlx::query!(
        r#"
        update mail
        set state = case state when 'dead' then 'retry_wait' else state end, cycle = $2, attempts = $3::smallint - 1,
            leased_until = clock_timestamp() + $4::integer * interval '1 second',
            next_attempt_at = clock_timestamp() + $4::integer * interval '1 second', expires_at = $5,
            dead_since = null, is_counted = true, updated_at = now()
        where id = $1
        returning leased_until as "leased_until!"
        "#,
        new.id,
        new.cycle,
        new.attempt,
        new.lease_seconds,
        new.expires_at
    )
    .fetch_one(connection)
    .await?;
    Ok(row.leased_until)
}

/// Ends a mail that is not to be sent. The caller holds the row's lock.
pub async fn drop_unsent(
    connection: &mut PgConnection,
    id: Uuid,
    reason: Refusal,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update mail
        set state = 'dropped', last_error = $2, address = null, contents = null, next_attempt_at = null,
            leased_until = null, dead_since = null, updated_at = now()
        where id = $1
        "#,
        id,
        reason.as_str()
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Outcome of an attempt.
#[derive(Debug, Clone)]
pub struct MailRecord {
    pub id: Uuid,
    /// As [`begin`] returned it; once another attempt has begun, nothing is written.
    pub leased_until: DateTime<Utc>,
    pub cycle: i32,
    pub attempt: i16,
    pub new_state: DeliveryState,
    pub retry_in_seconds: i32,
    pub started_at: DateTime<Utc>,
    pub duration_ms: i32,
    pub code: Option<i16>,
    pub error: Option<String>,
    /// The dead letter.
    pub next: Option<(String, String)>,
}

/// Records an attempt. `false` if its lease had ended and another attempt has begun.
pub async fn record(
    connection: &mut PgConnection,
    record: &MailRecord,
) -> Result<bool, StorageError> {
    let (route, body) = record.next.clone().unzip();
    let row = sqlx::query!(
        r#"
        with moved as (
            update mail
            set state = $3, attempts = $5, last_code = $9, last_error = $10, leased_until = null, updated_at = now(),
                next_attempt_at = case $3 when 'retry_wait' then now() + $6::integer * interval '1 second' end,
                dead_since = case $3 when 'dead' then now() end,
                address = case when $3 in ('retry_wait', 'dead') then address end,
                contents = case when $3 in ('retry_wait', 'dead') then contents end
            where id = $1 and leased_until = $2
            returning id
        ),
        attempted as (
            insert into mail_attempt (mail_id, cycle, attempt, started_at, duration_ms, code, error)
            select id, $4::integer, $5::smallint, $7::timestamptz, $8::integer, $9::smallint, $10::text from moved
        ),
        queued as (
            insert into outbox (route, body) select $11::text, $12::text from moved where $11::text is not null
        )
        select count(*) as "count!" from moved
        "#,
        record.id,
        record.leased_until,
        record.new_state.as_str(),
        record.cycle,
        record.attempt,
        record.retry_in_seconds,
        record.started_at,
        record.duration_ms,
        record.code,
        record.error,
        route,
        body
    )
    .fetch_one(connection)
    .await?;
    Ok(row.count > 0)
}

/// Counts a refusal for good of an address.
pub async fn bounce(connection: &mut PgConnection, recipient: &[u8]) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into mail_bounce (recipient, bounces) values ($1, 1)
        on conflict (recipient) do update set bounces = mail_bounce.bounces + 1, bounced_at = now()
        "#,
        recipient
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Forgets the refusals of an address that has taken a mail.
pub async fn forgive(connection: &mut PgConnection, recipient: &[u8]) -> Result<(), StorageError> {
    sqlx::query!("delete from mail_bounce where recipient = $1", recipient)
        .execute(connection)
        .await?;
    Ok(())
}

/// Queues up to `limit` mails whose next attempt is due: retries, lost messages, and attempts whose
/// process has died. Each is due again later, in case the message is lost. Index: `mail_due`.
pub async fn ring_due(
    connection: &mut PgConnection,
    (route, lost_after_seconds): (&str, i32),
    limit: i64,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        with due as (
            select id
            from mail
            where state in ('pending', 'retry_wait') and next_attempt_at <= now()
            order by next_attempt_at
            limit $3
            for no key update skip locked
        ),
        touched as (
            update mail
            set next_attempt_at = now() + $2::integer * interval '1 second'
            from due
            where mail.id = due.id
            returning mail.id, mail.cycle, mail.attempts
        )
        insert into outbox (route, body)
        select $1, json_build_object('v', 1, 'type', 'mail', 'mail_id', id, 'cycle', cycle, 'attempt', attempts + 1)::text
        from touched
        "#,
        route,
        lost_after_seconds,
        limit
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Number of dead mails. Index: `mail_dead`.
pub async fn count_dead(connection: &mut PgConnection) -> Result<i64, StorageError> {
    let row = sqlx::query!(r#"select count(*) as "count!" from mail where state = 'dead'"#)
        .fetch_one(connection)
        .await?;
    Ok(row.count)
}

/// A mail that was given up, in the operators' view: without its address.
#[derive(Debug, Clone)]
pub struct DeadMail {
    pub id: Uuid,
    pub kind: MailKind,
    pub merchant_id: Uuid,
    pub cycle: i32,
    pub attempts: i16,
    pub last_code: Option<i16>,
    pub last_error: Option<String>,
    pub dead_since: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
}

/// The longest dead first. Index: `mail_dead`.
pub async fn dead(
    connection: &mut PgConnection,
    merchant_id: Option<Uuid>,
    limit: i64,
) -> Result<Vec<DeadMail>, StorageError> {
    let rows = sqlx::query_as!(
        DeadMail,
        r#"
        select id, kind as "kind: MailKind", merchant_id, cycle, attempts, last_code, last_error, dead_since, created_at
        from mail
        where state = 'dead' and ($1::uuid is null or merchant_id = $1)
        order by dead_since, id
        limit $2
        "#,
        merchant_id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Queues a message with (cycle + 1, 1) for every matching dead mail, of one merchant and since a
/// time. Index: `mail_dead`.
pub async fn queue_dead(
    connection: &mut PgConnection,
    route: &str,
    (merchant_id, since): (Option<Uuid>, Option<DateTime<Utc>>),
    limit: i64,
) -> Result<Vec<Uuid>, StorageError> {
    let rows = sqlx::query!(
        r#"
        with matching as (
            select id, cycle
            from mail
            where state = 'dead' and ($2::uuid is null or merchant_id = $2)
              and ($3::timestamptz is null or dead_since >= $3)
            order by dead_since, id
            limit $4
        ),
        queued as (
            insert into outbox (route, body)
            select $1, json_build_object('v', 1, 'type', 'mail', 'mail_id', id, 'cycle', cycle + 1, 'attempt', 1)::text
            from matching
        )
        select id from matching
        "#,
        route,
        merchant_id,
        since,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

/// Stores the token of a reminder.
pub async fn insert_token(
    connection: &mut PgConnection,
    token_hash: &[u8; 32],
    subscription: Uuid,
) -> Result<(), StorageError> {
    sqlx::query!(
        "insert into mail_unsubscribe (token_hash, subscription_id) values ($1, $2)",
        token_hash.as_slice(),
        subscription
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The subscription of a token, as its subscriber sees it.
#[derive(Debug, Clone)]
pub struct Unsubscription {
    pub merchant_id: Uuid,
    /// The title of the link.
    pub title: String,
    pub is_unsubscribed: bool,
}

/// `None` if there is no such token. Index: `mail_unsubscribe_pkey`.
pub async fn unsubscription(
    connection: &mut PgConnection,
    token_hash: &[u8; 32],
) -> Result<Option<Unsubscription>, StorageError> {
    let row = sqlx::query_as!(
        Unsubscription,
        r#"
        select l.merchant_id, l.title, (s.unsubscribed_at is not null) as "is_unsubscribed!"
        from mail_unsubscribe u
        join subscription s on s.id = u.subscription_id
        join link l on l.id = s.link_id
        where u.token_hash = $1
        "#,
        token_hash.as_slice()
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// Stops the reminders of a token's subscription; once more changes nothing. `false` if there is no
/// such token.
pub async fn unsubscribe(
    connection: &mut PgConnection,
    token_hash: &[u8; 32],
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update subscription
        set unsubscribed_at = coalesce(unsubscribed_at, now())
        where id = (select subscription_id from mail_unsubscribe where token_hash = $1)
        "#,
        token_hash.as_slice()
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() > 0)
}
