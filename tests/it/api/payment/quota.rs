//! Suspension, and the number of simultaneously open invoices.

use gateway::merchant::settings::Settings;
use serde_json::{Value, json};
use support::server::stack::{Stack, with_stack};

use crate::api::{order, rows_written};

async fn shop_with_quota(
    stack: &Stack,
    open_invoices_max: u32,
) -> support::server::stack::Merchant {
    stack.merchant_with(Settings { open_invoices_max, ..Settings::default() }).await
}

fn id(payment: &Value) -> &str {
    payment["payment_id"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_invoices_are_open_at_once_than_the_quota_and_drafts_count() {
    with_stack(|stack| async move {
        let shop = shop_with_quota(&stack, 3).await.client;
        let draft = order(&json!({"pay_currency": "all"}));
        let mut open = Vec::new();
        for body in [&order(&json!({})), &draft, &order(&json!({}))] {
            let answer = shop.post("/v1/payment", body).await;
            assert_eq!(answer.status, 201, "{}", answer.body);
            open.push(answer.json());
        }
        let before = rows_written(&stack).await;
        for body in [&order(&json!({})), &draft] {
            let answer = shop.post("/v1/payment", body).await;
            answer.expect_error(429, "QUOTA_EXCEEDED");
            // It is no rate limit: waiting a minute does not help.
            for header in ["retry-after", "x-ratelimit-limit"] {
                assert_eq!(answer.header(header), None);
            }
        }
        assert_eq!(rows_written(&stack).await, before);
        let other = shop_with_quota(&stack, 3).await.client;
        assert_eq!(other.post("/v1/payment", &draft).await.status, 201);

        stack.gateway.cancel_invoice(id(&open[0])).await.unwrap();
        assert_eq!(shop.post("/v1/payment", &draft).await.status, 201);
        shop.post("/v1/payment", &draft).await.expect_error(429, "QUOTA_EXCEEDED");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_creations_never_exceed_the_quota() {
    with_stack(|stack| async move {
        let shop = shop_with_quota(&stack, 3).await.client;
        let body = order(&json!({}));
        let posts = (0..20).map(|_| shop.post("/v1/payment", &body));
        let answers = futures_util::future::join_all(posts).await;
        let created = answers.iter().filter(|answer| answer.status == 201).count();
        assert_eq!(created, 3);
        for refused in answers.iter().filter(|answer| answer.status != 201) {
            refused.expect_error(429, "QUOTA_EXCEEDED");
        }
        assert_eq!(rows_written(&stack).await, [3, 3, 0, 3]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_merchant_creates_nothing_until_it_is_resumed() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let id = merchant.new.id;
        stack.gateway.set_suspended(id, true).await.unwrap();
        let answer = merchant.client.post("/v1/payment", &order(&json!({}))).await;
        answer.expect_error(403, "MERCHANT_SUSPENDED");
        assert_eq!(rows_written(&stack).await, [0; 4]);
        stack.gateway.set_suspended(id, false).await.unwrap();
        assert_eq!(merchant.client.post("/v1/payment", &order(&json!({}))).await.status, 201);
    })
    .await;
}
