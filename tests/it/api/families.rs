//! "Authentication" and "Limits" over the families of payouts: each operation is asked what
//! `auth.rs` and `rate_limit.rs` ask of `/v1/payment`, and answers in the envelope of its family.

use gateway::payout::PayoutFamily;
use gateway_api::{nc_payout, payout};
use http::Method;
use serde_json::{Value, json};
use support::{
    client::{Answer, Client},
    server::stack::{Merchant, Stack, with_stack},
    shop::payouts::evm_address,
};

use super::order;

const LTC: &str = "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9";

/// An operation with a request that would work with a key.
struct Question {
    method: Method,
    path: String,
    body: Value,
    /// Refusals are words in capitals here, and in lower case in the other families.
    in_capitals: bool,
}

/// A payout of each family, so that operations on one have something to be asked about.
struct World {
    merchant: Merchant,
    questions: Vec<Question>,
}

impl World {
    async fn open(stack: &Stack) -> Self {
        let merchant = stack.merchant().await;
        let mut questions = Vec::new();
        for family in PayoutFamily::ALL {
            let path = payout::path(family);
            let rows = match family {
                PayoutFamily::Utxo => recipients("litecoin", "ltc", "items", LTC),
                PayoutFamily::Evm => recipients("polygon", "usdtmatic", "items", &evm_address(1)),
            };
            let id = created(&merchant.client, path, &rows).await;
            for row in payout::operations() {
                questions.push(Question::of(row.method, path, row.path, &id, &rows, false));
            }
        }
        let mut rows = recipients("polygon", "usdtmatic", "outputs", &evm_address(2));
        rows["fromAddress"] = json!(evm_address(3));
        let id = created(&merchant.client, nc_payout::PATH, &rows).await;
        for row in nc_payout::operations() {
            questions.push(Question::of(row.method, nc_payout::PATH, row.path, &id, &rows, true));
        }
        assert!(questions.len() >= 26, "operations are missing");
        Self { merchant, questions }
    }
}

fn recipients(network: &str, currency: &str, member: &str, address: &str) -> Value {
    json!({ "network": network, "currency": currency, member: [{ "address": address, "amount": "1.5" }] })
}

async fn created(client: &Client, path: &str, rows: &Value) -> String {
    let answer = client.post(path, rows).await;
    assert_eq!(answer.status, 201, "{path}: {}", answer.body);
    answer.json()["data"]["id"].as_str().unwrap().to_owned()
}

impl Question {
    fn of(
        method: Method,
        family: &str,
        path: &str,
        id: &str,
        rows: &Value,
        in_capitals: bool,
    ) -> Self {
        let creates = method == Method::POST && path == "/";
        let path = format!("{family}{}", path.replace("{id}", id));
        let body = if creates { rows.clone() } else { json!({}) };
        Self { method, path: path.trim_end_matches('/').to_owned(), body, in_capitals }
    }

    async fn ask(&self, client: &Client) -> Answer {
        let body = if self.method == Method::POST { self.body.to_string() } else { String::new() };
        client.send(self.method.clone(), &self.path, &body).await
    }

    /// `code` in the words of the family.
    #[track_caller]
    fn expect(&self, answer: &Answer, status: u16, code: &str) {
        let what = format!("{} {}: {}", self.method, self.path, answer.body);
        assert_eq!(answer.status, status, "{what}");
        let json = answer.json();
        assert_eq!(json["ok"], false, "{what}");
        let error = &json["error"];
        // The families have two names for one limit.
        let kind =
            if code == "RATE_LIMIT_EXCEEDED" { "rate_limited" } else { &code.to_lowercase() };
        let told = if self.in_capitals { (&error["code"], code) } else { (&error["kind"], kind) };
        assert_eq!(told.0, told.1, "{what}");
        assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{what}");
        let limited = status == 429;
        assert_eq!(answer.header("retry-after"), limited.then_some("60"), "{what}");
        assert_eq!(answer.header("x-ratelimit-limit"), limited.then_some("60"), "{what}");
        for never in ["x-ratelimit-remaining", "x-ratelimit-reset"] {
            assert_eq!(answer.header(never), None, "{what}");
        }
    }
}

