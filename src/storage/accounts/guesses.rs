//! Budgets of guesses, shared by all copies of the program.

use crate::{
    account::session::{BUDGET_SECONDS, Budget},
    storage::{PgConnection, StorageError},
};

/// Takes one guess from a budget, before it is looked at: of guesses that come at once, none is
/// free. `false` once the window's are used up.
pub async fn take(
    connection: &mut PgConnection,
    budget: Budget,
    subject: &str,
) -> Result<bool, StorageError> {
    let row = sqlx::query!(
        r#"
        insert into guess_budget as g (key, guesses, began_at)
        values ($1, 1, clock_timestamp())
        on conflict (key) do update
        set guesses = case when g.began_at <= clock_timestamp() - $2::int * interval '1 second' then 1
                           else least(g.guesses, $3::int) + 1 end,
            began_at = case when g.began_at <= clock_timestamp() - $2::int * interval '1 second'
                            then clock_timestamp() else g.began_at end
        returning guesses
        "#,
        key(budget, subject),
        BUDGET_SECONDS,
        budget.guesses()
    )
    .fetch_one(connection)
    .await?;
    Ok(row.guesses <= budget.guesses())
}

/// Gives a budget back, after a guess that was right.
pub async fn clear(
    connection: &mut PgConnection,
    budget: Budget,
    subject: &str,
) -> Result<(), StorageError> {
    sqlx::query!("delete from guess_budget where key = $1", key(budget, subject))
        .execute(connection)
        .await?;
    Ok(())
}

/// Deletes budgets whose window is over. It waits for nobody: two sign-ins that clean up at once
/// would else hold rows that each other wants.
pub async fn forget(connection: &mut PgConnection) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        delete from guess_budget
        where key in (
            select key from guess_budget
            where began_at <= clock_timestamp() - $1::int * interval '1 second'
            limit 1000
            for update skip locked
        )
        "#,
        BUDGET_SECONDS
    )
    .execute(connection)
    .await?;
    Ok(())
}

fn key(budget: Budget, subject: &str) -> String {
    format!("{}:{subject}", budget.name())
}
