//! Time zones by the names that PostgreSQL knows. It counts the days of tills, so its names count.

use super::{PgConnection, StorageError};

/// True for a name such as `Europe/Berlin`, in the spelling of the list, and for `UTC`.
///
/// Short names are refused: PostgreSQL takes `CET` for an abbreviation, an hour before UTC in
/// summer too, although a zone of that name is in the list.
pub async fn is_known(connection: &mut PgConnection, name: &str) -> Result<bool, StorageError> {
    let known = sqlx::query_scalar!(
        r#"
        select exists (
            select from pg_timezone_names where name = $1 and (name like '%/%' or name = 'UTC')
        ) as "known!"
        "#,
        name
    )
    .fetch_one(connection)
    .await?;
    Ok(known)
}
