//! Teams: the people of a merchant, and the operators.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    account::Role,
    storage::{PgConnection, StorageError},
    webhook::retry::DeliveryState,
};

/// Somebody in a team, or invited into it. Of an account that has not accepted yet, nothing else is
/// told: anybody can be invited.
#[derive(Debug, Clone)]
pub struct MemberRow {
    pub id: Uuid,
    pub account_id: Uuid,
    pub email: String,
    pub role: Role,
    pub is_disabled: bool,
    /// `None` before it has accepted.
    pub has_factor: Option<bool>,
    pub invited_at: DateTime<Utc>,
    pub accepted_at: Option<DateTime<Utc>>,
    /// The state of the mail with its invitation, if it was mailed.
    pub mail: Option<DeliveryState>,
}

/// Makes all changes of one team wait for one another until the transaction ends. Triggers of
/// `membership` take the same lock.
pub async fn lock(
    connection: &mut PgConnection,
    merchant_id: Option<Uuid>,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        select pg_advisory_xact_lock(
            hashtextextended('gateway:team:' || coalesce($1::uuid::text, 'operators'), 0)
        )::text as "lock"
        "#,
        merchant_id
    )
    .fetch_one(connection)
    .await?;
    Ok(())
}

/// The people of a team, the first first.
pub async fn members(
    connection: &mut PgConnection,
    merchant_id: Option<Uuid>,
    limit: i64,
) -> Result<Vec<MemberRow>, StorageError> {
    let rows = sqlx::query_as!(
        MemberRow,
        r#"
        select m.id, m.account_id, a.email, m.role as "role: _",
               m.accepted_at is not null and a.disabled_at is not null as "is_disabled!",
               case when m.accepted_at is not null
                    then a.totp_sealed is not null or exists (select from passkey p where p.account_id = a.id)
               end as "has_factor?",
               m.created_at as invited_at, m.accepted_at, i.state as "mail?: DeliveryState"
        from membership m
        join account a on a.id = m.account_id
        left join mail i on i.kind = 'invitation' and i.subject = m.id
        where m.merchant_id is not distinct from $1
        order by m.id
        limit $2
        "#,
        merchant_id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Returns whether an account of the operators may decide about money now, and was not let in by
/// another account after `since`: whoever lets in a second account while something waits for two
/// people would be both of them.
pub async fn may_decide(
    connection: &mut PgConnection,
    email: &str,
    since: Option<DateTime<Utc>>,
) -> Result<bool, StorageError> {
    let may = sqlx::query_scalar!(
        r#"
        select exists (
            select from account a
            join membership m on m.account_id = a.id and m.merchant_id is null and m.accepted_at is not null
            where a.email = $1 and a.disabled_at is null and m.role in ('operator-admin', 'operator-finance')
              and (m.invited_by is null or m.accepted_at <= $2)
        ) as "may!"
        "#,
        email,
        since
    )
    .fetch_one(connection)
    .await?;
    Ok(may)
}

/// Replaces the role `seen` of somebody by another one. A trigger ends his sessions. `false` if he
/// is not there, or has another role by now.
pub async fn set_role(
    connection: &mut PgConnection,
    merchant_id: Option<Uuid>,
    id: Uuid,
    seen: Role,
    role: Role,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update membership set role = $4
        where id = $2 and merchant_id is not distinct from $1 and role = $3
        "#,
        merchant_id,
        id,
        seen.as_str(),
        role.as_str()
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes somebody out of a team, or takes an invitation back. `false` if he is not there.
pub async fn remove(
    connection: &mut PgConnection,
    merchant_id: Option<Uuid>,
    id: Uuid,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        "delete from membership where id = $2 and merchant_id is not distinct from $1",
        merchant_id,
        id
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}
