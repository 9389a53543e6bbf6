//! `GET /v1/invoices/:id/status`: for any holder of the id, and without data that does not concern
//! the buyer.

use gateway::{
    app::sandbox::simulate::{Deposit, PaidIn, Payee},
    asset::Network,
};
use gateway_workers::Role;
use serde_json::{Value, json};
use support::{
    server::{
        broker::eventually,
        stack::{only, with_configured_stack, with_stack},
    },
    shop::{unconfirmed, with_shop},
};

use super::{
    order,
    shape::{ACCEPTED_CURRENCY, BUYER_STATUS, Kind, expect_fields, expect_instant, expect_plain},
};

const AMOUNTS: [&str; 5] =
    ["amount_due", "amount_received", "amount_remaining", "amount_unconfirmed", "price_amount"];

#[track_caller]
fn expect_buyer_status(status: &Value) {
    let mut fields = BUYER_STATUS.to_vec();
    if status["is_draft"] == true {
        fields.push(("accepted_currencies", Kind::List));
    }
    expect_fields(status, &fields);
    for name in ["created_at", "expires_at", "updated_at"] {
        expect_instant(status[name].as_str().unwrap());
    }
    for name in AMOUNTS.into_iter().filter(|name| !status[*name].is_null()) {
        expect_plain(status[name].as_str().unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn amounts_are_text_and_nothing_of_the_merchant_is_shown() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.lift_rate_limits().await;
        stack.start(&[Role::ChainWatcher, Role::DepositMatching]);
        let merchant = stack.merchant().await;
        let body = order(&json!({
            "order_id": "ORDER-CANARY", "order_description": "two cups",
            "ipn_callback_url": "https://shop.example/CALLBACK-CANARY",
            "success_url": "https://shop.example/ok", "cancel_url": "https://shop.example/no",
        }));
        let payment = merchant.client.post("/v1/payment", &body).await.json();
        let id = payment["payment_id"].as_str().unwrap();
        let path = format!("/v1/invoices/{id}/status");
        let answer = stack.anybody().get(&path).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let status = answer.json();
        expect_buyer_status(&status);
        for (field, expected) in [
            ("payment_id", json!(id)),
            ("status", json!("pending")),
            ("is_draft", json!(false)),
            ("pay_currency", json!("usdtmatic")),
            ("symbol", json!("USDT")),
            ("network", json!("polygon")),
            ("pay_address", payment["pay_address"].clone()),
            ("amount_due", json!("25")),
            ("amount_received", json!("0")),
            ("amount_remaining", json!("25")),
            ("amount_unconfirmed", json!("0")),
            ("price_amount", json!("25")),
            ("order_description", json!("two cups")),
            ("cancellable", json!(true)),
            ("redirect_url", json!(null)),
            ("tx_hashes", json!([])),
        ] {
            assert_eq!(status[field], expected, "{field}");
        }
        assert!((1..=1800).contains(&status["seconds_left"].as_i64().unwrap()));
        let secrets = [merchant.new.api_key.reveal(), merchant.new.webhook_secret.reveal()];
        let merchant_id = merchant.new.id.to_string();
        for forbidden in ["CANARY", "Test shop", merchant_id.as_str(), secrets[0], secrets[1]] {
            assert!(!answer.body.contains(forbidden), "{}", answer.body);
        }
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        assert_eq!(answer.header("access-control-allow-credentials"), None);
        assert_eq!(stack.buyer().get(&path).await.json()["payment_id"], id);

        let deposit = Deposit {
            payee: Payee::Invoice(id.to_owned()),
            paid_in: PaidIn::default(),
            amount: "40.000001".into(),
            txid: None,
            unconfirmed: false,
        };
        stack.gateway.simulate_deposit(&deposit).await.unwrap();
        let status = eventually("the buyer's page says overpaid", async || {
            let status = stack.anybody().get(&path).await.json();
            (status["status"] == "overpaid").then_some(status)
        })
        .await;
        expect_buyer_status(&status);
        assert_eq!(status["amount_received"], "40.000001");
        assert_eq!(status["amount_remaining"], "0");
        assert_eq!(status["redirect_url"], "https://shop.example/ok");
        assert_eq!(status["seconds_left"], 0);
        assert_eq!(status["cancellable"], false);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_pending_and_says_what_may_be_picked() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await.client;
        let body = order(&json!({"pay_currency": "all", "cancel_url": "https://shop.example/no"}));
        let payment = merchant.post("/v1/payment", &body).await.json();
        let id = payment["payment_id"].as_str().unwrap();
        let path = format!("/v1/invoices/{id}/status");
        let status = stack.anybody().get(&path).await.json();
        expect_buyer_status(&status);
        assert_eq!((&status["status"], &status["is_draft"]), (&json!("pending"), &json!(true)));
        for field in ["pay_currency", "pay_address", "amount_due", "amount_received", "network"] {
            assert!(status[field].is_null(), "{field}");
        }
        for entry in status["accepted_currencies"].as_array().unwrap() {
            expect_fields(entry, ACCEPTED_CURRENCY);
        }
        stack.gateway.cancel_invoice(id).await.unwrap();
        let status = stack.anybody().get(&path).await.json();
        assert_eq!(status["status"], "cancelled");
        assert_eq!(status["redirect_url"], "https://shop.example/no");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_carry_the_envelope_and_the_legacy_slug() {
    with_stack(|stack| async move {
        let long = "x".repeat(300);
        let mut polls = 0;
        for (id, status, code, slug) in [
            ("pzi_00000000000000000000000000", 404, "PAYMENT_NOT_FOUND", "not_found"),
            ("pzi_0000000000000000000000000", 400, "INVALID_REQUEST", "invalid_invoice_id"),
            ("PZI_00000000000000000000000000", 400, "INVALID_REQUEST", "invalid_invoice_id"),
            ("", 400, "INVALID_REQUEST", "invalid_invoice_id"),
            ("order-1", 400, "INVALID_REQUEST", "invalid_invoice_id"),
            ("%00", 400, "INVALID_REQUEST", "invalid_invoice_id"),
            ("%FF", 400, "INVALID_REQUEST", "invalid_invoice_id"),
            ("a%2Fb", 400, "INVALID_REQUEST", "invalid_invoice_id"),
            (&long, 400, "INVALID_REQUEST", "invalid_invoice_id"),
        ] {
            let answer = stack.anybody().get(&format!("/v1/invoices/{id}/status")).await;
            polls += 1;
            answer.expect_error(status, code);
            let json = answer.json();
            assert_eq!(
                (json.as_object().unwrap().len(), &json["error"]),
                (4, &json!(slug)),
                "{id}"
            );
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
        let path = "/v1/invoices/pzi_00000000000000000000000000/status";
        for _ in polls..60 {
            assert_eq!(stack.anybody().get(path).await.status, 404);
        }
        let answer = stack.anybody().get(path).await;
        answer.expect_error(429, "RATE_LIMIT_EXCEEDED");
        assert_eq!(answer.json()["error"], "rate_limited");
        assert_eq!(answer.header("retry-after"), Some("60"));
    })
    .await;
}

fn waits(id: &str, since: &str, seconds: u32) -> String {
    format!("/v1/invoices/{id}/status?since={since}&wait={seconds}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_waits_for_a_change_in_few_places_and_a_stop_answers_it() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let merchant = stack.merchant().await.client;
        let body = order(&json!({ "pay_currency": "all" }));
        let payment = merchant.post("/v1/payment", &body).await.json();
        let id = payment["payment_id"].as_str().unwrap().to_owned();
        let plain = stack.buyer().get(&format!("/v1/invoices/{id}/status")).await;
        let mark = plain.header("etag").unwrap().trim_matches('"').to_owned();
        assert_eq!(stack.anybody().get(&waits(&id, &mark, 20)).await.header("etag"), None);

        let ask = || {
            let (buyer, path) = (stack.buyer(), waits(&id, &mark, 20));
            tokio::spawn(async move { buyer.get(&path).await })
        };
        let waiting = async |pages: usize| {
            eventually(&format!("{pages} pages wait"), async || {
                (stack.gateway.followers() == pages).then_some(())
            })
            .await;
        };
        let held: Vec<_> = (0..8).map(|_| ask()).collect();
        waiting(8).await;
        // One more is answered at once, like those that have not seen the newest state.
        assert_eq!(ask().await.unwrap().json()["status"], "pending");
        assert_eq!(stack.gateway.followers(), 8);
        for odd in ["x", "00", "\u{e4}", "0123456789abcdef0"] {
            assert_eq!(stack.buyer().get(&waits(&id, odd, 20)).await.status, 200, "{odd}");
        }
        let missing = waits("pzi_00000000000000000000000000", &mark, 20);
        assert_eq!(stack.buyer().get(&missing).await.status, 404);
        // A page that needs no view unless something changed gets none.
        let tag = format!("\"{mark}\"");
        let bare = stack.buyer().with_header("if-none-match", &tag);
        let unchanged = bare.get(&waits(&id, &mark, 0)).await;
        assert_eq!((unchanged.status, unchanged.body.as_str()), (304, ""));
        assert_eq!(unchanged.header("etag"), Some(tag.as_str()));
        assert_eq!(bare.get(&waits(&id, "00", 0)).await.status, 200, "another state than it saw");
        stack.gateway.cancel_invoice(&id).await.unwrap();
        assert_eq!(bare.get(&waits(&id, &mark, 0)).await.json()["status"], "cancelled");
        for page in held {
            let answer = page.await.unwrap();
            assert_eq!(answer.json()["status"], "cancelled");
            assert_ne!(answer.header("etag").unwrap().trim_matches('"'), mark);
        }
        waiting(0).await;

        // A page that is closed frees its place; a stop answers the others.
        let ended = stack.buyer().get(&format!("/v1/invoices/{id}/status")).await;
        let mark = ended.header("etag").unwrap().trim_matches('"').to_owned();
        let ask = || {
            let (buyer, path) = (stack.buyer(), waits(&id, &mark, 20));
            tokio::spawn(async move { buyer.get(&path).await })
        };
        let (closed, open) = (ask(), ask());
        waiting(2).await;
        closed.abort();
        waiting(1).await;
        stack.gateway.close_following();
        assert_eq!(open.await.unwrap().status, 200);
        assert_eq!(ask().await.unwrap().status, 200);
        waiting(0).await;
    })
    .await;
}

/// The rest as a number and the rest in the link for a wallet are one amount, in every phase of a
/// payment in parts.
#[tokio::test(flavor = "multi_thread")]
async fn the_rest_to_send_is_one_amount_also_while_a_part_is_unconfirmed() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let id = shop.invoice().await;
        let path = format!("/v1/invoices/{id}/status");
        let rest_becomes = async |rest: &str| {
            eventually(&format!("{rest} is to be sent"), async || {
                let status = shop.stack.anybody().get(&path).await.json();
                (status["amount_remaining"] == rest).then_some(status)
            })
            .await
        };
        let asks_for = |status: &Value| {
            let uri = status["payment_uri"].as_str().unwrap().to_owned();
            uri.rsplit_once("uint256=").unwrap().1.to_owned()
        };
        assert_eq!(asks_for(&rest_becomes("100").await), "100000000");
        shop.pay(&id, "40").await;
        assert_eq!(asks_for(&rest_becomes("60").await), "60000000");
        shop.send(&unconfirmed(&id, "10")).await;
        let status = rest_becomes("50").await;
        assert_eq!(asks_for(&status), "50000000");
        assert_eq!(
            (&status["amount_received"], &status["amount_unconfirmed"]),
            (&json!("40"), &json!("10"))
        );
        shop.send(&unconfirmed(&id, "50")).await;
        let status = rest_becomes("0").await;
        assert!(status["payment_uri"].is_null(), "{status}");
    })
    .await;
}
