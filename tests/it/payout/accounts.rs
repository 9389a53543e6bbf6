//! Payouts and gas have accounts of their own: what pays out spends nothing that an invoice
//! receives.

use gateway::asset::{
    Family, Network,
    address::{Account, AccountKey, Realm, sandbox},
};
use serde_json::json;
use support::{
    client::ctl::Ctl,
    server::stack::{only, with_configured_stack},
    shop::payouts::Payer,
};

use super::{EVM, two_rows};

fn account(account: Account) -> AccountKey {
    let text = match account {
        Account::Invoices => sandbox::account_key(Realm::Main, Family::Evm),
        Account::Payouts | Account::Gas | Account::X402 | Account::Sweeps => {
            sandbox::spending_key(account, Realm::Main, Family::Evm)
        }
    };
    AccountKey::parse(Family::Evm, text.unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_has_an_address_of_an_account_that_no_invoice_has() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let payer = Payer::open(&stack).await;
        let mut indices = Vec::new();
        for _ in 0..2 {
            let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
            payer.confirm(EVM, &id).await;
            let place = payer.story(&id).await.order.deposit.unwrap();
            let index = u32::try_from(place.derivation_index).unwrap();
            assert_eq!(place.address, account(Account::Payouts).address(index).unwrap());
            indices.push(index);
            let asked =
                json!({ "price_amount": 5, "price_currency": "usd", "pay_currency": "usdtmatic" });
            let invoice = payer.merchant.client.post("/v1/payment", &asked).await.json();
            let of_invoice = invoice["pay_address"].as_str().unwrap().to_owned();
            // One sequence for both: no index has an address in two accounts.
            let index = index + 1;
            assert_eq!(of_invoice, account(Account::Invoices).address(index).unwrap());
            indices.push(index);
        }
        let distinct: std::collections::HashSet<_> = indices.iter().collect();
        assert_eq!(distinct.len(), indices.len());
        let gas = stack.gateway.gas_address().unwrap();
        assert_eq!(gas, account(Account::Gas).address(0).unwrap());
    })
    .await;
}

#[tokio::test]
async fn the_accounts_of_a_seed_are_printed_where_the_seed_is() {
    let ctl = Ctl::over("postgres://nobody@127.0.0.1:1/nowhere");
    let ran = ctl.run_with_input(&["--json", "payouts", "accounts"], sandbox::seed()).await;
    let accounts = ran.expect_ok().json()["accounts"].clone();
    let key = |of| sandbox::spending_key(of, Realm::Main, Family::Evm).unwrap();
    assert_eq!(
        (&accounts["evm"], &accounts["gas"]),
        (&json!(key(Account::Payouts)), &json!(key(Account::Gas)))
    );
    assert_eq!(accounts.as_object().unwrap().len(), 5);
    let text = ctl.run_with_input(&["payouts", "accounts"], sandbox::seed()).await.expect_ok();
    assert!(text.stdout.starts_with("[payouts.accounts]\nbitcoin = \"xpub"), "{text:?}");
    let x402 = ["--json", "payouts", "accounts", "--x402"];
    let account = ctl.run_with_input(&x402, sandbox::seed()).await.expect_ok().json();
    assert_eq!(account, json!({ "account": key(Account::X402) }));
    let wrong = ctl.run_with_input(&["payouts", "accounts"], "word word word").await;
    wrong.expect_wrong_usage("a seed is 64 bytes in hex");
}