/// Everything that can be written of a payout by its merchant.
async fn rows(stack: &Stack) -> (i64, i64) {
    let mut connection = stack.database.connect().await;
    let counts = "select (select count(*) from payout_order), (select count(*) from nc_payout)";
    sqlx::query_as(counts).fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_of_payouts_demands_a_key_by_its_whole_value() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let world = World::open(&stack).await;
        let before = rows(&stack).await;
        let key = world.merchant.new.api_key.reveal();
        let anybody = stack.anybody();
        let with = |value: &str| anybody.clone().with_key(value);
        for (client, code) in [
            (anybody.clone(), "API_KEY_MISSING"),
            (anybody.clone().with_header("authorization", key), "API_KEY_MISSING"),
            (with(""), "API_KEY_MALFORMED"),
            (with(&"a".repeat(31)), "API_KEY_MALFORMED"),
            (with(&"a".repeat(257)), "API_KEY_MALFORMED"),
            (with(&format!("Bearer {key}")), "API_KEY_MALFORMED"),
            (with(key).with_key(key), "API_KEY_MALFORMED"),
            (with(&"a".repeat(64)), "API_KEY_NOT_FOUND"),
            (with(&key[..63]), "API_KEY_NOT_FOUND"),
            (with(&key.to_uppercase()), "API_KEY_NOT_FOUND"),
        ] {
            for question in &world.questions {
                question.expect(&question.ask(&client).await, 401, code);
            }
        }
        assert_eq!(rows(&stack).await, before);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_key_and_a_suspended_merchant_are_refused_by_every_operation_of_payouts() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let world = World::open(&stack).await;
        let before = rows(&stack).await;
        let merchant = &world.merchant;
        stack.gateway.set_suspended(merchant.new.id, true).await.unwrap();
        for question in &world.questions {
            let answer = question.ask(&merchant.client).await;
            question.expect(&answer, 403, "MERCHANT_SUSPENDED");
        }
        stack.gateway.set_suspended(merchant.new.id, false).await.unwrap();
        let new = stack.gateway.rotate_key(merchant.new.id).await.unwrap();
        for question in &world.questions {
            let answer = question.ask(&merchant.client).await;
            question.expect(&answer, 401, "API_KEY_NOT_FOUND");
        }
        assert_eq!(rows(&stack).await, before);
        // With the new key none of them is refused for its caller.
        let client = stack.anybody().with_key(new.reveal());
        for question in &world.questions {
            let answer = question.ask(&client).await;
            let fine = ![401, 403, 429].contains(&answer.status) && answer.status < 500;
            assert!(fine, "{} {}: {}", question.method, question.path, answer.body);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_budget_of_sixty_requests_is_shared_by_invoices_and_all_payouts() {
    with_stack(|stack| async move {
        let world = World::open(&stack).await;
        let client = &world.merchant.client;
        // Three requests made the world. Each operation counts, whatever its outcome.
        let mut used = 3;
        for question in world.questions.iter().cycle().take(37) {
            assert_ne!(question.ask(client).await.status, 429, "{}", question.path);
            used += 1;
        }
        for _ in used..60 {
            assert_eq!(client.get("/v1/payment").await.status, 200);
        }
        for question in &world.questions {
            question.expect(&question.ask(client).await, 429, "RATE_LIMIT_EXCEEDED");
        }
        let refused = client.post("/v1/payment", &order(&json!({}))).await;
        refused.expect_error(429, "RATE_LIMIT_EXCEEDED");
        assert_eq!(refused.header("retry-after"), Some("60"));
        // Another merchant has a budget of its own.
        assert_eq!(stack.merchant().await.client.get("/v1/payment").await.status, 200);
    })
    .await;
}
