//! The replica that exports are read from: fresh enough for the range, or 503.

use chrono::TimeDelta;
use gateway::serve::Limits;
use gateway_workers::Role;
use support::{
    books,
    client::Client,
    server::{
        broker::eventually,
        stack::{Stack, with_configured_stack, with_stack},
    },
};

use super::outcome;

/// The stack's own database in the role of the replica: it is the heartbeat that is judged.
async fn reading_from(stack: &Stack, url: &str, key: &str) -> Client {
    let toml = format!("exports.database_url = {url:?}\n");
    Client::new(stack.replica_within(Limits::default(), &toml).await).with_key(key)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_serves_what_it_has_followed_and_nothing_else() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let merchant = stack.merchant().await;
        let key = merchant.new.api_key.reveal();
        let client = reading_from(&stack, &stack.database.url, key).await;
        let today = books::now().date_naive();
        let open = format!(
            "/v1/export/ledger?from={}&to={}",
            today - TimeDelta::days(9),
            today + TimeDelta::days(1)
        );
        let over = format!(
            "/v1/export/ledger?from={}&to={}",
            today - TimeDelta::days(9),
            today - TimeDelta::days(2)
        );
        // Over, but transactions that began in it may still commit.
        let settling = format!(
            "/v1/export/ledger?from={}&to={}",
            today - TimeDelta::days(9),
            (books::now() - TimeDelta::minutes(5)).format("%Y-%m-%dT%H:%M:%SZ")
        );
        let unavailable = (503, "EXPORT_HISTORY_UNAVAILABLE".to_owned());
        assert_eq!(outcome(&client.get(&open).await), unavailable, "no heartbeat was ever seen");
        for (age, served) in [
            ("1 second", [200, 200, 200]),
            ("55 seconds", [200, 200, 200]),
            ("2 minutes", [503, 200, 503]),
            ("3 days", [503, 503, 503]),
        ] {
            let beat = format!(
                "insert into export_heartbeat (beat_at) values (now() - interval '{age}') \
                 on conflict (single) do update set beat_at = excluded.beat_at"
            );
            let mut connection = stack.database.connect().await;
            sqlx::raw_sql(sqlx::AssertSqlSafe(beat)).execute(&mut connection).await.unwrap();
            let mut statuses = Vec::new();
            for path in [&open, &over, &settling] {
                statuses.push(client.get(path).await.status);
            }
            assert_eq!(statuses, served, "{age}");
        }
        // Out of reach: the primary is no substitute.
        let away = reading_from(&stack, "postgres://gateway:x@127.0.0.1:1/gateway", key).await;
        assert_eq!(outcome(&away.get(&over).await), unavailable);
        assert_eq!(away.get("/v1/payment").await.status, 200);
        // Without a replica the primary serves.
        assert_eq!(merchant.client.get(&open).await.status, 200);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reporter_writes_the_heartbeat_where_a_replica_is_read() {
    with_configured_stack(
        "exports.database_url = \"postgres://gateway:x@127.0.0.1:1/gateway\"\n",
        |stack| async move {
            stack.start(&[Role::Reporter]);
            eventually("a heartbeat is written", async || {
                let mut connection = stack.database.connect().await;
                let beats = sqlx::query_scalar::<_, i64>("select count(*) from export_heartbeat");
                (beats.fetch_one(&mut connection).await.unwrap() == 1).then_some(())
            })
            .await;
        },
    )
    .await;
}
