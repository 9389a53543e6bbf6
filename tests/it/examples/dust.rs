//! One paid invoice and four deposits of dust: every documented receiver ships once.

use gateway::app::sandbox::simulate::{Deposit, PaidIn};
use gateway_api::openapi;
use serde_json::{Value, json};
use support::{
    server::{broker::eventually, scratch::Scratch},
    shop::{Shop, deposit, receiver::Received, roastery::Roastery, with_shop},
};

use super::languages::{CHECKS, verdicts};

const UNKNOWN_CONTRACT: &str = "0x00000000000000000000000000000000000000aa";

/// Dust that any buyer can send to the address of a paid invoice: each grain causes a genuine
/// webhook.
async fn send_dust(shop: &Shop, id: &str) {
    let other = |currency: Option<&str>, contract: Option<&str>| Deposit {
        paid_in: PaidIn {
            currency: currency.map(str::to_owned),
            contract: contract.map(str::to_owned),
        },
        ..deposit(id, "0.000001")
    };
    shop.pay(id, "0.000001").await;
    shop.pay(id, "0.000001").await;
    shop.send(&other(Some("usdcmatic"), None)).await;
    shop.send(&other(None, Some(UNKNOWN_CONTRACT))).await;
}

/// The deliveries as the check programs read them.
fn recording(shop: &Shop, received: &[Received]) -> Value {
    let deliveries: Vec<_> = received
        .iter()
        .enumerate()
        .map(|(index, one)| {
            json!({
                "name": index.to_string(),
                "body": String::from_utf8(one.body.to_vec()).unwrap(),
                "signature": one.header("x-gateway-sig"),
                "received_at": one.json()["event_at"],
            })
        })
        .collect();
    json!({ "secret": shop.merchant.new.webhook_secret.reveal(), "deliveries": deliveries })
}

#[tokio::test(flavor = "multi_thread")]
async fn dust_after_a_payment_ships_nothing_again_by_any_snippet() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let id = shop.invoice().await;
        shop.pay(&id, "100").await;
        shop.webhook(1).await;
        send_dust(&shop, &id).await;
        let received = shop.receiver.wait_for(5).await;
        let mut events: Vec<_> =
            received.iter().map(|one| shop.verified(one)["event_id"].to_string()).collect();
        // The attack is real: five genuine deliveries say finished, each under an id of its own.
        assert!(received.iter().all(|one| one.json()["payment_status"] == "finished"));
        events.sort();
        events.dedup();
        assert_eq!(events.len(), 5);
        received.iter().for_each(|one| is_described(&one.json()));

        let folder = Scratch::new();
        let file = folder.fresh("recorded");
        // The broker delivers at least once, so everything comes twice.
        let twice = [received.as_slice(), received.as_slice()].concat();
        std::fs::write(&file, recording(&shop, &twice).to_string()).unwrap();
        for (language, check) in CHECKS {
            let said = verdicts(check, "verify-ipn", &file);
            let count = |verdict: &str| said.iter().filter(|line| line.contains(verdict)).count();
            assert_eq!(count(": accepted finished"), 1, "{language}: {said:?}");
            assert_eq!(count(": notice late_deposit_received finished"), 2, "{language}: {said:?}");
            assert_eq!(count(": notice "), 4, "{language}: {said:?}");
            assert_eq!(count(": duplicate"), 5, "{language}: {said:?}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demonstration_shop_ships_once_although_dust_follows() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let roastery = Roastery::start(&shop.stack).await;
        let client = roastery.client();
        let bought = client.send(http::Method::POST, "/buy/coffee", "").await;
        assert_eq!(bought.status, 303, "{}", bought.body);
        let page = client.get(bought.header("location").unwrap()).await.body;
        let id = page.split("data-payment-id=\"").nth(1).unwrap().split('"').next().unwrap();
        let chosen = json!({ "token_id": "usdtmatic@polygon" });
        let select = format!("/api/pay/{id}/select");
        assert_eq!(shop.stack.buyer().post(&select, &chosen).await.status, 200);
        let state = async || client.get("/order/1/state").await.json();
        assert_eq!(state().await, json!({ "told": null, "shipped": 0, "notices": 0 }));
        shop.pay(id, "9.5").await;
        eventually("the parcel is sent", async || (state().await["shipped"] == 1).then_some(()))
            .await;
        send_dust(&shop, id).await;
        let after = eventually("all dust is reported", async || {
            let state = state().await;
            (state["notices"] == 4 || state["shipped"] != 1).then_some(state)
        })
        .await;
        assert_eq!(after, json!({ "told": "finished", "shipped": 1, "notices": 4 }));
    })
    .await;
}

/// Expects the webhook that the OpenAPI document describes under the event's name to allow this
/// body.
fn is_described(body: &Value) {
    let mut document: Value = serde_json::from_str(openapi::json()).unwrap();
    let name = body["_gateway"]["notice"]["type"].as_str().unwrap_or("invoice.paid").to_owned();
    let content = "/post/requestBody/content/application~1json/schema";
    let schema = document["webhooks"][&name].pointer(content).unwrap().clone();
    document["allOf"] = json!([schema]);
    let validator = jsonschema::validator_for(&document).unwrap();
    let faults: Vec<_> = validator.iter_errors(body).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{name}: {faults:?}");
}
