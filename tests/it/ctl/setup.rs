//! `gatewayctl setup` and `gatewayctl ready`, the two commands of containers.

use axum::{Router, http::StatusCode, routing::get};
use gateway::asset::Network;
use secrecy::ExposeSecret;
use serde_json::json;
use support::{
    client::ctl::Ctl,
    server::{
        broker::with_broker,
        database::TestDatabase,
        stack::{only, with_configured_stack},
    },
};
use tokio::net::TcpListener;

use super::over;

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_is_set_up_by_one_command_that_may_run_again() {
    let settings = only(Network::Polygon);
    with_configured_stack(&settings, |stack| async move {
        // Its own database is set up already; another one is not.
        let ctl = Ctl::of(&stack);
        over(TestDatabase::empty().await, |_, database| async move {
            let ctl = ctl.with("DATABASE_URL", &database.url);
            for is_first in [true, false] {
                let done = ctl.json(&["setup"]).await;
                let applied = done["schema"]["applied"].as_array().unwrap();
                assert_eq!(applied.is_empty(), !is_first, "{done}");
                assert!(done["topology"]["queues"].as_u64().unwrap() > 5, "{done}");
                let pools = json!([
                    { "network": "solana", "free": 1000 }, { "network": "near", "free": 1000 },
                ]);
                assert_eq!(done["pools"], pools);
                assert_eq!(done["next"][0], "gatewayctl doctor");
            }
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn settings_that_refuse_a_start_are_told_before_anything_is_changed() {
    over(TestDatabase::empty().await, |ctl, database| async move {
        with_broker(|broker| async move {
            let ctl = ctl
                .with("AMQP_URL", broker.url.expose_secret())
                .with("GATEWAY_BROKER__MANAGEMENT_URL", broker.management_url.expose_secret())
                .with("GATEWAY_PROFILE", "production");
            ctl.run(&["setup"]).await.expect_failure("production refuses fixed rates");
            let tables = "select count(*) from pg_tables where schemaname = 'public'";
            let tables = sqlx::query_scalar::<_, i64>(tables);
            let found = tables.fetch_one(&mut database.connect().await).await.unwrap();
            assert_eq!(found, 0);
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn ready_says_which_part_of_a_program_cannot_work() {
    let broken = json!({ "ready": false, "parts": { "database": true, "broker": false } });
    let answer = (StatusCode::SERVICE_UNAVAILABLE, broken.to_string());
    let app = Router::new()
        .route("/readyz", get(move || async move { answer }))
        .route("/healthz", get(|| async { "OK" }));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    let ask =
        async |path: &str| Ctl::default().run(&["ready", &format!("http://{address}{path}")]).await;
    let ran = ask("/readyz").await;
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "not ready: broker\n"), "{ran:?}");
    assert_eq!(ask("/healthz").await.expect_ok().stdout, "ready\n");
    let nobody = Ctl::default().run(&["ready", "http://127.0.0.1:1/readyz"]).await;
    nobody.expect_failure("http://127.0.0.1:1/readyz does not answer: Connection refused");
    Ctl::default().run(&["ready", "gateway"]).await.expect_wrong_usage("must begin with http");
}
