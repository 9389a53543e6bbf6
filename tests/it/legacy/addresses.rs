//! Addresses without an invoice: credits, IPNs, and deposits that are neither.

use std::collections::BTreeMap;

use gateway::{
    app::sandbox::simulate::{Deposit, PaidIn, Payee},
    asset::Network,
    merchant::settings::Settings,
};
use serde_json::{Value, json};
use support::{
    client::ctl::Ctl,
    server::{broker::eventually, stack::with_stack},
    shop::{
        Shop,
        receiver::{Received, Receiver},
        with_configured_shop, with_shop,
    },
};
use url::form_urlencoded;

use super::{Legacy, hmac};

pub(super) const NETWORK: Network = Network::Polygon;

pub(super) fn paid_to(address: &str, currency: &str, amount: &str) -> Deposit {
    Deposit {
        payee: Payee::Address { network: NETWORK, address: address.to_owned() },
        paid_in: PaidIn { currency: Some(currency.to_owned()), contract: None },
        amount: amount.to_owned(),
        txid: None,
        unconfirmed: false,
    }
}

pub(super) async fn callback(legacy: &Legacy, receiver: &Receiver) -> String {
    let fields =
        [("currency", "USDT.POL"), ("ipn_url", receiver.url.as_str()), ("label", "user 7 (Ada)")];
    let given = legacy.result("get_callback_address", &fields).await;
    given["address"].as_str().unwrap().to_owned()
}

fn told(shop: &Shop, received: &Received) -> BTreeMap<String, String> {
    let secret = shop.merchant.new.webhook_secret.reveal();
    assert_eq!(received.header("hmac"), hmac(secret, &received.body));
    form_urlencoded::parse(&received.body).into_owned().collect()
}

/// Books what is final, as the worker would.
pub(super) async fn settle(shop: &Shop) {
    let query = "select id from deposit where state = 'final'";
    let mut connection = shop.stack.database.connect().await;
    let found: Vec<uuid::Uuid> =
        sqlx::query_scalar(query).fetch_all(&mut connection).await.unwrap();
    assert!(!found.is_empty(), "no deposit is final");
    for id in found {
        shop.stack.gateway.match_deposits(id).await.unwrap();
    }
}

