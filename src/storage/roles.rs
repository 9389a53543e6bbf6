//! Database roles: the existing ones, and the rights of their users. The grants are rows of the
//! migrations (`role_grant`).

use super::{PgConnection, StorageError};

/// A user that is connected to this database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedUser {
    pub name: String,
    /// May write orders of payouts.
    pub writes_orders: bool,
    /// May write payments of them.
    pub writes_payments: bool,
}

/// Makes the roles as far as this user may, grants the rights that the migrations list, and returns
/// the roles that are still missing.
pub async fn grant(connection: &mut PgConnection) -> Result<Vec<String>, StorageError> {
    let missing =
        sqlx::query_scalar!(r#"select grant_roles() as "role!""#).fetch_all(connection).await?;
    Ok(missing)
}

/// The roles that do not exist yet.
pub async fn missing(connection: &mut PgConnection) -> Result<Vec<String>, StorageError> {
    let missing = sqlx::query_scalar!(
        "select distinct role from role_grant where to_regrole(role) is null order by role"
    )
    .fetch_all(connection)
    .await?;
    Ok(missing)
}

/// The users of all programs that are connected now, this one's among them.
pub async fn connected(connection: &mut PgConnection) -> Result<Vec<ConnectedUser>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select usename as "name!", has_table_privilege(usesysid, 'payout_item', 'insert') as "writes_orders!",
               has_table_privilege(usesysid, 'payout_payment', 'insert') as "writes_payments!"
        from (select distinct usename::text, usesysid
              from pg_stat_activity
              where datname = current_database() and usename is not null and backend_type = 'client backend') users
        order by usename
        "#
    )
    .fetch_all(connection)
    .await?;
    let user = |row: (String, bool, bool)| {
        let (name, writes_orders, writes_payments) = row;
        ConnectedUser { name, writes_orders, writes_payments }
    };
    Ok(rows
        .into_iter()
        .map(|row| user((row.name, row.writes_orders, row.writes_payments)))
        .collect())
}
