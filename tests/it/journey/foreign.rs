//! Tokens other than the requested one (spec, "Informational deliveries").

use gateway::{
    app::sandbox::simulate::{Deposit, PaidIn, Payee},
    asset::Network,
    invoice::Status,
};
use serde_json::{Value, json};
use support::{
    server::broker::eventually,
    shop::{Shop, deposit, with_shop},
};

const UNKNOWN_CONTRACT: &str = "0x00000000000000000000000000000000000000aa";

fn in_currency(id: &str, code: &str, amount: &str) -> Deposit {
    let paid_in = PaidIn { currency: Some(code.to_owned()), contract: None };
    Deposit { paid_in, ..deposit(id, amount) }
}

fn in_contract(id: &str, contract: &str, amount: &str) -> Deposit {
    let paid_in = PaidIn { currency: None, contract: Some(contract.to_owned()) };
    Deposit { paid_in, ..deposit(id, amount) }
}

async fn notice(shop: &Shop, id: &str, count: usize) -> Value {
    let ipn = shop.webhook_about(id, count).await;
    assert_eq!(ipn["payment_status"], "waiting");
    assert_eq!(ipn["actually_paid"], json!(0));
    ipn["_gateway"]["notice"].clone()
}

/// Waits until every deposit of the stack is settled.
async fn all_settled(shop: &Shop, count: i64) {
    eventually("all deposits are settled", async || {
        let settled = "select count(*) from deposit where state = 'settled'";
        (shop.number(settled).await == count).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalogue_token_other_than_the_invoice_s_is_reported_once_per_contract() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let id = shop.invoice().await;
        let sent = shop.send(&in_currency(&id, "usdcmatic", "100")).await;
        let told = notice(&shop, &id, 1).await;
        assert_eq!(told["type"], "wrong_token_received");
        assert_eq!(told["tx_hash"], sent.txid.as_str());
        assert_eq!((&told["currency"], &told["amount"]), (&json!("usdcmatic"), &json!("100")));
        shop.send(&in_currency(&id, "usdcmatic", "50")).await;
        shop.send(&in_currency(&id, "pol", "3")).await;
        let told = notice(&shop, &id, 2).await;
        assert_eq!((&told["currency"], &told["contract_address"]), (&json!("pol"), &Value::Null));
        all_settled(&shop, 3).await;
        assert_eq!(shop.events(&id).await, ["wrong_token_received"; 2]);
        assert_eq!(shop.status(&id).await, Status::Pending);
        let books = shop.books(&id).await;
        assert!(books.iter().all(|entry| entry.kind == "foreign_deposit"), "{books:?}");
        assert_eq!(books.len(), 3);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_contracts_and_impossible_amounts_are_suspicious_and_worth_nothing() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let id = shop.invoice().await;
        shop.send(&in_contract(&id, UNKNOWN_CONTRACT, "5")).await;
        let told = notice(&shop, &id, 1).await;
        assert_eq!(told["type"], "suspicious_token_received");
        assert_eq!(told["contract_address"], UNKNOWN_CONTRACT);
        // Its decimals are unknown, so the amount is in base units, and says so.
        assert_eq!((&told["currency"], &told["amount"]), (&Value::Null, &json!("5000000")));
        assert_eq!(told["amount_unit"], "base_units");
        // The invoice's own token, but more of it than 128 bits can say.
        let beyond = "9".repeat(40);
        shop.pay(&id, &beyond).await;
        let told = notice(&shop, &id, 2).await;
        assert_eq!(told["type"], "suspicious_token_received");
        assert_eq!((&told["amount"], &told["amount_unit"]), (&json!(beyond), &json!("coins")));
        assert_eq!(shop.status(&id).await, Status::Pending);
        assert!(shop.books(&id).await.is_empty());
        // The real payment still counts.
        shop.pay(&id, "100").await;
        shop.becomes(&id, Status::Paid).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_notices_about_foreign_tokens_are_enough_for_one_invoice() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let id = shop.invoice().await;
        for n in 0..8 {
            shop.send(&in_contract(&id, &format!("0x{n:040x}"), "1")).await;
        }
        all_settled(&shop, 8).await;
        assert_eq!(shop.events(&id).await, ["suspicious_token_received"; 5]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn zero_amounts_are_ignored() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        shop.pay(&id, "0").await;
        shop.send(&in_currency(&id, "usdcmatic", "0")).await;
        shop.send(&in_contract(&id, UNKNOWN_CONTRACT, "0")).await;
        shop.pay(&id, "1").await;
        shop.look(Network::Polygon).await;
        assert_eq!(shop.number("select count(*) from deposit").await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_address_on_another_evm_network_is_watched_and_a_wrong_token() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let id = shop.invoice().await;
        let address = shop.payment(&id).await["pay_address"].as_str().unwrap().to_owned();
        let on_bsc = |code: Option<&str>, amount: &str| Deposit {
            payee: Payee::Address { network: Network::Bsc, address: address.clone() },
            paid_in: PaidIn { currency: code.map(ToOwned::to_owned), contract: None },
            ..deposit(&id, amount)
        };
        shop.send(&on_bsc(Some("usdtbsc"), "100")).await;
        let told = notice(&shop, &id, 1).await;
        assert_eq!(told["type"], "wrong_token_received");
        assert_eq!((&told["network"], &told["currency"]), (&json!("bsc"), &json!("usdtbsc")));
        // Native coins have no contract, and are still two different ones.
        shop.send(&in_currency(&id, "pol", "1")).await;
        notice(&shop, &id, 2).await;
        shop.send(&on_bsc(None, "1")).await;
        assert_eq!(notice(&shop, &id, 3).await["currency"], "bnb");
        assert_eq!(shop.status(&id).await, Status::Pending);
        let custody: Vec<_> = shop.books(&id).await.into_iter().map(|e| e.debit).collect();
        assert_eq!(custody, ["custody:bsc", "custody:polygon", "custody:bsc"]);
    })
    .await;
}
