//! Merchants, their links and tills, and accounts of the dashboard that a text names.

use uuid::Uuid;

use super::{FoundRow, found_rows};
use crate::storage::{PgConnection, StorageError};

/// The merchant of an id, or of the public key of its `/legacy` clients. Indices: `merchant_pkey`,
/// `legacy_key_public_key_unique`.
pub async fn merchant(
    connection: &mut PgConnection,
    text: &str,
    id: Option<Uuid>,
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = found_rows!(
        "select c.id::text, c.id, case when c.suspended_at is null then 'active' else 'suspended' end, null::text,
                null::text, c.created_at
         from merchant c
         where c.id = any (array(
             select merchant_id from legacy_key where public_key = $1
             union
             select $2::uuid
         ))",
        text,
        id
    );
    Ok(rows.fetch_all(connection).await?)
}

/// The link of a public id. Index: `link_link_id_unique`.
pub async fn link(
    connection: &mut PgConnection,
    text: &str,
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = found_rows!(
        "select k.link_id, k.merchant_id, case when k.active then 'active' else 'switched off' end, null::text,
                k.type || ': ' || k.title, k.created_at
         from link k
         where k.link_id = $1",
        text
    );
    Ok(rows.fetch_all(connection).await?)
}

/// The device of a public id, with the id of its till. Index: `till_device_id_unique`.
pub async fn device(
    connection: &mut PgConnection,
    text: &str,
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = found_rows!(
        "select t.device_id, t.merchant_id,
                case when t.revoked_at is not null then 'revoked'
                     when t.enrolled_at is null then 'waits for its code'
                     else 'enrolled' end,
                null::text, k.link_id, t.created_at
         from till_device t
         join link k on k.id = t.link_id
         where t.device_id = $1",
        text
    );
    Ok(rows.fetch_all(connection).await?)
}

/// The account of the dashboard of an e-mail address, in lower case, with its roles. Indices:
/// `account_email_unique`, `membership_of_merchant`, `membership_of_operator`.
pub async fn account(
    connection: &mut PgConnection,
    email: &str,
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = found_rows!(
        "select a.email,
                (select b.merchant_id from membership b where b.account_id = a.id and b.merchant_id is not null
                 order by b.created_at, b.id limit 1),
                case when a.disabled_at is not null then 'disabled'
                     when a.password_hash is null then 'invited'
                     else 'active' end,
                null::text,
                (select string_agg(distinct b.role, ', ' order by b.role) from membership b where b.account_id = a.id),
                a.created_at
         from account a
         where a.email = $1",
        email
    );
    Ok(rows.fetch_all(connection).await?)
}
