//! The paywall of an invoice: any program pays it, in both versions of the protocol.

use base64::{Engine, prelude::BASE64_STANDARD};
use gateway::{
    app::invoice::{cancel::CancelError, select_currency::SelectError},
    invoice::lifecycle::Refusal,
};
use serde_json::{Value, json};
use support::client::Client;

use super::scene::{Payer, Scene, with_scene};

/// An invoice of ten dollars in USDC on Polygon.
async fn invoice(scene: &Scene) -> Value {
    let body = json!({
        "price_amount": 10, "price_currency": "usd", "pay_currency": "usdcmatic", "network": "polygon",
        "order_description": "Coffee",
    });
    let created = scene.merchant.client.post("/v1/payment", &body).await;
    assert_eq!(created.status, 201, "{}", created.body);
    created.json()
}

fn decoded(header: Option<&str>) -> Value {
    let bytes = BASE64_STANDARD.decode(header.expect("the header is there")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_pays_an_invoice_from_402_to_finished() {
    with_scene(|scene| async move {
        let invoice = invoice(&scene).await;
        let path = format!("/v1/x402/pay/{}", invoice["payment_id"].as_str().unwrap());
        let asked = scene.stack.anybody().get(&path).await;
        assert_eq!(asked.status, 402, "{}", asked.body);
        let required = decoded(asked.header("payment-required"));
        assert_eq!(required["x402Version"], 2);
        assert_eq!(required["resource"]["description"], "Coffee");
        let accepts = required["accepts"][0].clone();
        assert_eq!(accepts["payTo"], invoice["pay_address"]);
        let v1 = asked.json();
        assert_eq!(
            (&v1["x402Version"], &v1["accepts"][0]["network"]),
            (&json!(1), &json!("polygon"))
        );
        assert_eq!(v1["accepts"][0]["maxAmountRequired"], accepts["amount"]);

        let due: u128 = accepts["amount"].as_str().unwrap().parse().unwrap();
        let payer = scene.payer(7, due).await;
        let request = scene.request(&payer, &accepts, 1).await;
        let header = BASE64_STANDARD.encode(request["paymentPayload"].to_string());
        let client = scene.stack.anybody().with_header("payment-signature", &header);
        let paid = scene.while_mining(client.get(&path)).await;
        assert_eq!(paid.status, 200, "{}", paid.body);
        let response = decoded(paid.header("payment-response"));
        assert_eq!(response["success"], true);
        assert_eq!(paid.json()["transaction"], response["transaction"]);

        let finished = "select count(*) from invoice where status = 'paid'";
        scene.until("the invoice is paid", finished, 1).await;
        // Asked again, with the payment and without: it is paid.
        let again = scene.while_mining(client.get(&path)).await;
        assert_eq!(again.status, 200, "{}", again.body);
        assert_eq!(decoded(again.header("payment-response")), response);
        assert_eq!(scene.stack.anybody().get(&path).await.status, 200);
        assert_eq!(scene.booked().await, due);
        assert_eq!(
            scene.number("select count(*) from ledger_entry where kind = 'deposit'").await,
            1
        );
    })
    .await;
}

/// The page of an invoice, and what it asks of a program.
async fn asked(scene: &Scene) -> (String, Value) {
    let invoice = invoice(scene).await;
    let path = format!("/v1/x402/pay/{}", invoice["payment_id"].as_str().unwrap());
    let asked = scene.stack.anybody().get(&path).await;
    assert_eq!(asked.status, 402, "{}", asked.body);
    (path, decoded(asked.header("payment-required"))["accepts"][0].clone())
}

/// A program that hands over the payer's authorization with that nonce.
async fn program(scene: &Scene, payer: &Payer, accepts: &Value, nonce: u128) -> Client {
    let request = scene.request(payer, accepts, nonce).await;
    let header = BASE64_STANDARD.encode(request["paymentPayload"].to_string());
    scene.stack.anybody().with_header("payment-signature", &header)
}

fn units(accepts: &Value) -> u128 {
    accepts["amount"].as_str().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_of_one_invoice_pays_for_no_other() {
    with_scene(|scene| async move {
        let ((first, accepts), (second, _)) = (asked(&scene).await, asked(&scene).await);
        let payer = scene.payer(7, 2 * units(&accepts)).await;
        let client = program(&scene, &payer, &accepts, 1).await;
        assert_eq!(scene.while_mining(client.get(&first)).await.status, 200);
        let refused = scene.while_mining(client.get(&second)).await;
        assert_eq!(refused.status, 402, "{}", refused.body);
        let response = decoded(refused.header("payment-response"));
        assert_eq!((&response["success"], &response["transaction"]), (&json!(false), &json!("")));
        assert_eq!(scene.tokens(&payer.address).await, units(&accepts));
    })
    .await;
}

/// A program whose first payment waits for its block signs another one.
#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_takes_no_second_payment_while_the_first_waits_for_its_block() {
    with_scene(|scene| async move {
        let (path, accepts) = asked(&scene).await;
        let due = units(&accepts);
        let payer = scene.payer(7, 3 * due).await;
        let [first, second] = [
            program(&scene, &payer, &accepts, 1).await,
            program(&scene, &payer, &accepts, 2).await,
        ];
        // No block comes, so the answer runs out of time.
        let waits = first.get(&path).await;
        assert_eq!(
            (waits.status, &waits.json()["error"]),
            (402, &json!("unexpected_settle_error"))
        );
        let refused = second.get(&path).await;
        let error = refused.json()["error"].clone();
        assert_eq!((refused.status, error), (402, json!("invalid_payment_requirements")));
        assert_eq!(scene.number("select count(*) from x402_settlement").await, 1);
        let paid = scene.while_mining(first.get(&path)).await;
        assert_eq!(paid.status, 200, "{}", paid.body);
        let finished = "select count(*) from invoice where status = 'paid'";
        scene.until("the invoice is paid", finished, 1).await;
        assert_eq!(scene.tokens(&payer.address).await, 2 * due);
        assert_eq!(scene.booked().await, due);
    })
    .await;
}

/// Its money would arrive for a currency that the invoice does not ask for any more.
#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_keeps_its_currency_while_a_program_s_payment_is_under_way() {
    with_scene(|scene| async move {
        let body = json!({ "price_amount": 10, "price_currency": "usd", "pay_currency": "all" });
        let draft = scene.merchant.client.post("/v1/payment", &body).await.json();
        let id = draft["payment_id"].as_str().unwrap().to_owned();
        let gateway = &scene.stack.gateway;
        gateway.select_currency(&id, "usdcmatic@polygon").await.unwrap();
        let status = gateway.buyer_status(&id).await.unwrap().unwrap();
        assert!(status.changeable && status.cancellable);

        let path = format!("/v1/x402/pay/{id}");
        let asked = scene.stack.anybody().get(&path).await;
        let accepts = decoded(asked.header("payment-required"))["accepts"][0].clone();
        let payer = scene.payer(7, units(&accepts)).await;
        let client = program(&scene, &payer, &accepts, 1).await;
        // No block comes, so the answer runs out of time.
        assert_eq!(client.get(&path).await.status, 402);
        let changed = gateway.change_currency(&id, "usdcmatic@polygon", "usdtmatic@polygon").await;
        assert!(matches!(changed, Err(SelectError::Refused(Refusal::DepositSeen))), "{changed:?}");
        let cancelled = gateway.cancel_invoice(&id).await;
        assert!(
            matches!(cancelled, Err(CancelError::Refused(Refusal::DepositSeen))),
            "{cancelled:?}"
        );
        let status = gateway.buyer_status(&id).await.unwrap().unwrap();
        assert!(!status.changeable && !status.cancellable);

        assert_eq!(scene.while_mining(client.get(&path)).await.status, 200);
        let finished = "select count(*) from invoice where status = 'paid'";
        scene.until("the invoice is paid", finished, 1).await;
    })
    .await;
}

/// Checked before the buyer changed the currency, stored afterwards: refused then.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_of_a_currency_that_was_changed_is_refused() {
    with_scene(|scene| async move {
        let body = json!({ "price_amount": 10, "price_currency": "usd", "pay_currency": "all" });
        let draft = scene.merchant.client.post("/v1/payment", &body).await.json();
        let id = draft["payment_id"].as_str().unwrap().to_owned();
        let gateway = &scene.stack.gateway;
        gateway.select_currency(&id, "usdcmatic@polygon").await.unwrap();
        let path = format!("/v1/x402/pay/{id}");
        let asked = scene.stack.anybody().get(&path).await;
        let accepts = decoded(asked.header("payment-required"))["accepts"][0].clone();
        let payer = scene.payer(7, units(&accepts)).await;
        let request = scene.request(&payer, &accepts, 1).await;
        // The row is held as a change of the currency holds it, until the check is over.
        let mut buyer = scene.stack.database.connect().await;
        let mut changing = sqlx::Connection::begin(&mut buyer).await.unwrap();
        let held = "update invoice set token_id = 'usdtmatic@polygon' where payment_id = $1";
        sqlx::query(held).bind(&id).execute(&mut *changing).await.unwrap();
        let settling = scene.merchant.client.post("/v1/x402/settle", &request);
        let change = async {
            let waits = "select count(*) from pg_stat_activity
                where datname = current_database() and wait_event_type = 'Lock'";
            scene.until_without_a_block("settling waits for the row", waits, 1).await;
            changing.commit().await.unwrap();
        };
        let (answer, ()) = tokio::join!(settling, change);
        let answer = answer.json();
        assert_eq!(
            (&answer["success"], &answer["errorReason"]),
            (&json!(false), &json!("invalid_payment_requirements"))
        );
        assert_eq!(scene.number("select count(*) from x402_settlement").await, 0);
    })
    .await;
}

