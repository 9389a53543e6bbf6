//! `/v1/sandbox/…`: a merchant's own program pays and expires its own invoices, and nobody else's.

use gateway::{config::Profile, invoice::Status};
use serde_json::{Value, json};
use support::{
    client::Client,
    server::{broker::eventually, stack::Stack},
    shop::{
        Shop,
        payouts::{Payer, evm_address},
        with_shop,
    },
};

const DEPOSIT: &str = "/v1/sandbox/deposit";
const EXPIRE: &str = "/v1/sandbox/expire";

async fn pay(client: &Client, body: Value) -> Value {
    let answer = client.post(DEPOSIT, &body).await;
    assert_eq!(answer.status, 201, "{body}: {}", answer.body);
    answer.json()
}

async fn transfers(stack: &Stack) -> i64 {
    let mut connection = stack.database.connect().await;
    sqlx::query_scalar("select count(*) from sim_transfer")
        .fetch_one(&mut connection)
        .await
        .unwrap()
}

async fn detected(shop: &Shop, id: &str, unconfirmed: &str) {
    eventually("the payment is seen", async || {
        let status = shop.stack.buyer().get(&format!("/v1/invoices/{id}/status")).await.json();
        (status["amount_unconfirmed"] == unconfirmed).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_pays_its_invoice_in_parts_in_other_coins_and_unconfirmed_first() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let client = &shop.merchant.client;
        let id = shop.invoice().await;
        let part = pay(client, json!({ "payment_id": id, "amount": 25.5 })).await;
        assert_eq!((&part["network"], &part["new"]), (&json!("polygon"), &json!(true)));
        assert!(part["height"].is_u64() && part["head"].is_u64(), "{part}");
        shop.becomes(&id, Status::Partial).await;
        pay(client, json!({ "payment_id": id, "amount": "2", "currency": "pol" })).await;

        let rest =
            json!({ "payment_id": id, "amount": "74.5", "unconfirmed": true, "txid": "0xabc1" });
        let waiting = pay(client, rest).await;
        assert_eq!((&waiting["txid"], &waiting["height"]), (&json!("0xabc1"), &Value::Null));
        detected(&shop, &id, "74.5").await;
        assert_eq!(shop.status(&id).await, Status::Partial);
        // The same transaction once more: mined and confirmed, and no second payment.
        let mined =
            pay(client, json!({ "payment_id": id, "amount": "74.5", "txid": "0xabc1" })).await;
        assert_eq!((&mined["new"], mined["height"].is_u64()), (&json!(false), true), "{mined}");
        shop.becomes(&id, Status::Paid).await;
        let data = client.get(&format!("/v1/payment/{id}/deposits")).await.json()["data"].clone();
        let amounts: Vec<_> =
            data.as_array().unwrap().iter().map(|one| one["amount"].clone()).collect();
        assert_eq!(amounts, ["25.5", "74.5", "2"]);
        assert_eq!(transfers(&shop.stack).await, 3);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_paid_on_any_network_it_exists_on_and_a_payout_order_is_funded() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let client = &shop.merchant.client;
        let id = shop.invoice().await;
        let address = shop.payment(&id).await["pay_address"].as_str().unwrap().to_owned();
        // The same address on another EVM network, in any spelling.
        for (network, address) in [("BSC", address.clone()), ("bsc", address.to_lowercase())] {
            pay(client, json!({ "network": network, "address": address, "amount": 1 })).await;
        }
        eventually("both are booked as foreign", async || {
            let data = client.get(&format!("/v1/payment/{id}/deposits")).await.json()["data"].clone();
            let data = data.as_array().unwrap();
            (data.len() == 2 && data.iter().all(|one| one["booked_as"] == "foreign")).then_some(())
        })
        .await;

        let payer = Payer::open(&shop.stack).await;
        let rows = json!({
            "network": "polygon", "currency": "usdtmatic",
            "items": [{ "address": evm_address(1), "amount": "10" }],
        });
        let draft = payer.draft("/v1/evm-mass-payout", rows).await;
        let order_id = draft["id"].as_str().unwrap().to_owned();
        let order = payer.confirm("/v1/evm-mass-payout", &order_id).await;
        let funding = json!({
            "network": "polygon", "address": order["depositAddress"], "currency": "usdtmatic@polygon", "amount": "20",
        });
        // Another merchant's order is no address of his.
        client.post(DEPOSIT, &funding).await.expect_error(404, "PAYMENT_NOT_FOUND");
        pay(&payer.merchant.client, funding).await;
        payer.becomes(&order_id, "completed").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_invoice_expires_at_once_and_an_ended_one_stays_as_it_is() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let client = &shop.merchant.client;
        let expire = async |id: &str| {
            let answer = client.post(EXPIRE, &json!({ "payment_id": id })).await;
            assert_eq!(answer.status, 200, "{}", answer.body);
            answer.json()
        };
        for fields in [json!({}), json!({ "pay_currency": "all" })] {
            let id = shop.invoice_of(fields).await;
            let before = shop.payment(&id).await;
            let told = expire(&id).await;
            assert_eq!(told["payment_id"], id.as_str());
            let ends =
                |payment: &Value| payment["expiration_estimate_date"].as_str().unwrap().to_owned();
            assert!(ends(&told) < ends(&before), "{told}");
            shop.becomes(&id, Status::Expired).await;
            assert_eq!(shop.webhook_about(&id, 1).await["payment_status"], "expired");
        }
        let partial = shop.invoice().await;
        pay(client, json!({ "payment_id": partial, "amount": "1" })).await;
        shop.becomes(&partial, Status::Partial).await;
        expire(&partial).await;
        shop.becomes(&partial, Status::Expired).await;

        let paid = shop.invoice().await;
        pay(client, json!({ "payment_id": paid, "amount": "100" })).await;
        shop.becomes(&paid, Status::Paid).await;
        let before = shop.payment(&paid).await;
        assert_eq!(expire(&paid).await, before);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_touches_the_payments_of_another_merchant() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let id = shop.invoice_of(json!({ "order_id": "A-1" })).await;
        let payment = shop.payment(&id).await;
        let address = payment["pay_address"].as_str().unwrap();
        let rival = shop.stack.merchant().await.client;
        for body in [
            json!({ "payment_id": id, "amount": 1 }),
            json!({ "payment_id": "A-1", "amount": 1 }),
            json!({ "payment_id": "pzi_00000000000000000000000000", "amount": 1 }),
            json!({ "network": "polygon", "address": address, "amount": 1 }),
            json!({ "network": "near", "address": address.to_lowercase(), "amount": 1 }),
            json!({ "network": "polygon", "address": evm_address(77), "amount": 1 }),
        ] {
            rival.post(DEPOSIT, &body).await.expect_error(404, "PAYMENT_NOT_FOUND");
        }
        rival
            .post(EXPIRE, &json!({ "payment_id": id }))
            .await
            .expect_error(404, "PAYMENT_NOT_FOUND");
        assert_eq!(transfers(&shop.stack).await, 0);
        assert_eq!(shop.payment(&id).await, payment);

        // A transaction of the other merchant is neither confirmed nor changed by its id.
        let waiting =
            json!({ "payment_id": id, "amount": 5, "unconfirmed": true, "txid": "0xfeed" });
        pay(&shop.merchant.client, waiting).await;
        let created =
            json!({ "price_amount": 25, "price_currency": "usd", "pay_currency": "usdtmatic" });
        let created = rival.post("/v1/payment", &created).await.json();
        let same = json!({ "payment_id": created["payment_id"], "amount": 5, "txid": "0xfeed" });
        assert_eq!(pay(&rival, same).await["height"], Value::Null);
        assert_eq!(shop.number("select count(*) from sim_transfer where height is null").await, 1);
        assert_eq!(transfers(&shop.stack).await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unusable_requests_are_refused_and_write_nothing() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let client = &shop.merchant.client;
        let id = shop.invoice().await;
        let draft = shop.invoice_of(json!({ "pay_currency": "all" })).await;
        let with = |more: Value| {
            let mut body = json!({ "payment_id": id, "amount": 1 });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        for body in [
            json!({}),
            json!([]),
            json!({ "amount": 1 }),
            json!({ "payment_id": id }),
            json!({ "network": "polygon", "amount": 1 }),
            json!({ "network": "moon", "address": evm_address(1), "amount": 1 }),
            json!({ "network": "polygon", "address": "0x12", "amount": 1 }),
            json!({ "payment_id": draft, "amount": 1 }),
            with(json!({ "network": "polygon", "address": evm_address(1) })),
            with(json!({ "amount": 0 })),
            with(json!({ "amount": "0.0" })),
            with(json!({ "amount": -1 })),
            with(json!({ "amount": "one" })),
            with(json!({ "amount": "" })),
            with(json!({ "amount": true })),
            with(json!({ "amount": "9".repeat(61) })),
            with(json!({ "amount": "0.0000001" })),
            with(json!({ "currency": "moon" })),
            with(json!({ "currency": "btc" })),
            with(json!({ "unconfirmed": "yes" })),
            with(json!({ "txid": "xyz" })),
            with(json!({ "txid": "" })),
        ] {
            let answer = client.post(DEPOSIT, &body).await;
            assert_eq!(answer.status, 400, "{body}: {}", answer.body);
            answer.expect_error(400, "INVALID_REQUEST");
        }
        client.post(EXPIRE, &json!({})).await.expect_error(400, "INVALID_REQUEST");
        assert_eq!(transfers(&shop.stack).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn production_has_no_such_paths() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        let production = shop.stack.replica_of(|config| config.profile = Profile::Production).await;
        let stranger = Client::new(production);
        let merchant = stranger.clone().with_key(shop.merchant.new.api_key.reveal());
        for client in [&stranger, &merchant] {
            let paid = client.post(DEPOSIT, &json!({ "payment_id": id, "amount": 1 })).await;
            paid.expect_error(404, "NOT_FOUND");
            client.post(EXPIRE, &json!({ "payment_id": id })).await.expect_error(404, "NOT_FOUND");
        }
        assert_eq!(transfers(&shop.stack).await, 0);
        let closed = "select count(*) from invoice where deadline_at <= now()";
        assert_eq!(shop.number(closed).await, 0);
    })
    .await;
}
