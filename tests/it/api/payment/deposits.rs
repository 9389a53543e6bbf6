//! `GET /v1/payment/:id/deposits`: everything that reached an invoice, and nothing of others.

use gateway::{
    app::sandbox::simulate::{Deposit, PaidIn},
    invoice::Status,
};
use serde_json::{Value, json};
use support::{
    server::broker::eventually,
    shop::{Shop, deposit, unconfirmed, with_shop},
};

use crate::api::shape::{DEPOSIT, expect_fields, expect_instant};

async fn deposits(shop: &Shop, path: &str) -> Value {
    let answer = shop.merchant.client.get(&format!("/v1/payment/{path}")).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.json()
}

/// Waits until the deposits of an invoice have these states and bookings.
async fn become_all(shop: &Shop, id: &str, expected: &[(&str, Option<&str>)]) -> Vec<Value> {
    eventually("the deposits are as expected", async || {
        let data = deposits(shop, &format!("{id}/deposits?limit=100")).await["data"].clone();
        let data = data.as_array().unwrap().clone();
        let told: Vec<_> = data
            .iter()
            .map(|one| (one["state"].as_str().unwrap(), one["booked_as"].as_str()))
            .collect();
        (told == expected).then_some(data)
    })
    .await
}

fn in_contract(id: &str, contract: &str, amount: &str) -> Deposit {
    let paid_in = PaidIn { currency: None, contract: Some(contract.to_owned()) };
    Deposit { paid_in, ..deposit(id, amount) }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_deposit_says_what_came_where_it_stands_and_what_it_was_worth() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let id = shop.invoice_of(json!({ "order_id": "A-1" })).await;
        assert_eq!(
            deposits(&shop, &format!("{id}/deposits")).await,
            json!({ "data": [], "limit": 10, "has_more": false })
        );
        let foreign = Deposit {
            paid_in: PaidIn { currency: Some("usdcmatic".into()), contract: None },
            ..deposit(&id, "3.5")
        };
        shop.send(&foreign).await;
        shop.send(&in_contract(&id, "0x00000000000000000000000000000000000000aa", "5")).await;
        become_all(&shop, &id, &[("settled", Some("foreign")), ("settled", Some("suspicious"))])
            .await;
        let paid = shop.pay(&id, "100").await;
        shop.becomes(&id, Status::Paid).await;
        shop.pay(&id, "7").await;
        let waiting = shop.send(&unconfirmed(&id, "1")).await;
        let data = become_all(
            &shop,
            &id,
            &[
                ("settled", Some("credit")),
                ("settled", Some("late")),
                ("seen", None),
                ("settled", Some("foreign")),
                ("settled", Some("suspicious")),
            ],
        )
        .await;
        let required =
            shop.stack.gateway.config.chain(gateway::asset::Network::Polygon).confirmations;
        for one in &data {
            expect_fields(one, DEPOSIT);
            expect_instant(one["first_seen_at"].as_str().unwrap());
            assert_eq!(one["network"], "polygon");
            assert_eq!(one["required_confirmations"], required);
            // The simulated chain is in no explorer.
            assert_eq!(one["explorer_url"], Value::Null);
            let is_final = one["state"] != "seen";
            assert_eq!(one["final_at"].is_string(), is_final, "{one}");
            assert_eq!(one["confirmations"].as_u64().unwrap() >= required, is_final, "{one}");
        }
        let of = |index: usize, name: &str| data[index][name].clone();
        assert_eq!((of(0, "tx_hash"), of(0, "amount")), (json!(paid.txid), json!("100")));
        assert_eq!((of(0, "currency"), of(0, "amount_unit")), (json!("usdtmatic"), json!("coins")));
        assert_eq!((of(0, "fiat_value"), of(0, "fiat_currency")), (json!("100"), json!("usd")));
        assert_eq!((of(2, "tx_hash"), of(2, "confirmations")), (json!(waiting.txid), json!(0)));
        assert_eq!((of(2, "fiat_value"), of(2, "fiat_currency")), (Value::Null, Value::Null));
        assert_eq!((of(3, "currency"), of(3, "amount")), (json!("usdcmatic"), json!("3.5")));
        // Its decimals are unknown, so its amount is in base units.
        assert_eq!((of(4, "currency"), of(4, "amount")), (Value::Null, json!("5000000")));
        assert_eq!(of(4, "amount_unit"), "base_units");
        assert_eq!(of(4, "fiat_value"), Value::Null);
        assert_eq!(deposits(&shop, "A-1/deposits?limit=100").await["data"], json!(data));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dust_is_cut_off_by_the_limit_and_hides_no_payment() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let id = shop.invoice().await;
        for n in 0..12 {
            let dust = Deposit {
                paid_in: PaidIn { currency: Some("pol".into()), contract: None },
                ..unconfirmed(&id, &format!("0.0{n:02}1"))
            };
            shop.send(&dust).await;
        }
        shop.look(gateway::asset::Network::Polygon).await;
        let paid = shop.send(&unconfirmed(&id, "100")).await;
        shop.look(gateway::asset::Network::Polygon).await;
        for (query, limit, listed, has_more) in [
            ("", 10, 10, true),
            ("?limit=1", 1, 1, true),
            ("?limit=0", 1, 1, true),
            ("?limit=12", 12, 12, true),
            ("?limit=13", 13, 13, false),
            ("?limit=1000", 100, 13, false),
        ] {
            let page = deposits(&shop, &format!("{id}/deposits{query}")).await;
            let data = page["data"].as_array().unwrap();
            assert_eq!(data[0]["tx_hash"], paid.txid.as_str(), "{query}");
            assert_eq!((data.len(), &page["limit"]), (listed, &json!(limit)), "{query}");
            assert_eq!(page["has_more"], has_more, "{query}");
        }
        let refused = shop.merchant.client.get(&format!("/v1/payment/{id}/deposits?limit=x")).await;
        refused.expect_error(400, "INVALID_REQUEST");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deposits_of_another_merchant_are_those_of_no_payment() {
    with_shop(|shop| async move {
        let id = shop.invoice_of(json!({ "order_id": "secret" })).await;
        shop.pay(&id, "100").await;
        shop.look(gateway::asset::Network::Polygon).await;
        let rival = shop.stack.merchant().await.client;
        for reference in [id.as_str(), "secret", "pzi_00000000000000000000000000", "%00", "%FF"] {
            let answer = rival.get(&format!("/v1/payment/{reference}/deposits")).await;
            answer.expect_error(404, "PAYMENT_NOT_FOUND");
        }
        assert_eq!(
            deposits(&shop, &format!("{id}/deposits")).await["data"].as_array().unwrap().len(),
            1
        );
    })
    .await;
}
