//! Limits that are known when an order is created, and those of one merchant.

use gateway::asset::Network;
use gateway_workers::Role;
use serde_json::json;
use support::{
    client::{Answer, Client, ctl::Ctl},
    server::{
        broker::eventually,
        stack::{only, with_configured_stack},
    },
    shop::payouts::Payer,
};

use super::{EVM, LTC, LTC_REFUND, UTXO, two_rows};

async fn funded(payer: &Payer) -> String {
    let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
    let order = payer.confirm(EVM, &id).await;
    payer.fund(&order, order["totalToSendRaw"].as_str().unwrap().parse().unwrap()).await;
    id
}

fn kind(answer: &Answer) -> (u16, String) {
    (answer.status, answer.json()["error"]["kind"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_above_a_limit_is_refused_when_its_order_is_created() {
    for setting in ["transaction_usd_max", "merchant_day_usd_max"] {
        let toml = only(Network::Polygon) + &format!("payouts.{setting} = 5\n");
        with_configured_stack(&toml, |stack| async move {
            let client = stack.merchant().await.client;
            let refused = client.post(EVM, &two_rows()).await;
            assert_eq!(kind(&refused), (422, "limit_exceeded".to_owned()), "{}", refused.body);
            let error = refused.json()["error"].clone();
            let rows = error["details"].as_array().unwrap();
            assert_eq!(rows.len(), 1, "the row of 2.50 USD is within the limit: {error}");
            assert_eq!((&rows[0]["row"], &rows[0]["column"]), (&json!(1), &json!("amount")));
            assert!(rows[0]["reason"].as_str().unwrap().contains("5 USD"), "{error}");
            let csv =
                "address,amount\n".to_owned() + &support::shop::payouts::evm_address(1) + ",10\n";
            let fields = json!({ "network": "polygon", "currency": "usdtmatic", "csv": csv });
            let refused = client.post(EVM, &fields).await;
            assert_eq!(kind(&refused), (422, "limit_exceeded".to_owned()), "{}", refused.body);
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merchant_at_its_own_payout_limit_delays_only_its_own_orders() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let (limited, other) = (Payer::open(&stack).await, Payer::open(&stack).await);
        let (ctl, id) = (Ctl::of(&stack), limited.merchant.new.id.to_string());
        let set = ["payouts", "limits", &id, "--hour-usd", "11", "--day-usd", "500"];
        let limits = ctl.json(&set).await;
        assert_eq!(
            (&limits["merchant_hour_usd"], &limits["merchant_day_usd"]),
            (&json!(11), &json!(500))
        );
        assert_eq!(ctl.json(&["payouts", "limits", &id]).await, limits);
        let nobody = "00000000-0000-7000-8000-000000000000";
        ctl.run(&["payouts", "limits", nobody]).await.expect_failure("no merchant has the id");

        let order = funded(&limited).await;
        let waits = eventually("the second row waits", async || {
            limited.story(&order).await.order.waits_for
        })
        .await;
        assert!(
            waits.contains("limit of an hour of one merchant, 11 USD, 1.00 are left"),
            "{waits}"
        );
        let others = funded(&other).await;
        other.becomes(&others, "completed").await;
        assert_eq!(limited.story(&order).await.payments.len(), 1);
        // A higher limit is obeyed without a restart.
        ctl.run(&["payouts", "limits", &id, "--hour-usd", "1000"]).await.expect_ok();
        limited.becomes(&order, "completed").await;
    })
    .await;
}

/// A litecoin is worth 80 USD in the sandbox: two rows of one coin fit into 200 USD, three do not.
async fn draft_of_five_litecoin(payer: &Payer) -> String {
    let row = |n: u32| json!({ "address": LTC, "amount": "1", "reference": n.to_string() });
    let items: Vec<_> = (0..5).map(row).collect();
    let fields = json!({
        "network": "litecoin", "currency": "ltc", "refundAddress": LTC_REFUND, "items": items,
    });
    let draft = payer.draft(UTXO, fields).await;
    assert_eq!(draft["batchCount"], 3, "{draft}");
    draft["id"].as_str().unwrap().to_owned()
}

async fn paid_in(payer: &Payer, payments: usize) {
    let id = draft_of_five_litecoin(payer).await;
    let order = payer.confirm(UTXO, &id).await;
    payer.fund(&order, order["totalToSendRaw"].as_str().unwrap().parse().unwrap()).await;
    assert_eq!(payer.becomes(&id, "completed").await.payments.len(), payments);
    assert_eq!(payer.received_on_chain("litecoin").await[LTC], (5, "500000000".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_above_the_limit_is_paid_by_several_transactions() {
    let toml = only(Network::Litecoin) + "payouts.transaction_usd_max = 200\n";
    with_configured_stack(&toml, |stack| async move {
        stack.start_all();
        paid_in(&Payer::open(&stack).await, 3).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_above_a_limit_that_was_lowered_later_is_split_while_signing() {
    with_configured_stack(&only(Network::Litecoin), |stack| async move {
        let payers = stack.sibling("payouts.transaction_usd_max = 100\n");
        let others: Vec<_> = Role::ALL
            .into_iter()
            .filter(|role| ![Role::RateRefresher, Role::PayoutBatch].contains(role))
            .collect();
        stack.start(&others);
        stack.start_on(&payers, &[Role::PayoutBatch]);
        let mut payer = Payer::open(&stack).await;
        let api = stack.replica("payouts.transaction_usd_max = 200\n").await;
        payer.merchant.client = Client::new(api).with_key(payer.merchant.new.api_key.reveal());
        paid_in(&payer, 5).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_orders_are_open_at_once_than_the_quota() {
    let toml = only(Network::Polygon) + "payouts.open_orders_max = 3\n";
    with_configured_stack(&toml, |stack| async move {
        let client = stack.merchant().await.client;
        let rows = two_rows();
        let answers =
            futures_util::future::join_all((0..10).map(|_| client.post(EVM, &rows))).await;
        let created: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
        assert_eq!(created.len(), 3);
        for refused in answers.iter().filter(|answer| answer.status != 201) {
            assert_eq!(kind(refused), (429, "quota_exceeded".to_owned()), "{}", refused.body);
        }
        let other = stack.merchant().await.client.post(EVM, &rows).await;
        assert_eq!(other.status, 201, "{}", other.body);
        let ended = created[0].json()["data"]["id"].as_str().unwrap().to_owned();
        let cancelled = client.post(&format!("{EVM}/{ended}/cancel"), &json!({})).await;
        assert_eq!(cancelled.status, 200, "{}", cancelled.body);
        let again = client.post(EVM, &rows).await;
        assert_eq!(again.status, 201, "{}", again.body);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_signed_for_a_suspended_merchant_until_he_is_resumed() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(EVM, &id).await;
        stack.gateway.set_suspended(payer.merchant.new.id, true).await.unwrap();
        payer.fund(&order, order["totalToSendRaw"].as_str().unwrap().parse().unwrap()).await;
        let waits = eventually("it waits", async || payer.story(&id).await.order.waits_for).await;
        assert_eq!(waits, "its merchant is suspended");
        let story = payer.story(&id).await;
        assert_eq!((story.order.state.as_str(), story.payments.len()), ("funded", 0));
        stack.gateway.set_suspended(payer.merchant.new.id, false).await.unwrap();
        let row = story.order.id;
        let wallet = gateway::app::payout::Wallet::open(&stack.gateway).unwrap();
        stack.gateway.advance_payout(row, &wallet).await.unwrap();
        payer.becomes(&id, "completed").await;
    })
    .await;
}

/// A new quote is at new prices: a row that no limit lets pass any more must not hold its order.
#[tokio::test(flavor = "multi_thread")]
async fn a_quote_that_puts_a_row_above_a_limit_is_not_refreshed() {
    let toml = only(Network::Polygon) + "payouts.transaction_usd_max = 15\n";
    with_configured_stack(&toml, |stack| async move {
        let payer = Payer::open(&stack).await;
        let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
        stack.sql("update rate set price = price * 2 where symbol = 'USDT'").await;
        let path = format!("{EVM}/{id}/refresh-quote");
        let refused = eventually("the new price is known", async || {
            let answer = payer.merchant.client.post(&path, &json!({})).await;
            (answer.status != 200).then_some(answer)
        })
        .await;
        assert_eq!(kind(&refused), (422, "limit_exceeded".to_owned()), "{}", refused.body);
        let rows = refused.json()["error"]["details"].clone();
        assert_eq!((&rows[0]["row"], rows.as_array().unwrap().len()), (&json!(1), 1), "{rows}");
    })
    .await;
}
