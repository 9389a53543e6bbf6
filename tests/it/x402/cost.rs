//! What a settlement costs: nothing that is worth less is verified, settled, sold or asked for.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use support::server::broker::eventually;

use super::scene::{CENT, Scene, with_scene};

/// From now on the role notes this, in millionths of a USD, and as if it were so old.
pub(super) async fn costs(scene: &Scene, usd_micros: u64, age: &str) {
    let mut connection = scene.stack.database.connect().await;
    let noted = format!(
        "create or replace function x402_test_cost() returns trigger language plpgsql as $$
         begin new.usd_micros := {usd_micros}; new.noted_at := now() - interval '{age}'; return new; end $$;
         create or replace trigger x402_test_cost before insert or update on x402_cost
         for each row execute function x402_test_cost();
         insert into x402_cost (network, usd_micros) values ('polygon', 0)
         on conflict (network) do update set usd_micros = 0"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(noted)).execute(&mut connection).await.unwrap();
}

/// Costs are kept for some seconds.
async fn until_valid(scene: &Scene, request: &Value, is_valid: bool) -> Value {
    eventually("the new cost holds", async || {
        let verdict = scene.verify(request).await;
        (verdict["isValid"] == is_valid).then_some(verdict)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_role_notes_what_a_settlement_costs() {
    with_scene(|scene| async move {
        let noted = "select count(*) from x402_cost where network = 'polygon' and usd_micros > 0 \
                     and noted_at > now() - interval '30 seconds'";
        scene.until("it is noted", noted, 1).await;
        // Of a coin at half a USD, at the prices of gas of an empty chain.
        let below = scene.number("select max(usd_micros) from x402_cost").await;
        assert!(below < CENT, "{below}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_worth_less_than_its_gas_is_refused_everywhere_while_it_is() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, 5 * CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        until_valid(&scene, &request, true).await;

        costs(&scene, 20_000, "0 seconds").await;
        let verdict = until_valid(&scene, &request, false).await;
        assert_eq!(verdict["invalidReason"], "invalid_payment_requirements", "{verdict}");
        let message = verdict["invalidMessage"].as_str().unwrap();
        assert!(message.contains("below the minimum, 20000 base units"), "{message}");
        let settled = scene.settle(&request).await;
        assert_eq!(settled["errorReason"], "invalid_payment_requirements", "{settled}");
        let body = json!({ "url": "https://api.example/a", "price_amount": "0.01" });
        let refused = scene.merchant.client.post("/v1/x402/resources", &body).await;
        refused.expect_error(400, "AMOUNT_BELOW_MINIMUM");
        // Nobody is asked for what would be refused.
        let path = format!("/v1/x402/resources/{}", resource["resource_id"].as_str().unwrap());
        assert_eq!(scene.merchant.client.get(&path).await.json()["accepts"], json!([]));
        assert_eq!(scene.number("select count(*) from x402_settlement").await, 0);

        // A price of gas from before says nothing of now.
        costs(&scene, 20_000, "11 minutes").await;
        until_valid(&scene, &request, true).await;
        assert_eq!(scene.settle(&request).await["success"], true);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_that_is_worth_less_than_its_gas_asks_for_nothing() {
    with_scene(|scene| async move {
        let body = json!({
            "price_amount": 10, "price_currency": "usd", "pay_currency": "usdcmatic", "network": "polygon",
        });
        let created = scene.merchant.client.post("/v1/payment", &body).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let path = format!("/v1/x402/pay/{}", created.json()["payment_id"].as_str().unwrap());
        let asked = scene.stack.anybody().get(&path).await;
        let required = BASE64_STANDARD.decode(asked.header("payment-required").unwrap()).unwrap();
        let required: Value = serde_json::from_slice(&required).unwrap();
        let payer = scene.payer(7, 2_000 * CENT).await;
        let request = scene.request(&payer, &required["accepts"][0], 1).await;
        let header = BASE64_STANDARD.encode(request["paymentPayload"].to_string());
        let program = scene.stack.anybody().with_header("payment-signature", &header);

        costs(&scene, 20_000_000, "0 seconds").await;
        eventually("the new cost holds", async || {
            (scene.stack.anybody().get(&path).await.status == 400).then_some(())
        })
        .await;
        for client in [&scene.stack.anybody(), &program] {
            client.get(&path).await.expect_error(400, "X402_UNSUPPORTED");
        }
        assert_eq!(scene.number("select count(*) from x402_settlement").await, 0);
    })
    .await;
}
