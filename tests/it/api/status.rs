//! `GET /v1/status`, and the responses of the other endpoints while the database is unavailable.

use serde_json::json;
use support::server::stack::with_stack;

use super::order;

#[tokio::test(flavor = "multi_thread")]
async fn the_gateway_says_that_it_is_alive() {
    with_stack(|stack| async move {
        let answer = stack.anybody().get("/v1/status").await;
        assert_eq!((answer.status, answer.json()), (200, json!({ "message": "OK" })));
        assert_eq!(answer.header("content-type"), Some("application/json"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_database_is_an_internal_error_without_details() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await.client;
        stack.gateway.db.close().await;
        let id = "/v1/invoices/pzi_00000000000000000000000000/status";
        let answers = [
            stack.anybody().get("/v1/currencies").await,
            stack.anybody().get("/v1/estimate?amount=1&currency_from=usd&currency_to=btc").await,
            stack.anybody().get("/v1/min-amount?currency_to=btc").await,
            stack.anybody().get(id).await,
            merchant.get("/v1/payment").await,
            merchant.get("/v1/payment/x").await,
            merchant.post("/v1/payment", &order(&json!({}))).await,
        ];
        for answer in answers {
            answer.expect_error(500, "INTERNAL_ERROR");
            assert_eq!(answer.json()["message"], "something failed on our side; retry later");
        }
        assert_eq!(stack.anybody().get("/v1/status").await.status, 200);
    })
    .await;
}

/// The database refuses in each way that includes its own text: a raised error, a constraint, a
/// lock timeout, a missing table.
#[tokio::test(flavor = "multi_thread")]
async fn no_database_error_text_reaches_a_client() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await.client;
        let draft = order(&json!({}));
        for fault in [
            "create function refuse() returns trigger language plpgsql as
                 $$ begin raise exception 'INSIDE select from /var/lib' using detail = 'INSIDE'; end $$;
             create trigger inside before insert on invoice for each row execute function refuse()",
            "drop trigger inside on invoice;
             alter table invoice add constraint inside check (price_amount is null) not valid",
            "alter table invoice drop constraint inside; alter table invoice rename column order_id to inside",
            "alter table invoice rename to inside",
        ] {
            stack.sql(fault).await;
            let answer = merchant.post("/v1/payment", &draft).await;
            answer.expect_error(500, "INTERNAL_ERROR");
            assert_eq!(answer.json()["message"], "something failed on our side; retry later");
            let told = format!("{:?} {}", answer.headers, answer.body).to_lowercase();
            for word in ["inside", "select", "invoice", "relation", "constraint", "/var", "panicked"] {
                assert!(!told.contains(word), "{word}: {told}");
            }
        }
    })
    .await;
}
