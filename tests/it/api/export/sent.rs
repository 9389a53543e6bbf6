//! Sending: complete before the first byte, two at once, and nothing held for a client that stalls.

use std::time::Duration;

use gateway::serve::Limits;
use support::{
    client::{Client, raw::RawClient},
    server::{
        broker::eventually,
        stack::{Merchant, Stack, with_stack},
    },
};

use super::outcome;

/// Rows whose file is larger than the buffers of any socket.
const ENTRIES: &str = "
    insert into ledger_entry (kind, source, asset, debit, credit, amount, created_at)
    select 'late_deposit', gen_random_uuid(), 'usdtmatic@polygon', 'custody:polygon', 'late:' || m.id, n,
           timestamptz '2026-03-01 00:00:00Z' + n * interval '1 second'
    from merchant m, generate_series(1, 30000) as n";
const PATH: &str = "/v1/export/ledger?from=2026-03-01&to=2026-04-01";
const OPEN: &str = "select count(*) from pg_stat_activity where datname = current_database() \
                    and state <> 'idle' and backend_xmin is not null and pid <> pg_backend_pid()";

async fn large(stack: &Stack) -> Merchant {
    let merchant = stack.merchant().await;
    stack.sql(ENTRIES).await;
    merchant
}

async fn number(stack: &Stack, query: &'static str) -> i64 {
    let mut connection = stack.database.connect().await;
    sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap()
}

/// A client that asks for the file and then reads nothing of it.
async fn stalled(server: std::net::SocketAddr, merchant: &Merchant) -> RawClient {
    let mut client = RawClient::connect(server).await;
    let key = merchant.new.api_key.reveal();
    let request = format!("GET {PATH} HTTP/1.1\r\nhost: x\r\nx-api-key: {key}\r\n\r\n");
    assert!(client.say(request.as_bytes()).await);
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn two_exports_of_a_merchant_are_made_at_once_over_all_replicas_and_a_third_waits() {
    with_stack(|stack| async move {
        let merchant = large(&stack).await;
        let patient = Limits { header_timeout: Duration::from_secs(60), ..Limits::default() };
        let replica = stack.replica_within(patient, "").await;
        let held = [stalled(replica, &merchant).await, stalled(replica, &merchant).await];
        let slots = "select count(*) from export_slot";
        eventually("both hold a place", async || (number(&stack, slots).await == 2).then_some(()))
            .await;
        let third = merchant.client.get(PATH).await;
        assert_eq!(outcome(&third), (429, "RATE_LIMIT_EXCEEDED".to_owned()));
        assert_eq!(third.header("retry-after"), Some("60"));
        assert_eq!(third.header("x-ratelimit-limit"), None);
        // Another merchant is not concerned.
        let other = stack.merchant().await.client;
        assert_eq!(other.get(PATH).await.status, 200);
        // Neither reader holds a snapshot, whatever it has read.
        eventually("no snapshot is held", async || (number(&stack, OPEN).await == 0).then_some(()))
            .await;
        drop(held);
        eventually("the places are free", async || {
            (number(&stack, slots).await == 0).then_some(())
        })
        .await;
        let whole = merchant.client.get(PATH).await;
        assert_eq!((whole.status, whole.header("x-gateway-row-count")), (200, Some("60000")));
        assert_eq!(whole.body.lines().count(), 60_001);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_stalls_is_cut_off_and_a_program_that_died_leaves_no_place_behind() {
    with_stack(|stack| async move {
        let merchant = large(&stack).await;
        let short = Limits { header_timeout: Duration::from_millis(300), ..Limits::default() };
        let replica = stack.replica_within(short, "").await;
        let mut client = stalled(replica, &merchant).await;
        let slots = "select count(*) from export_slot";
        eventually("it has begun", async || (number(&stack, slots).await == 1).then_some(())).await;
        eventually("it is cut off", async || (number(&stack, slots).await == 0).then_some(())).await;
        let heard = client.hear_all().await;
        let whole = merchant.client.get(PATH).await.body.len();
        assert!(heard.starts_with(b"HTTP/1.1 200") && heard.len() < whole, "{}", heard.len());

        stack.sql("insert into export_slot (merchant_id, slot, taken_by, leased_until) \
                   select id, slot, gen_random_uuid(), now() + interval '1 hour' from merchant, generate_series(1, 2) as slot").await;
        assert_eq!(merchant.client.get(PATH).await.status, 429);
        stack.sql("update export_slot set leased_until = now() - interval '1 second'").await;
        assert_eq!(merchant.client.get(PATH).await.status, 200);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_cannot_be_read_are_a_503_and_never_a_short_file() {
    with_stack(|stack| async move {
        let merchant = large(&stack).await;
        let damage = "alter table ledger_entry disable trigger ledger_append_only; \
                      update ledger_entry set asset = 'gone@polygon' where id = (select max(id) from ledger_entry)";
        let mut connection = stack.database.connect().await;
        sqlx::raw_sql(damage).execute(&mut connection).await.unwrap();
        let damaged = merchant.client.get(PATH).await;
        assert_eq!(outcome(&damaged), (503, "EXPORT_HISTORY_UNAVAILABLE".to_owned()));
        stack.sql("alter table ledger_entry rename to mislaid").await;
        let gone = merchant.client.get(PATH).await;
        assert_eq!(outcome(&gone), (503, "EXPORT_HISTORY_UNAVAILABLE".to_owned()));
        assert_eq!(gone.header("content-disposition"), None);
        // A failed export keeps no place.
        let slots = "select count(*) from export_slot";
        eventually("no place is held", async || (number(&stack, slots).await == 0).then_some(())).await;
        let client: &Client = &merchant.client;
        assert_eq!(client.get("/v1/export/fees?from=2026-03-01&to=2026-04-01").await.status, 503);
    })
    .await;
}
