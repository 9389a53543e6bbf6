//! Timers: due times of future work. Rows are written with the change that needs them and deleted
//! with the change that ends them.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError};

pub const INVOICE_DEADLINE: &str = "invoice_deadline";
/// Next look at an order: its deadline, or while it is paid out, the next look at the chain.
pub const PAYOUT: &str = "payout";

/// Sets or moves a timer.
pub async fn set(
    connection: &mut PgConnection,
    kind: &str,
    reference: Uuid,
    due_at: DateTime<Utc>,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into timer (kind, ref, due_at)
        values ($1, $2, $3)
        on conflict (kind, ref) do update set due_at = excluded.due_at
        "#,
        kind,
        reference,
        due_at
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Sets many timers of one kind, each with its own due time.
pub async fn set_many(
    connection: &mut PgConnection,
    kind: &str,
    due: &[(Uuid, DateTime<Utc>)],
) -> Result<(), StorageError> {
    let (references, instants): (Vec<_>, Vec<_>) = due.iter().copied().unzip();
    sqlx::query!(
        r#"
        insert into timer (kind, ref, due_at)
        select $1, t.ref, t.due_at
        from unnest($2::uuid[], $3::timestamptz[]) as t (ref, due_at)
        on conflict (kind, ref) do update set due_at = excluded.due_at
        "#,
        kind,
        &references,
        &instants
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn clear(
    connection: &mut PgConnection,
    kind: &str,
    reference: Uuid,
) -> Result<(), StorageError> {
    sqlx::query!("delete from timer where kind = $1 and ref = $2", kind, reference)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn clear_many(
    connection: &mut PgConnection,
    kind: &str,
    references: &[Uuid],
) -> Result<(), StorageError> {
    sqlx::query!("delete from timer where kind = $1 and ref = any ($2)", kind, references)
        .execute(connection)
        .await?;
    Ok(())
}

/// Fires up to `limit` due timers: each puts its message into the outbox and is due again after a
/// minute, in case the message is lost. Index: `timer_due`; `now()` and not `clock_timestamp()`,
/// which would filter the whole index.
pub async fn ring_due(
    connection: &mut PgConnection,
    invoice_route: &str,
    payout_route: &str,
    limit: i64,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        with due as (
            select kind, ref
            from timer
            where due_at <= now()
            order by due_at
            limit $1
            for update skip locked
        ),
        rung as (
            update timer
            set due_at = now() + interval '60 seconds'
            from due
            where timer.kind = due.kind and timer.ref = due.ref
            returning timer.kind, timer.ref
        )
        insert into outbox (route, body)
        select case kind when 'payout' then $3 else $2 end,
               case kind when 'payout' then json_build_object('v', 1, 'type', 'payout', 'order_id', ref)
                         else json_build_object('v', 1, 'type', 'invoice', 'invoice_id', ref) end::text
        from rung
        "#,
        limit,
        invoice_route,
        payout_route
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}
