//! Withdrawals: payout orders of one recipient in the dialect.

use std::collections::BTreeMap;

use gateway::{
    app::sandbox::simulate::{Deposit, PaidIn, Payee},
    asset::Network,
};
use serde_json::{Value, json};
use support::{
    server::{
        broker::eventually,
        stack::{only, with_configured_stack, with_stack},
    },
    shop::{Shop, payouts::evm_address, receiver::Received, with_configured_shop},
};
use url::form_urlencoded;

use super::{Legacy, hmac};

const PERMISSION: &str = "This API Key does not have permission to use that command!";
const COMMANDS: [&str; 5] = [
    "create_withdrawal",
    "create_mass_withdrawal",
    "cancel_withdrawal",
    "get_withdrawal_history",
    "get_withdrawal_info",
];

pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} of {value}"))
}

fn told(shop: &Shop, received: &Received) -> BTreeMap<String, String> {
    let secret = shop.merchant.new.webhook_secret.reveal();
    assert_eq!(received.header("hmac"), hmac(secret, &received.body));
    form_urlencoded::parse(&received.body).into_owned().collect()
}

async fn info(legacy: &Legacy, id: &str) -> Value {
    legacy.result("get_withdrawal_info", &[("id", id)]).await
}

async fn fund(shop: &Shop, made: &Value) {
    let address = text(made, "deposit_address").to_owned();
    let deposit = Deposit {
        payee: Payee::Address { network: Network::Polygon, address },
        paid_in: PaidIn { currency: Some("USDTMATIC".to_owned()), contract: None },
        amount: text(made, "deposit_amount").to_owned(),
        txid: None,
        unconfirmed: false,
    };
    shop.send(&deposit).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawal_is_ordered_funded_paid_and_told() {
    with_configured_shop("", Default::default(), |shop| async move {
        let roles = shop.stack.under_roles().await;
        roles.start_all();
        shop.stack.lift_rate_limits().await;
        let legacy = Legacy::at(&shop.stack, &shop.merchant, roles.api).await;
        let (recipient, url) = (evm_address(1), shop.receiver.url.clone());
        let order = [
            ("amount", "12.5"),
            ("currency", "USDT.POL"),
            ("address", recipient.as_str()),
            ("auto_confirm", "1"),
            ("add_tx_fee", "1"),
            ("note", "wages"),
            ("ipn_url", url.as_str()),
        ];
        let made = legacy.result("create_withdrawal", &order).await;
        assert_eq!((&made["status"], text(&made, "amount")), (&json!(1), "12.50000000"));
        let id = text(&made, "id").to_owned();
        assert_eq!(id.len(), 26);
        let waiting = info(&legacy, &id).await;
        assert_eq!(text(&waiting, "status_text"), "Waiting for its deposit");
        assert_eq!(text(&waiting, "send_txid"), "");
        // The fees come on top.
        let due: f64 = text(&made, "deposit_amount").parse().unwrap();
        assert!(due > 12.5, "{made}");
        assert_eq!(text(&made, "net_amount"), "12.50000000");
        fund(&shop, &made).await;
        let complete = eventually("it is paid", async || {
            Some(info(&legacy, &id).await).filter(|info| info["status"] == 2)
        })
        .await;
        assert_eq!(text(&complete, "status_text"), "Complete");
        assert_eq!(complete["amount"].as_u64(), Some(1_250_000_000));
        assert_eq!((text(&complete, "coin"), text(&complete, "note")), ("USDT.POL", "wages"));
        assert!(text(&complete, "send_address").eq_ignore_ascii_case(&recipient), "{complete}");
        assert!(text(&complete, "send_txid").starts_with("0x"), "{complete}");
        let history = legacy.result("get_withdrawal_history", &[]).await;
        assert_eq!(history, json!([complete]));

        let received = shop.receiver.wait_for(3).await;
        let told: Vec<_> = received.iter().map(|one| told(&shop, one)).collect();
        let statuses: Vec<_> = told.iter().map(|one| one["status"].as_str()).collect();
        assert_eq!(statuses, ["1", "1", "2"], "{told:?}");
        let last = &told[2];
        for (name, value) in [
            ("ipn_type", "withdrawal"),
            ("id", id.as_str()),
            ("currency", "USDT.POL"),
            ("amount", "12.50000000"),
            ("amounti", "1250000000"),
            ("txn_id", text(&complete, "send_txid")),
        ] {
            assert_eq!(last[name], value, "{name}");
        }
        // /v1 knows it as the order that it is.
        let path = format!("/v1/evm-mass-payout/{}", text(&complete, "payout_id"));
        let v1 = shop.merchant.client.get(&path).await.json();
        assert_eq!(v1["data"]["state"], "completed", "{v1}");
        let said = "The withdrawal is Complete and cannot be cancelled any more!";
        legacy.refusal("cancel_withdrawal", &[("id", &id)], said).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_without_auto_confirm_waits_for_its_merchant_and_can_be_cancelled() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let (mine, other) = (stack.merchant().await, stack.merchant().await);
        let legacy = Legacy::of(&stack, &mine).await;
        let stranger = Legacy::of(&stack, &other).await;
        let recipient = evm_address(1);
        let order = [("amount", "5"), ("currency", "USDT.POL"), ("address", recipient.as_str())];
        let made = legacy.result("create_withdrawal", &order).await;
        assert_eq!(made["status"], json!(0));
        assert!(made.get("deposit_address").is_none(), "{made}");
        let id = text(&made, "id").to_owned();
        let shown = info(&legacy, &id).await;
        assert_eq!(text(&shown, "status_text"), "Waiting for confirmation by the merchant");
        for cmd in ["get_withdrawal_info", "cancel_withdrawal"] {
            stranger.refusal(cmd, &[("id", &id)], "Withdrawal not found").await;
            let longer = format!("{id}0");
            for unknown in ["", "none", "\0", "a\0b", "%00", "🦀", longer.as_str()] {
                legacy.refusal(cmd, &[("id", unknown)], "Withdrawal not found").await;
            }
        }
        assert_eq!(stranger.result("get_withdrawal_history", &[]).await, json!([]));
        // Confirmed with the other face.
        let path = format!("/v1/evm-mass-payout/{}/confirm", text(&made, "payout_id"));
        assert_eq!(mine.client.post(&path, &json!({})).await.status, 200);
        assert_eq!(info(&legacy, &id).await["status"], json!(1));
        for _ in 0..2 {
            let done = legacy.result("cancel_withdrawal", &[("id", &id)]).await;
            assert_eq!(done, json!([]));
        }
        let cancelled = info(&legacy, &id).await;
        assert_eq!(
            (&cancelled["status"], text(&cancelled, "status_text")),
            (&json!(-1), "Cancelled")
        );
        let none = legacy.result("get_withdrawal_history", &[("newer", "99999999999999")]).await;
        assert_eq!(none, json!([]));
    })
    .await;
}

/// Attack: clients that write `False` as their language does would have everything confirmed.
#[tokio::test(flavor = "multi_thread")]
async fn only_a_yes_confirms_a_withdrawal() {
    with_stack(|stack| async move {
        let legacy = Legacy::of(&stack, &stack.merchant().await).await;
        let recipient = evm_address(1);
        for (auto_confirm, status) in
            [("False", 0), ("FALSE", 0), ("None", 0), ("0", 0), ("True", 1), ("1", 1)]
        {
            let order = [
                ("amount", "5"),
                ("currency", "USDT.POL"),
                ("address", recipient.as_str()),
                ("auto_confirm", auto_confirm),
                ("add_tx_fee", "False"),
            ];
            let made = legacy.result("create_withdrawal", &order).await;
            assert_eq!(made["status"], json!(status), "{auto_confirm}");
            if status == 1 {
                assert_eq!(text(&made, "deposit_amount"), "5.00000000", "{auto_confirm}");
            }
            // The fees come off what the recipient gets, and that is said before it is confirmed.
            let net: f64 = text(&made, "net_amount").parse().unwrap();
            assert!(net > 0.0 && net < 5.0, "{made}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_withdrawn_is_refused_with_its_reason_and_leaves_nothing() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let legacy = Legacy::of(&stack, &stack.merchant().await).await;
        let own = legacy.result("get_deposit_address", &[("currency", "USDT.POL")]).await;
        let (own, recipient) = (text(&own, "address").to_owned(), evm_address(1));
        let usual = [("amount", "12.5"), ("currency", "USDT.POL"), ("address", recipient.as_str())];
        for (field, value, said) in [
            ("amount", "", "Transaction amount must be greater than 0"),
            ("amount", "0", "Transaction amount must be greater than 0"),
            ("amount", "-1", "Transaction amount is not a usable number"),
            ("amount", "0.000001", "Amount too small, there would be nothing left!"),
            ("amount", "0.0000001", "Amount too small, there would be nothing left!"),
            ("currency", "QQQ", "Invalid currency code for currency"),
            ("currency", "SOL", "That coin cannot be withdrawn here!"),
            ("currency2", "QQQ", "Invalid currency code for currency2"),
            ("address", "", "Invalid value for address"),
            ("address", "none", "Invalid withdrawal: address is not an address of this network"),
            ("pbntag", "$ada", "$PayByName tags and domains are not supported!"),
            ("domain", "ada.example", "$PayByName tags and domains are not supported!"),
            ("dest_tag", "7", "Invalid value for dest_tag"),
            ("note", "a\u{7}b", "Invalid value for note"),
            ("auto_confirm", "2", "Invalid value for auto_confirm"),
            ("add_tx_fee", "2", "Invalid value for add_tx_fee"),
            ("ipn_url", "ftp://shop.example/ipn", "Invalid value for ipn_url"),
        ] {
            let order = [usual.as_slice(), &[(field, value)]].concat();
            legacy.refusal("create_withdrawal", &order, said).await;
        }
        let to_own = [usual.as_slice(), &[("address", own.as_str())]].concat();
        let refused = legacy.answer("create_withdrawal", &to_own).await.json();
        assert!(text(&refused, "error").contains("belongs to this gateway"), "{refused}");
        let huge = [usual.as_slice(), &[("amount", "99999999")]].concat();
        let refused = legacy.answer("create_withdrawal", &huge).await.json();
        assert!(text(&refused, "error").contains("above the limit"), "{refused}");
        let mut connection = stack.database.connect().await;
        let orders: i64 = sqlx::query_scalar("select count(*) from payout_order")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(orders, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_amount_may_be_in_another_currency_and_fees_are_deducted_or_added() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.lift_rate_limits().await;
        let legacy = Legacy::of(&stack, &stack.merchant().await).await;
        let recipient = evm_address(1);
        let order = |more: &[(&'static str, &'static str)]| {
            let usual = [("currency", "USDT.POL"), ("auto_confirm", "1")];
            let mut order: Vec<(&str, &str)> = [usual.as_slice(), more].concat();
            order.push(("address", recipient.as_str()));
            order
        };
        let usd = order(&[("amount", "20"), ("currency2", "USD")]);
        let made = legacy.result("create_withdrawal", &usd).await;
        assert_eq!(text(&made, "amount"), "20.00000000");
        // The recipient bears the fees: no more than the amount is to be sent.
        assert_eq!(text(&made, "deposit_amount"), "20.00000000");
        // A script computes with floats: 0.1 + 0.2, 0.7 - 0.1 and the like.
        for (sent, ordered) in [
            ("3.0000000000000004", "3.00000000"),
            ("2.9999999999999996", "2.99999900"),
            ("3.1234567", "3.12345600"),
        ] {
            let made = legacy.result("create_withdrawal", &order(&[("amount", sent)])).await;
            assert_eq!((text(&made, "amount"), text(&made, "deposit_amount")), (ordered, ordered));
            let both = order(&[("amount", sent), ("currency2", "USDT.POL")]);
            let made = legacy.result("create_withdrawal", &both).await;
            assert_eq!(text(&made, "amount"), ordered);
        }
        // Python's word for no currency.
        let none = order(&[("amount", "7"), ("currency2", "None")]);
        let made = legacy.result("create_withdrawal", &none).await;
        assert_eq!(text(&made, "amount"), "7.00000000");
        // The sandbox's ETH is at 3000 dollars.
        let eth = order(&[("amount", "0.01"), ("currency2", "ETH"), ("add_tx_fee", "1")]);
        let made = legacy.result("create_withdrawal", &eth).await;
        assert_eq!(text(&made, "amount"), "30.00000000");
        assert_ne!(text(&made, "deposit_amount"), "30.00000000");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_without_the_permission_and_gateways_without_payouts_refuse_withdrawals() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let keys = stack.gateway.issue_legacy_keys(merchant.new.id, false).await.unwrap();
        let legacy = Legacy::with(keys, stack.api);
        for cmd in COMMANDS {
            legacy.refusal(cmd, &[], PERMISSION).await;
        }
        legacy.result("get_deposit_address", &[("currency", "USDT.POL")]).await;
    })
    .await;
    with_configured_stack("payouts.enabled = false\n", |stack| async move {
        let legacy = Legacy::of(&stack, &stack.merchant().await).await;
        for cmd in COMMANDS {
            legacy.refusal(cmd, &[], PERMISSION).await;
        }
    })
    .await;
}

/// Two people decide about what is above the limit: the shop is told that it waits for them.
#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawal_that_people_hold_says_so() {
    with_configured_shop("", Default::default(), |shop| async move {
        shop.stack.lift_rate_limits().await;
        let legacy = Legacy::of(&shop.stack, &shop.merchant).await;
        let recipient = evm_address(1);
        let order = [
            ("amount", "12.5"),
            ("currency", "USDT.POL"),
            ("address", recipient.as_str()),
            ("auto_confirm", "1"),
        ];
        let made = legacy.result("create_withdrawal", &order).await;
        shop.run("update payout_order set held_at = now(), hold_reason = 'two people decide'")
            .await;
        let held = info(&legacy, text(&made, "id")).await;
        assert_eq!((&held["status"], text(&held, "status_text")), (&json!(1), "Held for review"));
    })
    .await;
}
