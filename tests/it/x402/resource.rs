//! A merchant's resources, the public catalogue, and what the facilitator says of itself.

use axum::http::Method;
use serde_json::{Value, json};
use support::server::stack::with_stack;

use super::scene::{CHAIN_ID, USDC, with_scene};

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_is_sold_found_by_anyone_and_sold_no_more() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let accepts = &resource["accepts"][0];
        assert_eq!(accepts["network"], format!("eip155:{CHAIN_ID}"));
        assert_eq!(accepts["amount"], "10000");
        assert_eq!(accepts["asset"].as_str().unwrap().to_lowercase(), USDC);
        assert_eq!(accepts["extra"], json!({ "name": "USD Coin", "version": "2" }));
        assert_eq!(accepts["payTo"], resource["pay_to"]);
        assert_eq!(resource["accepts_v1"][0]["network"], "polygon");
        assert_eq!(resource["accepts_v1"][0]["maxAmountRequired"], "10000");

        let anybody = scene.stack.anybody();
        let found = anybody.get("/v1/x402/discovery").await.json();
        assert_eq!(found["items"][0]["resource"], "https://api.example/weather");
        assert_eq!(found["items"][0]["accepts"][0], *accepts);
        assert_eq!(found["pagination"], json!({ "limit": 20, "offset": 0, "total": 1 }));
        assert!(found["facilitator"]["settle"].as_str().unwrap().ends_with("/v1/x402/settle"));
        let supported = anybody.get("/v1/x402/supported").await.json();
        let kinds = json!([
            { "x402Version": 1, "scheme": "exact", "network": "polygon" },
            { "x402Version": 2, "scheme": "exact", "network": "eip155:137" },
        ]);
        assert_eq!(supported["kinds"], kinds);
        let signer = supported["signers"]["eip155:*"][0].as_str().unwrap().to_lowercase();
        assert_eq!(signer, scene.gas);
        let search = async |words: &str| {
            let path = format!("/v1/x402/discovery/search?query={words}");
            anybody.get(&path).await.json()["resources"].as_array().unwrap().len()
        };
        assert_eq!((search("WEATHER").await, search("%25").await), (1, 0));

        // Another merchant sees and deletes nothing of it.
        let other = scene.stack.merchant().await.client;
        let path = format!("/v1/x402/resources/{}", resource["resource_id"].as_str().unwrap());
        other.get(&path).await.expect_error(404, "RESOURCE_NOT_FOUND");
        other.send(Method::DELETE, &path, "").await.expect_error(404, "RESOURCE_NOT_FOUND");
        assert_eq!(other.get("/v1/x402/resources").await.json()["total"], 0);

        let own = &scene.merchant.client;
        assert_eq!(own.get(&path).await.json(), resource);
        assert_eq!(own.get("/v1/x402/resources").await.json()["data"][0], resource);
        assert_eq!(own.send(Method::DELETE, &path, "").await.status, 204);
        own.get(&path).await.expect_error(404, "RESOURCE_NOT_FOUND");
        assert_eq!(anybody.get("/v1/x402/discovery").await.json()["items"], json!([]));
    })
    .await;
}

/// Without networks of its own it is sold on all that are offered.
#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_the_description_is_taken_as_it_stands() {
    with_scene(|scene| async move {
        let document: Value = serde_json::from_str(gateway_api::openapi::json()).unwrap();
        let request = &document["paths"]["/v1/x402/resources"]["post"]["requestBody"];
        let example = &request["content"]["application/json"]["example"];
        let created = scene.merchant.client.post("/v1/x402/resources", example).await;
        assert_eq!(created.status, 201, "{}", created.body);
        assert_eq!(created.json()["networks"], json!(["polygon"]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_is_refused_while_x402_is_off() {
    with_stack(|stack| async move {
        let body = json!({ "url": "https://api.example/a", "price_amount": "0.01" });
        let refused = stack.merchant().await.client.post("/v1/x402/resources", &body).await;
        refused.expect_error(400, "X402_UNSUPPORTED");
        let found = stack.anybody().get("/v1/x402/supported").await.json();
        assert_eq!(found["kinds"], json!([]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_that_nobody_could_pay_for_is_refused() {
    with_scene(|scene| async move {
        let refused = async |change: Value, status, code: &str| {
            let mut body = json!({ "url": "https://api.example/a", "price_amount": "0.01" });
            body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let answer = scene.merchant.client.post("/v1/x402/resources", &body).await;
            answer.expect_error(status, code);
        };
        refused(json!({ "url": "weather" }), 400, "INVALID_REQUEST").await;
        refused(json!({ "price_amount": "0" }), 400, "INVALID_REQUEST").await;
        refused(json!({ "price_amount": "0.0000001" }), 400, "INVALID_REQUEST").await;
        refused(json!({ "price_amount": "0.0001" }), 400, "AMOUNT_BELOW_MINIMUM").await;
        refused(json!({ "price_currency": "eur" }), 400, "INVALID_REQUEST").await;
        refused(json!({ "networks": ["base"] }), 400, "X402_UNSUPPORTED").await;
        refused(json!({ "networks": ["moon"] }), 400, "X402_UNSUPPORTED").await;
        refused(json!({ "timeout_seconds": 5 }), 400, "INVALID_REQUEST").await;
    })
    .await;
}
