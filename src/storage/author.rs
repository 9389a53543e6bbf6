//! The author of the changes that a task makes: the account of a request to the dashboard.
//!
//! The database writes the audit entries by itself (`audit`), from settings of the session. Here a
//! connection serves one request after the other, so each use of it names its author, or none.

use super::{PgConnection, StorageError};

tokio::task_local! {
    static AUTHOR: Author;
}

/// An account and the address it came from.
#[derive(Debug, Clone)]
pub struct Author {
    pub name: String,
    pub address: String,
}

/// Runs `work` as the author of all changes that it makes through an attributed database.
pub async fn as_author<T>(author: Author, work: impl Future<Output = T>) -> T {
    AUTHOR.scope(author, work).await
}

pub(super) fn current() -> Option<Author> {
    AUTHOR.try_with(Clone::clone).ok()
}

/// Names the author to the session, or takes the last one's name out of it.
pub(super) async fn name(
    connection: &mut PgConnection,
    author: Option<&Author>,
) -> Result<(), StorageError> {
    let (name, address) =
        author.map_or(("", ""), |author| (author.name.as_str(), author.address.as_str()));
    sqlx::query!(
        r#"
        select set_config('gateway.operator', $1, false) as "name",
               set_config('gateway.operator_address', $2, false) as "address"
        "#,
        name,
        address
    )
    .fetch_one(connection)
    .await?;
    Ok(())
}