/// Each is checked before any other is stored.
#[tokio::test(flavor = "multi_thread")]
async fn of_payments_of_one_invoice_at_once_one_is_settled() {
    with_scene(|scene| async move {
        let (path, accepts) = asked(&scene).await;
        let due = units(&accepts);
        let mut programs = Vec::new();
        for n in 1..=4 {
            let payer = scene.payer(n, due).await;
            programs.push(program(&scene, &payer, &accepts, 1).await);
        }
        let asking = programs.iter().map(|program| program.get(&path));
        let answers = scene.while_mining(futures_util::future::join_all(asking)).await;
        let paid = answers.iter().filter(|answer| {
            answer
                .header("payment-response")
                .is_some_and(|header| decoded(Some(header))["success"] == true)
        });
        assert_eq!(paid.count(), 1);
        let finished = "select count(*) from invoice where status = 'paid'";
        scene.until("the invoice is paid", finished, 1).await;
        assert_eq!(scene.booked().await, due);
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_that_programs_cannot_pay_says_so() {
    with_scene(|scene| async move {
        let anybody = scene.stack.anybody();
        let unknown = "/v1/x402/pay/pzi_00000000000000000000000000";
        anybody.get(unknown).await.expect_error(404, "PAYMENT_NOT_FOUND");
        anybody.get("/v1/x402/pay/7").await.expect_error(404, "PAYMENT_NOT_FOUND");
        let body = json!({ "price_amount": 10, "price_currency": "usd", "pay_currency": "pol", "network": "polygon" });
        let created = scene.merchant.client.post("/v1/payment", &body).await.json();
        let path = format!("/v1/x402/pay/{}", created["payment_id"].as_str().unwrap());
        anybody.get(&path).await.expect_error(400, "X402_UNSUPPORTED");
        // A header that is no payment gets the terms again.
        let invoice = invoice(&scene).await;
        let path = format!("/v1/x402/pay/{}", invoice["payment_id"].as_str().unwrap());
        let asked = anybody.with_header("x-payment", "e30=").get(&path).await;
        assert_eq!((asked.status, &asked.json()["error"]), (402, &json!("invalid_payload")));
    })
    .await;
}

/// What was paid before stays paid; nothing more is taken.
#[tokio::test(flavor = "multi_thread")]
async fn the_invoices_of_a_suspended_merchant_ask_for_nothing_and_take_nothing() {
    with_scene(|scene| async move {
        let ((path, accepts), (paid, of_paid)) = (asked(&scene).await, asked(&scene).await);
        let payer = scene.payer(7, 3 * units(&accepts)).await;
        let before = program(&scene, &payer, &of_paid, 1).await;
        assert_eq!(scene.while_mining(before.get(&paid)).await.status, 200);
        let client = program(&scene, &payer, &accepts, 2).await;
        scene.stack.gateway.set_suspended(scene.merchant.new.id, true).await.unwrap();
        scene.stack.anybody().get(&path).await.expect_error(400, "X402_UNSUPPORTED");
        client.get(&path).await.expect_error(400, "X402_UNSUPPORTED");
        assert_eq!(scene.number("select count(*) from x402_settlement").await, 1);
        assert_eq!(scene.while_mining(before.get(&paid)).await.status, 200);
        scene.stack.gateway.set_suspended(scene.merchant.new.id, false).await.unwrap();
        assert_eq!(scene.while_mining(client.get(&path)).await.status, 200);
    })
    .await;
}
