//! `GET /v1/balance`: the five words, compared with the ledger.

use gateway::{
    app::sandbox::simulate::{Deposit, PaidIn},
    asset::{Catalogue, Network},
    invoice::Status,
};
use serde_json::{Value, json};
use support::{
    client::Client,
    server::broker::eventually,
    shop::{
        Shop, deposit,
        payouts::{Payer, evm_address},
        unconfirmed, with_shop,
    },
};

use super::shape::{BALANCE, expect_fields};

const WORDS: [&str; 5] = ["available", "pending", "late", "foreign", "in_payouts"];
const EVM: &str = "/v1/evm-mass-payout";

async fn balance(client: &Client, query: &str) -> Value {
    let answer = client.get(&format!("/v1/balance{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let json = answer.json();
    for entry in json["balances"].as_array().unwrap() {
        expect_fields(entry, BALANCE);
    }
    json
}

/// The entry of one currency as its five amounts.
fn amounts(balance: &Value, code: &str) -> [String; 5] {
    let all = balance["balances"].as_array().unwrap();
    let entry = all.iter().find(|entry| entry["currency"] == code).unwrap();
    WORDS.map(|word| entry[word].as_str().unwrap().to_owned())
}

/// The sum of everything in the ledger's accounts that begin with `account`, in whole coins.
async fn booked(shop: &Shop, account: &str, token_id: &str) -> String {
    let query = "select coalesce(sum(case when credit = $1 then amount else -amount end), 0)::text \
                 from ledger_entry where asset = $2 and $1 in (credit, debit)";
    let mut connection = shop.stack.database.connect().await;
    let units: String = sqlx::query_scalar(query)
        .bind(account)
        .bind(token_id)
        .fetch_one(&mut connection)
        .await
        .unwrap();
    let decimals = Catalogue::get().by_token_id(token_id).unwrap().decimals;
    gateway::money::digits_in_coins(&units, decimals.into()).unwrap()
}

fn in_currency(id: &str, code: &str, amount: &str) -> Deposit {
    let paid_in = PaidIn { currency: Some(code.to_owned()), contract: None };
    Deposit { paid_in, ..deposit(id, amount) }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_five_amounts_are_those_of_the_ledger() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let client = &shop.merchant.client;
        assert_eq!(balance(client, "").await, json!({ "balances": [], "fiat_currency": "usd" }));

        let paid = shop.invoice().await;
        shop.pay(&paid, "100.5").await;
        shop.becomes(&paid, Status::Paid).await;
        shop.pay(&paid, "7").await;
        // Twice the amount: what exceeds the tolerance is the treasury's.
        let over = shop.invoice().await;
        shop.pay(&over, "200").await;
        shop.becomes(&over, Status::Overpaid).await;
        let open = shop.invoice().await;
        shop.send(&in_currency(&open, "pol", "3")).await;
        shop.send(&unconfirmed(&open, "40")).await;
        shop.send(&Deposit { unconfirmed: true, ..in_currency(&open, "pol", "0.25") }).await;

        let found = eventually("everything is booked", async || {
            let found = balance(client, "").await;
            let late = amounts(&found, "usdtmatic")[2] == "7";
            let pol = found["balances"].as_array().unwrap().iter().any(|entry| {
                entry["currency"] == "pol" && entry["foreign"] == "3" && entry["pending"] == "0.25"
            });
            (late && pol && amounts(&found, "usdtmatic")[1] == "40").then_some(found)
        })
        .await;
        let available = booked(&shop, &shop.account("merchant"), "usdtmatic@polygon").await;
        assert_eq!(amounts(&found, "usdtmatic"), [available.as_str(), "40", "7", "0", "0"]);
        assert_eq!(available, "200.5", "100.5 and the price of the second; the excess is not his");
        assert_eq!(booked(&shop, &shop.account("late"), "usdtmatic@polygon").await, "7");
        assert_eq!(booked(&shop, &shop.account("foreign"), "pol@polygon").await, "3");
        assert_eq!(amounts(&found, "pol"), ["0", "0.25", "0", "3", "0"]);

        let rival = shop.stack.merchant().await.client;
        assert_eq!(balance(&rival, "").await["balances"], json!([]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_order_holds_what_the_ledger_says_until_it_is_paid() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let payer = Payer::open(&shop.stack).await;
        let client = &payer.merchant.client;
        let rows = json!({
            "network": "polygon", "currency": "usdtmatic",
            "items": [{ "address": evm_address(1), "amount": "10" }],
        });
        let draft = payer.draft(EVM, rows).await;
        let id = draft["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(EVM, &id).await;
        let total: u128 = order["totalToSendRaw"].as_str().unwrap().parse().unwrap();
        // More than asked for: the rest stays in the order until it is returned.
        payer.fund(&order, total + 5_000_000).await;
        shop.look(Network::Polygon).await;
        shop.stack.start(&[gateway_workers::Role::DepositMatching]);
        let held = eventually("the deposit is booked", async || {
            let found = balance(client, "").await;
            (!found["balances"].as_array().unwrap().is_empty())
                .then(|| amounts(&found, "usdtmatic"))
        })
        .await;
        let account = format!("payout:{}", order_row(&shop, &id).await);
        assert_eq!(held[4], booked(&shop, &account, "usdtmatic@polygon").await);
        assert_eq!(held[..4], ["0", "0", "0", "0"], "money for payouts is not the shop's");

        shop.stack.start_all();
        payer.becomes(&id, "completed").await;
        eventually("the order holds what the ledger says", async || {
            let found = balance(client, "").await;
            let all = found["balances"].as_array().unwrap();
            let held = all.iter().find(|entry| entry["currency"] == "usdtmatic");
            let held = held.map_or("0", |entry| entry["in_payouts"].as_str().unwrap()).to_owned();
            (held == booked(&shop, &account, "usdtmatic@polygon").await).then_some(())
        })
        .await;
    })
    .await;
}

async fn order_row(shop: &Shop, order_id: &str) -> uuid::Uuid {
    let mut connection = shop.stack.database.connect().await;
    let query = "select id from payout_order where order_id = $1";
    sqlx::query_scalar(query).bind(order_id).fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_estimate_needs_a_fresh_rate_and_a_known_currency() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let client = &shop.merchant.client;
        let id = shop.invoice().await;
        shop.pay(&id, "100").await;
        shop.becomes(&id, Status::Paid).await;
        shop.run("update rate set price = 0.8 where symbol = 'USDT' and fiat = 'eur'").await;
        shop.run("delete from rate where symbol = 'USDT' and fiat = 'gbp'").await;
        for (query, fiat, estimate) in [
            ("", "usd", json!("100")),
            ("?fiat=eur", "eur", json!("80")),
            ("?fiat=GBP", "gbp", Value::Null),
        ] {
            eventually("the market is read anew", async || {
                let found = balance(client, query).await;
                assert_eq!(found["fiat_currency"], fiat);
                (found["balances"][0]["fiat_estimate"] == estimate).then_some(())
            })
            .await;
        }
        shop.run("update rate set observed_at = now() - interval '301 seconds'").await;
        eventually("no rate is fresh", async || {
            let found = balance(client, "").await;
            (found["balances"][0]["fiat_estimate"] == Value::Null).then_some(())
        })
        .await;
        client.get("/v1/balance?fiat=jpy").await.expect_error(400, "INVALID_REQUEST");
    })
    .await;
}
