//! An invoice is created, paid on a chain, and its signed IPN arrives.

use gateway::invoice::Status;
use serde_json::json;
use support::{
    server::{broker::eventually, stack::with_stack},
    shop::{deposit, receiver::Receiver},
};

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_paid_in_two_parts_finishes_once_with_one_webhook() {
    with_stack(|stack| async move {
        stack.start_all();
        let merchant = stack.merchant().await;
        let receiver = Receiver::answering(200).await;
        let body = json!({
            "price_amount": 25, "price_currency": "usd", "pay_currency": "usdtmatic",
            "order_id": "A-1", "ipn_callback_url": receiver.url,
        });
        let created = merchant.client.post("/v1/payment", &body).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let payment = created.json();
        assert_eq!(payment["payment_status"], "waiting");
        let id = payment["payment_id"].as_str().unwrap().to_owned();

        stack.gateway.simulate_deposit(&deposit(&id, "10")).await.unwrap();
        // Read from the gateway, because polling the API would use up the merchant's rate limit.
        eventually("partial", async || {
            let seen = stack.gateway.buyer_status(&id).await.unwrap().unwrap();
            (seen.status == Status::Partial).then_some(())
        })
        .await;
        let payment = async || merchant.client.get(&format!("/v1/payment/{id}")).await.json();
        assert_eq!(payment().await["payment_status"], "partially_paid");
        stack.gateway.simulate_deposit(&deposit(&id, "15.000")).await.unwrap();

        let received = receiver.wait_for(1).await;
        received[0].verify(merchant.new.webhook_secret.reveal());
        let ipn = received[0].json();
        assert_eq!(ipn["payment_id"], id.as_str());
        assert_eq!(ipn["payment_status"], "finished");
        assert_eq!(ipn["actually_paid"].to_string(), "25");
        assert_eq!(ipn["order_id"], "A-1");
        assert_eq!(payment().await["payment_status"], "finished");
        assert_eq!(receiver.received().len(), 1);
    })
    .await;
}