async fn balance(legacy: &Legacy) -> String {
    let balances = legacy.result("balances", &[]).await;
    balances["USDT.POL"]["balancef"].as_str().unwrap_or("none").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn deposits_at_a_callback_address_are_credited_and_told_one_by_one() {
    with_shop(|shop| async move {
        let roles = shop.stack.under_roles().await;
        roles.start_all();
        let legacy = Legacy::at(&shop.stack, &shop.merchant, roles.api).await;
        let address = callback(&legacy, &shop.receiver).await;
        assert_ne!(address, callback(&legacy, &shop.receiver).await, "each request has its own");
        shop.receiver.answer_first(&[500]);
        for amount in ["12.5", "3"] {
            shop.send(&paid_to(&address, "USDTMATIC", amount)).await;
        }
        let received = eventually("both are told", async || {
            let received = shop.receiver.received();
            (received.len() == 3).then_some(received)
        })
        .await;
        let mut amounts = Vec::new();
        for received in &received {
            let told = told(&shop, received);
            for (name, value) in [
                ("ipn_type", "deposit"),
                ("status", "100"),
                ("currency", "USDT.POL"),
                ("address", address.as_str()),
                ("label", "user 7 (Ada)"),
                ("fiat_coin", "USD"),
                ("fee", "0.00000000"),
            ] {
                assert_eq!(told[name], value, "{name}");
            }
            assert!(told["confirms"].parse::<u64>().unwrap() > 0);
            assert!(told["txn_id"].starts_with("0x"));
            amounts.push((told["amount"].clone(), told["amounti"].clone()));
        }
        amounts.sort();
        amounts.dedup();
        let expected = [("12.50000000", "1250000000"), ("3.00000000", "300000000")];
        let expected = expected.map(|(text, whole)| (text.to_owned(), whole.to_owned()));
        assert_eq!(amounts, expected);
        assert_eq!(balance(&legacy).await, "15.50000000");
        // The feed has them too, and /v1 the same balance.
        let feed = shop.merchant.client.get("/v1/events?type=deposit.credited").await.json();
        assert_eq!(feed["data"].as_array().unwrap().len(), 2, "{feed}");
        assert_eq!(feed["data"][0]["payload"]["label"], "user 7 (Ada)");
        assert_eq!(feed["data"][0]["delivery"]["channel"], "ipn");
    })
    .await;
}

/// Attack: a cheap token sent to the address of a dear one must not look like a payment.
#[tokio::test(flavor = "multi_thread")]
async fn other_currencies_are_kept_apart_and_never_told_as_a_payment() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let legacy = Legacy::of(&shop.stack, &shop.merchant).await;
        let address = callback(&legacy, &shop.receiver).await;
        shop.send(&paid_to(&address, "USDCMATIC", "1000")).await;
        let unknown = Some(format!("0x{:040x}", 0xbad));
        let paid_in = PaidIn { currency: Some("USDTMATIC".to_owned()), contract: unknown };
        shop.send(&Deposit { paid_in, ..paid_to(&address, "", "1000") }).await;
        shop.send(&paid_to(&address, "USDTMATIC", "5")).await;
        let received = shop.receiver.wait_for(1).await;
        assert_eq!(told(&shop, &received[0])["amount"], "5.00000000");
        let booked = "select count(*) from deposit where booked_as in ('foreign', 'suspicious')";
        eventually("the others are booked", async || {
            (shop.number(booked).await == 2).then_some(())
        })
        .await;
        assert_eq!(shop.number("select count(*) from delivery").await, 1);
        let mine = shop.merchant.client.get("/v1/balance").await.json();
        assert_eq!(balance(&legacy).await, "5.00000000", "{mine}");
        let foreign = "select count(*) from ledger_entry where kind = 'foreign_deposit'";
        assert_eq!(shop.number(foreign).await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merchant_has_one_deposit_address_for_a_currency_which_sends_no_ipns() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let legacy = Legacy::of(&shop.stack, &shop.merchant).await;
        let of = |code: &'static str| {
            let legacy = &legacy;
            async move {
                let given = legacy.result("get_deposit_address", &[("currency", code)]).await;
                given["address"].as_str().unwrap().to_owned()
            }
        };
        let (first, other) = (of("USDT.POL").await, of("USDC.POL").await);
        assert_eq!(of("USDT.POL").await, first);
        assert_ne!(first, other);
        let stranger = shop.stack.merchant().await;
        let stranger = Legacy::of(&shop.stack, &stranger).await;
        let theirs = stranger.result("get_deposit_address", &[("currency", "USDT.POL")]).await;
        assert_ne!(theirs["address"], first.as_str());
        shop.send(&paid_to(&first, "USDTMATIC", "7")).await;
        eventually("it is credited", async || {
            (balance(&legacy).await == "7.00000000").then_some(())
        })
        .await;
        assert_eq!(shop.number("select count(*) from delivery").await, 0);
        assert_eq!(shop.number("select count(*) from event").await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_for_an_address_that_cannot_be_given_are_refused() {
    with_stack(|stack| async move {
        let settings = Settings {
            accepted: Some(vec!["usdtmatic@polygon".to_owned()]),
            ..Settings::default()
        };
        let merchant = stack.merchant_with(settings).await;
        let legacy = Legacy::of(&stack, &merchant).await;
        for (cmd, fields, said) in [
            ("get_callback_address", vec![], "Invalid currency code for currency"),
            (
                "get_callback_address",
                vec![("currency", "QQQ")],
                "Invalid currency code for currency",
            ),
            (
                "get_deposit_address",
                vec![("currency", "USDT")],
                "Invalid currency code for currency",
            ),
            (
                "get_deposit_address",
                vec![("currency", "BTC")],
                "Receiver does not accept that coin!",
            ),
            (
                "get_callback_address",
                vec![("currency", "USDT.POL"), ("ipn_url", "ftp://shop.example/")],
                "Invalid value for ipn_url",
            ),
            (
                "get_callback_address",
                vec![("currency", "USDT.POL"), ("label", "a\0b")],
                "Invalid value for label",
            ),
        ] {
            legacy.refusal(cmd, &fields, said).await;
        }
        let mut connection = stack.database.connect().await;
        let given: i64 = sqlx::query_scalar("select count(*) from legacy_address")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(given, 0);
    })
    .await;
}

/// Attack: addresses of a pool are shared, so one merchant must not take all of them.
#[tokio::test(flavor = "multi_thread")]
async fn one_merchant_does_not_empty_a_pool() {
    with_shop_of_pools(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let legacy = Legacy::of(&shop.stack, &shop.merchant).await;
        // As many as it may have, but for one.
        shop.run(
            "with given as (
                 insert into deposit_address (id, family, address, match_key, derivation_index, network)
                 select gen_random_uuid(), 'solana', 'x' || n, 'x' || n, 900000 + n, 'solana'
                 from generate_series(1, 99) n
                 returning id
             )
             insert into legacy_address (address_id, merchant_id, token_id, purpose)
             select given.id, m.id, 'sol@solana', 'callback' from given, merchant m",
        )
        .await;
        legacy.result("get_callback_address", &[("currency", "SOL")]).await;
        let said = "Too many addresses, use those that were given!";
        legacy.refusal("get_callback_address", &[("currency", "SOL")], said).await;
        // Those of other networks are counted apart.
        legacy.result("get_callback_address", &[("currency", "USDT.POL")]).await;
    })
    .await;
}

async fn with_shop_of_pools<F: Future<Output = ()>>(test: impl FnOnce(Shop) -> F) {
    with_stack(|stack| async move { test(Shop::open(&stack, Settings::default()).await).await })
        .await;
}

