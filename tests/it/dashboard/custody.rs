//! Tables that open the dashboard are read by its own database role alone.

use gateway::account::Role;
use sqlx::{Connection, Executor, PgConnection, Row};

use super::with_desk;

/// Tables that hang on accounts and open nothing.
const HARMLESS: &[&str] = &["membership"];
const DENIED: &str = "42501";

#[tokio::test(flavor = "multi_thread")]
async fn other_programs_read_no_hash_that_opens_the_dashboard() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        desk.invited("o@example.com", Role::Owner, Some(&merchant)).await;
        let mut owner = desk.stack.database.connect().await;
        let hanging = "
            select distinct conrelid::regclass::text as name from pg_constraint
            where confrelid = 'account'::regclass
            union select 'account' union select 'guess_budget'";
        let tables = owner.fetch_all(hanging).await.unwrap();
        let tables: Vec<String> = tables.iter().map(|row| row.get("name")).collect();
        assert!(tables.len() >= 6, "{tables:?}");
        for role in ["gateway_api", "gateway_worker", "gateway_payer", "gateway_dashboard"] {
            let url = desk.stack.database.url_under(role);
            let mut connection = PgConnection::connect(&url).await.unwrap();
            for table in tables.iter().filter(|table| !HARMLESS.contains(&table.as_str())) {
                let query = format!("select * from {table}");
                let read = connection.execute(sqlx::AssertSqlSafe(query)).await;
                let code = read.err().and_then(|error| {
                    error.into_database_error()?.code().map(std::borrow::Cow::into_owned)
                });
                let wanted = (role != "gateway_dashboard").then_some(DENIED);
                assert_eq!(
                    code.as_deref(),
                    wanted,
                    "{role} and {table}: name it in private_table, or in HARMLESS if it opens nothing"
                );
            }
            connection.close().await.unwrap();
        }
    })
    .await;
}
