//! "Limits": 60 requests per rolling 60 seconds, exactly, over all replicas.

use futures_util::future::join_all;
use serde_json::json;
use support::{
    client::{Answer, Client},
    server::stack::{Stack, with_stack},
};

use super::order;

#[track_caller]
fn expect_limited(answer: &Answer) {
    answer.expect_error(429, "RATE_LIMIT_EXCEEDED");
    assert_eq!(answer.header("retry-after"), Some("60"));
    assert_eq!(answer.header("x-ratelimit-limit"), Some("60"));
    expect_no_counters(answer);
}

#[track_caller]
fn expect_no_counters(answer: &Answer) {
    for never in ["x-ratelimit-remaining", "x-ratelimit-reset"] {
        assert_eq!(answer.header(never), None);
    }
}

/// Number of accepted requests of `count` parallel ones; the rest must be refused as the
/// specification says.
async fn answered(clients: &[Client], path: &str, count: usize) -> usize {
    let gets = (0..count).map(|number| clients[number % clients.len()].get(path));
    let answers = join_all(gets).await;
    let (limited, answered): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.status == 429);
    limited.into_iter().for_each(expect_limited);
    for answer in &answered {
        assert_eq!(answer.status, 200, "{}", answer.body);
        expect_no_counters(answer);
    }
    answered.len()
}

/// Moves the record of requests back in time instead of waiting.
async fn a_minute_passes(stack: &Stack) {
    stack
        .sql(
            "update request_window set slots =
                 array(select slot - interval '60 seconds' from unnest(slots) with ordinality as s (slot, n) order by n)",
        )
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_requests_at_once_over_three_replicas_get_sixty_answers() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let mut clients = vec![merchant.client.clone()];
        for _ in 0..2 {
            let replica = Client::new(stack.replica("").await);
            clients.push(replica.with_key(merchant.new.api_key.reveal()));
        }
        assert_eq!(answered(&clients, "/v1/payment", 200).await, 60);
        // Refused requests do not count: the window is free again one minute after the accepted
        // ones.
        assert_eq!(answered(&clients, "/v1/payment", 30).await, 0);
        let other = stack.merchant().await.client;
        assert_eq!(other.get("/v1/payment").await.status, 200);

        a_minute_passes(&stack).await;
        assert_eq!(answered(&clients, "/v1/payment", 200).await, 60);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_window_rolls_one_request_at_a_time() {
    with_stack(|stack| async move {
        let shop = [stack.merchant().await.client];
        assert_eq!(answered(&shop, "/v1/payment", 60).await, 60);
        // The oldest seven leave the window; the others stay in it.
        stack
            .sql(
                "update request_window set slots =
                     array(select case when n <= 7 then slot - interval '60 seconds' else slot end
                           from unnest(slots) with ordinality as s (slot, n) order by n)",
            )
            .await;
        assert_eq!(answered(&shop, "/v1/payment", 20).await, 7);
        // Almost a minute is not a minute.
        a_minute_passes(&stack).await;
        stack
            .sql(
                "update request_window set slots =
                     array(select slot + interval '30 seconds' from unnest(slots) with ordinality as s (slot, n) order by n)",
            )
            .await;
        assert_eq!(answered(&shop, "/v1/payment", 20).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_authenticated_request_counts_whatever_its_outcome_and_no_other_does() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let shop = &merchant.client;
        let wrong_key = stack.anybody().with_key(&"0".repeat(64));
        for _ in 0..20 {
            assert_eq!(shop.get("/v1/payment/none").await.status, 404);
            assert_eq!(shop.post("/v1/payment", &json!([])).await.status, 400);
            assert_eq!(shop.send(http::Method::HEAD, "/v1/payment", "").await.status, 200);
            // None of these is an authenticated request.
            assert_eq!(shop.get("/v1/currencies").await.status, 200);
            assert_eq!(shop.get("/v1/nothing").await.status, 404);
            assert_eq!(shop.send(http::Method::DELETE, "/v1/payment", "").await.status, 405);
            assert_eq!(wrong_key.get("/v1/payment").await.status, 401);
        }
        expect_limited(&shop.get("/v1/payment").await);
        expect_limited(&shop.get("/v1/payment/none").await);
        let refused = shop.clone().with_header("idempotency-key", "k");
        expect_limited(&refused.post("/v1/payment", &order(&json!({}))).await);
        expect_limited(&shop.get("/v1/payment?limit=abc").await);
        expect_limited(&shop.get("/v1/payment/").await);
        assert_eq!(shop.send(http::Method::HEAD, "/v1/payment", "").await.status, 429);
    })
    .await;
}

const POLL: &str = "/v1/invoices/pzi_00000000000000000000000000/status";

async fn polls_answered(clients: &[Client], count: usize) -> usize {
    let gets = (0..count).map(|number| clients[number % clients.len()].get(POLL));
    let answers = join_all(gets).await;
    for refused in answers.iter().filter(|answer| answer.status == 429) {
        refused.expect_error(429, "RATE_LIMIT_EXCEEDED");
        assert_eq!(refused.header("retry-after"), Some("60"));
        assert_eq!(refused.header("x-ratelimit-limit"), None);
        expect_no_counters(refused);
    }
    answers.iter().filter(|answer| answer.status == 404).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn buyers_have_a_budget_per_address_apart_from_the_merchant_s() {
    with_stack(|stack| async move {
        let shop = [stack.merchant().await.client];
        let anywhere = [stack.anybody(), stack.buyer(), shop[0].clone()];
        assert_eq!(polls_answered(&anywhere, 90).await, 60);
        assert_eq!(answered(&shop, "/v1/payment", 61).await, 60);
        a_minute_passes(&stack).await;
        assert_eq!(polls_answered(&anywhere, 1).await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forwarded_address_counts_only_if_a_trusted_proxy_wrote_it() {
    with_stack(|stack| async move {
        let proxied = stack.replica("api.trusted_proxies = [\"127.0.0.0/8\"]").await;
        let from =
            |server, address: &str| Client::new(server).with_header("x-forwarded-for", address);
        // No proxy is trusted: all of these are one client.
        let spoofed: Vec<_> = (0..61).map(|n| from(stack.api, &format!("203.0.113.{n}"))).collect();
        assert_eq!(polls_answered(&spoofed, 61).await, 60);
        // The proxy is trusted, but not the part of the header before it, which the client wrote.
        for victim in
            ["198.51.100.1, 203.0.113.1", "rubbish, 203.0.113.1", "203.0.113.1, 127.0.0.1"]
        {
            assert_eq!(polls_answered(&[from(proxied, victim)], 20).await, 20, "{victim}");
        }
        assert_eq!(polls_answered(&[from(proxied, "203.0.113.1")], 5).await, 0);
        assert_eq!(polls_answered(&[from(proxied, "198.51.100.1")], 1).await, 1);
        // One IPv6 network is one client.
        let network: Vec<_> =
            (0..61).map(|n| from(proxied, &format!("2001:db8:1:1::{n:x}"))).collect();
        assert_eq!(polls_answered(&network, 61).await, 60);
        assert_eq!(polls_answered(&[from(proxied, "2001:db8:1:2::1")], 1).await, 1);
    })
    .await;
}