/// Attack: a payer splits a large payment, to get the shorter wait of a small one.
#[tokio::test(flavor = "multi_thread")]
async fn large_deposits_wait_for_more_confirmations() {
    const RULE: &str =
        "chains.polygon.large_amount_usd = 50\nchains.polygon.large_confirmations = 20\n";
    with_configured_shop(RULE, Settings::default(), |shop| async move {
        let legacy = Legacy::of(&shop.stack, &shop.merchant).await;
        let (split, small) =
            (callback(&legacy, &shop.receiver).await, callback(&legacy, &shop.receiver).await);
        for (address, amount) in [(&split, "25"), (&split, "25"), (&small, "49")] {
            let deposit = paid_to(address, "USDTMATIC", amount);
            shop.send(&Deposit { unconfirmed: true, ..deposit }).await;
        }
        shop.look(NETWORK).await;
        let finalized = async |blocks| {
            shop.stack.gateway.simulate_mine(NETWORK, blocks).await.unwrap();
            shop.look(NETWORK).await.finalized
        };
        assert_eq!(finalized(16).await, 1, "the small one");
        assert_eq!(finalized(3).await, 0);
        assert_eq!(finalized(1).await, 2);
    })
    .await;
}

/// A reorganisation deeper than the confirmations takes the transaction away.
async fn leaves_the_chain(shop: &Shop) {
    shop.stack.gateway.simulate_orphan("0xbad").await.unwrap();
    shop.stack.gateway.simulate_mine(NETWORK, 20).await.unwrap();
    shop.look(NETWORK).await;
}

/// It is mined again, and an operator accepts it.
async fn comes_back(shop: &Shop, ctl: &Ctl, again: &Deposit) {
    shop.send(again).await;
    shop.stack.gateway.simulate_mine(NETWORK, 20).await.unwrap();
    shop.look(NETWORK).await;
    let accept = ["deposit", "accept", "0xbad", "--network", "polygon", "--yes", "--by", "ada"];
    let accepted = ctl.json(&[accept.as_slice(), &["--reason", "mined again"]].concat()).await;
    assert_eq!(accepted["accepted"], json!(1), "{accepted}");
    settle(shop).await;
}

async fn assert_books_hold(ctl: &Ctl) {
    let verified: Value = ctl.json(&["ledger", "verify"]).await;
    assert_eq!(verified["ok"], json!(true), "{verified}");
}

/// A reorganisation deeper than the confirmations: the books follow, and the shop is not told of
/// one payment twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_that_leaves_the_chain_and_comes_back_is_told_once() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        let legacy = Legacy::of(&shop.stack, &shop.merchant).await;
        let address = callback(&legacy, &shop.receiver).await;
        let bad =
            || Deposit { txid: Some("0xbad".to_owned()), ..paid_to(&address, "USDTMATIC", "7") };
        shop.send(&bad()).await;
        shop.look(NETWORK).await;
        settle(&shop).await;
        assert_eq!(balance(&legacy).await, "7.00000000");
        let story = ctl.json(&["deposit", "explain", "0xbad", "--network", "polygon"]).await;
        let transfer = &story["transfers"][0];
        assert_eq!(transfer["own_of"], shop.merchant.new.id.to_string(), "{story}");
        assert_eq!(transfer["events"].as_array().map(Vec::len), Some(1), "{story}");
        leaves_the_chain(&shop).await;
        assert_eq!(balance(&legacy).await, "none");
        let alert = "select count(*) from operator_alert where kind = 'deposit_reversed'";
        assert_eq!(shop.number(alert).await, 1);
        let checked = "select count(*) from ledger_entry where kind = 'reversal'";
        assert_eq!(shop.number(checked).await, 1);

        comes_back(&shop, &ctl, &bad()).await;
        assert_eq!(balance(&legacy).await, "7.00000000");
        assert_eq!(shop.number("select count(*) from delivery").await, 1);
        assert_books_hold(&ctl).await;
    })
    .await;
}

/// The books follow a reorganisation for what is kept apart as they do for what is credited.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_deposit_that_leaves_the_chain_leaves_the_books_and_comes_back_untold() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        let legacy = Legacy::of(&shop.stack, &shop.merchant).await;
        let address = callback(&legacy, &shop.receiver).await;
        let bad =
            || Deposit { txid: Some("0xbad".to_owned()), ..paid_to(&address, "USDCMATIC", "7") };
        shop.send(&bad()).await;
        shop.look(NETWORK).await;
        settle(&shop).await;
        let foreign =
            "select coalesce(sum(case when credit like 'foreign:%' then amount else -amount end), 0)::bigint
             from ledger_entry
             where asset = 'usdcmatic@polygon' and (credit like 'foreign:%' or debit like 'foreign:%')";
        assert_eq!(shop.number(foreign).await, 7_000_000);
        leaves_the_chain(&shop).await;
        assert_eq!(shop.number(foreign).await, 0);
        assert_books_hold(&ctl).await;

        comes_back(&shop, &ctl, &bad()).await;
        assert_eq!(shop.number(foreign).await, 7_000_000);
        assert_eq!(shop.number("select count(*) from event").await, 0);
        assert_books_hold(&ctl).await;
    })
    .await;
}
