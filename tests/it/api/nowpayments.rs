//! Endpoints in NOWPayments' shapes, and paths with a slash behind them.

use gateway::{asset::Catalogue, merchant::settings::Settings};
use gateway_api::{Endpoint, endpoints};
use http::Method;
use serde_json::{Value, json};
use support::server::stack::with_stack;

fn tickers(coins: &Value) -> Vec<String> {
    let all = coins["selectedCurrencies"].as_array().unwrap().iter();
    all.map(|code| code.as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_currency_has_one_ticker_that_names_it_without_a_network() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let listed = stack.anybody().get("/v1/currencies").await.json();
        let listed = listed["currencies_detailed"].as_array().unwrap().clone();
        let full = shop.get("/v1/full-currencies").await;
        assert_eq!(full.status, 200, "{}", full.body);
        let full = full.json()["currencies"].as_array().unwrap().clone();
        assert_eq!(full.len(), listed.len());
        for (index, (entry, ours)) in full.iter().zip(&listed).enumerate() {
            let code = entry["code"].as_str().unwrap();
            let named = Catalogue::get().resolve(code, None).unwrap();
            assert_eq!(named.code, ours["code"].as_str().unwrap(), "{entry}");
            assert_eq!(named.network.name(), ours["chain"].as_str().unwrap(), "{entry}");
            assert_eq!((&entry["name"], &entry["network"]), (&ours["name"], &ours["chain"]));
            assert_eq!(entry["smart_contract"], ours["contract_address"]);
            assert_eq!(entry["network_precision"], ours["decimals"]);
            assert_eq!((&entry["id"], &entry["enable"]), (&json!(index + 1), &json!(true)));
            assert!(entry["explorer_link_hash"].as_str().unwrap().ends_with('/'), "{entry}");
        }
        let mut codes: Vec<_> = full.iter().map(|entry| entry["code"].to_string()).collect();
        assert_eq!(tickers(&shop.get("/v1/merchant/coins").await.json()).len(), codes.len());
        codes.sort();
        codes.dedup();
        assert_eq!(codes.len(), full.len(), "two currencies have one ticker");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_coins_of_a_merchant_are_its_allowlist_as_far_as_it_is_on_offer() {
    with_stack(|stack| async move {
        let accepted = ["eth@base", "usdtmatic@polygon", "usdtnear@near"];
        let accepted = Some(accepted.map(ToOwned::to_owned).to_vec());
        let settings = Settings { accepted, ..Settings::default() };
        let shop = stack.merchant_with(settings).await.client;
        let coins = tickers(&shop.get("/v1/merchant/coins").await.json());
        assert_eq!(coins, ["ETHBASE", "USDTMATIC"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_in_their_shape_is_a_draft_of_ours_and_is_made_once_per_key() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let body = json!({
            "price_amount": 25.50, "price_currency": "USD", "order_id": "A-1", "order_description": "Beans",
            "ipn_callback_url": "https://shop.example/ipn", "success_url": "https://shop.example/thanks",
            "cancel_url": "https://shop.example/back", "is_fixed_rate": true, "is_fee_paid_by_user": false,
        });
        let keyed = shop.clone().with_header("idempotency-key", "k");
        let created = keyed.post("/v1/invoice", &body).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let invoice = created.json();
        let payment = shop.get(&format!("/v1/payment/{}", invoice["id"].as_str().unwrap())).await.json();
        let expected = json!({
            "id": payment["payment_id"], "token_id": payment["payment_id"], "order_id": "A-1",
            "order_description": "Beans", "price_amount": "25.5", "price_currency": "usd", "pay_currency": null,
            "ipn_callback_url": "https://shop.example/ipn", "invoice_url": payment["invoice_url"],
            "success_url": "https://shop.example/thanks", "cancel_url": "https://shop.example/back",
            "created_at": payment["created_at"], "updated_at": payment["updated_at"],
        });
        assert_eq!(invoice, expected);
        assert!(payment["accepted_currencies"].is_array(), "{payment}");
        let again = keyed.post("/v1/invoice", &body).await;
        assert_eq!((again.status, again.json()), (201, expected));
        assert_eq!(again.header("x-gateway-idempotent-replay"), Some("true"));

        let named = json!({ "price_amount": 25, "price_currency": "usd", "pay_currency": "USDTMATIC" });
        let named = shop.post("/v1/invoice", &named).await.json();
        assert_eq!(named["pay_currency"], "usdtmatic");
        for body in [json!({}), json!({ "price_amount": "25", "price_currency": "usd" })] {
            shop.post("/v1/invoice", &body).await.expect_error(400, "INVALID_REQUEST");
        }
        let unknown = json!({ "price_amount": 25, "price_currency": "usd", "pay_currency": "moon" });
        shop.post("/v1/invoice", &unknown).await.expect_error(400, "CURRENCY_NOT_SUPPORTED");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slash_behind_a_path_changes_nothing() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        let order = json!({ "price_amount": 25, "price_currency": "usd", "pay_currency": "usdtmatic", "order_id": "A-1" });
        assert_eq!(shop.post("/v1/payment/", &order).await.status, 201);
        for endpoint in endpoints().iter().filter(|endpoint| endpoint.method == Method::GET) {
            let path = endpoint.path.replace("{id}", "A-1").replace("{export}", "fees");
            let plain = shop.get(&path).await;
            let slashed = shop.get(&format!("{path}/")).await;
            assert_eq!(slashed.status, plain.status, "{path}/: {}", slashed.body);
            let text = "access-control-allow-origin";
            assert_eq!(slashed.header(text), plain.header(text), "{path}/");
            // An empty id names nothing, also where only other methods take one.
            let mut with_an_id = endpoints().into_iter().filter(|other| {
                other.path.strip_prefix(endpoint.path).is_some_and(|rest| rest.starts_with("/{"))
            });
            let (first, reads) = (with_an_id.next(), |other: &Endpoint| other.method == Method::GET);
            let is_read = first.as_ref().is_none_or(reads) || with_an_id.any(|other| reads(&other));
            let expected = if is_read { 404 } else { 405 };
            assert_eq!(shop.get(&format!("{path}//")).await.status, expected, "{path}//");
        }
        let query = "/v1/estimate/?amount=25&currency_from=usd&currency_to=usdtmatic";
        assert_eq!(stack.anybody().get(query).await.status, 200);
        for path in ["/v1/mass-payout", "/v1/evm-mass-payout", "/v1/nc-payout"] {
            for path in [path.to_owned(), format!("{path}/")] {
                assert_eq!(shop.get(&path).await.status, 200, "{path}");
            }
        }
        assert_eq!(shop.send(Method::DELETE, "/v1/payment/", "").await.status, 405);
        shop.get("/").await.expect_error(404, "NOT_FOUND");
    })
    .await;
}
