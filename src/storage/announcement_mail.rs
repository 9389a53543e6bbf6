//! Mails of an announcement, to the owners of all merchants.

use uuid::Uuid;

use super::{PgConnection, StorageError};
use crate::mail::{Language, MailKind, schedule};

/// Takes the right to mail an announcement, which it gives once, and while it is shown. `false`
/// otherwise. The row stays locked until the caller commits.
pub async fn take(
    connection: &mut PgConnection,
    announcement_id: Uuid,
    by: &str,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update announcement
        set mailed_at = clock_timestamp(), mailed_by = $2
        where id = $1 and mailed_at is null and withdrawn_at is null and coalesce(ends_at > clock_timestamp(), true)
        "#,
        announcement_id,
        by
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Writes one mail for each account that owns a merchant, however many it owns, and returns their
/// number. They are due at once, so that `mail-delivery` queues them at its own pace. Who was only
/// invited, or is disabled, gets none. Constraint: `mail_once`.
pub async fn write(
    connection: &mut PgConnection,
    announcement_id: Uuid,
) -> Result<u64, StorageError> {
    let kind = MailKind::Announcement;
    let lifetime = i32::try_from(schedule::lifetime(kind).as_secs()).unwrap_or(i32::MAX);
    let done = sqlx::query!(
        r#"
        insert into mail (id, kind, subject, recipient, merchant_id, language, address, next_attempt_at, expires_at)
        select gen_random_uuid(), $2, $1, sha256(convert_to(owner.email, 'UTF8')), owner.merchant_id, $3, owner.email, now(),
               now() + $4::integer * interval '1 second'
        from (
            select distinct on (a.id) a.email, m.merchant_id
            from membership m
            join account a on a.id = m.account_id
            where m.role = 'owner' and m.accepted_at is not null and a.disabled_at is null
            order by a.id, m.created_at, m.id
        ) owner
        on conflict (kind, subject, recipient) do nothing
        "#,
        announcement_id,
        kind.as_str(),
        Language::English.as_str(),
        lifetime
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}
