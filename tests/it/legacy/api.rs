//! Commands: transactions from creation to their end, rates, balances.

use gateway::serve::Limits;
use serde_json::{Value, json};
use support::{
    client::Client,
    server::{
        broker::eventually,
        stack::{Stack, with_stack},
    },
    shop::with_shop,
};

use super::{Legacy, order};

async fn number(stack: &Stack, statement: &'static str) -> i64 {
    let mut connection = stack.database.connect().await;
    sqlx::query_scalar(statement).fetch_one(&mut connection).await.unwrap()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} of {value}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_goes_from_creation_to_complete() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let legacy = Legacy::of(&shop.stack, &shop.merchant).await;
        let fields = [
            ("buyer_name", "Ada (Byron)"),
            ("item_name", "2 × tea"),
            ("item_number", "T-2"),
            ("invoice", "A-1"),
            ("custom", "blue & green"),
            ("success_url", "https://shop.example/thanks"),
        ];
        let made = legacy.result("create_transaction", &order(&fields)).await;
        assert_eq!(text(&made, "amount"), "12.50000000");
        let txn_id = text(&made, "txn_id").to_owned();
        assert_eq!(txn_id.len(), 26);
        assert!(made["timeout"].as_u64().unwrap() > 60, "{made}");
        assert!(text(&made, "confirms_needed").parse::<u64>().is_ok(), "{made}");
        let payment_id = text(&made, "checkout_url").rsplit('/').next().unwrap().to_owned();
        let v1 = shop.payment(&payment_id).await;
        assert_eq!(v1["pay_address"], made["address"]);
        assert_eq!((&v1["order_id"], &v1["order_description"]), (&json!("A-1"), &json!("2 × tea")));

        let waiting = legacy.result("get_tx_info", &[("txid", &txn_id), ("full", "1")]).await;
        assert_eq!((waiting["status"].as_i64(), text(&waiting, "coin")), (Some(0), "USDT.POL"));
        assert_eq!(text(&waiting, "status_text"), "Waiting for buyer funds...");
        assert_eq!(
            (waiting["amount"].as_u64(), text(&waiting, "amountf")),
            (Some(1_250_000_000), "12.50000000")
        );
        assert_eq!(
            (waiting["received"].as_u64(), text(&waiting, "receivedf")),
            (Some(0), "0.00000000")
        );
        assert_eq!(waiting["payment_address"], made["address"]);
        let checkout = &waiting["checkout"];
        assert_eq!((text(checkout, "custom"), text(checkout, "amountf")), ("blue & green", "12.5"));
        assert_eq!(text(checkout, "email"), "ada@example.com");

        shop.pay(&payment_id, "12.5").await;
        let by_other_id = [("txid", payment_id.as_str())];
        let complete = eventually("it is complete", async || {
            let info = legacy.result("get_tx_info", &by_other_id).await;
            (info["status"] == 100).then_some(info)
        })
        .await;
        assert_eq!(text(&complete, "status_text"), "Complete");
        assert_eq!(complete["received"].as_u64(), Some(1_250_000_000));
        assert!(complete["recv_confirms"].as_u64().unwrap() > 0, "{complete}");
        let balances = legacy.result("balances", &[]).await;
        let usdt = &balances["USDT.POL"];
        assert_eq!(
            (usdt["balance"].as_u64(), text(usdt, "balancef")),
            (Some(1_250_000_000), "12.50000000")
        );
        let all = legacy.result("balances", &[("all", "1")]).await;
        assert_eq!(all["BNB.BSC"]["balance"].as_u64(), Some(0), "{all}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_that_cannot_be_paid_are_refused_and_leave_nothing() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let legacy = Legacy::of(&stack, &stack.merchant().await).await;
        for (field, value, said) in [
            ("amount", "0", "Transaction amount must be greater than 0"),
            ("amount", "", "Transaction amount must be greater than 0"),
            ("amount", "-1", "Transaction amount is not a usable number"),
            ("amount", "ten", "Transaction amount is not a usable number"),
            ("amount", "0.000001", "Amount too small, there would be nothing left!"),
            ("currency1", "QQQ", "Invalid currency code for currency1"),
            ("currency2", "USDT", "Invalid currency code for currency2"),
            ("currency2", "USDT.NEAR2", "Invalid currency code for currency2"),
            ("currency2", "usdtton", "Receiver does not accept that coin!"),
            (
                "address",
                "0x52908400098527886E0F7030069857D2E4169EE7",
                "Forwarding to another address is not supported!",
            ),
            ("ipn_url", "ftp://shop.example/ipn", "Invalid value for ipn_url"),
            ("success_url", "javascript:alert(1)", "Invalid value for success_url"),
            ("custom", "a\0b", "Invalid value for custom"),
        ] {
            legacy.refusal("create_transaction", &order(&[(field, value)]), said).await;
        }
        let anonymous = legacy.answer("create_transaction", &order(&[("buyer_email", "")])).await;
        let said = anonymous.json()["error"].as_str().unwrap().to_owned();
        assert!(said.starts_with("No 'buyer_email' set!"), "{said}");
        assert_eq!(number(&stack, "select count(*) from invoice").await, 0);
        assert_eq!(number(&stack, "select count(*) from legacy_payment").await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prices_may_be_in_the_paid_coin_or_in_another() {
    with_stack(|stack| async move {
        let legacy = Legacy::of(&stack, &stack.merchant().await).await;
        let same = order(&[("currency1", "USDT.POL"), ("amount", "12.300000000000000004")]);
        let made = legacy.result("create_transaction", &same).await;
        // Six decimals are all that this token has.
        assert_eq!(text(&made, "amount"), "12.30000100");
        let other = order(&[("currency1", "ETH"), ("amount", "0.01")]);
        let made = legacy.result("create_transaction", &other).await;
        // The sandbox's ETH is at 3000 dollars.
        assert_eq!(text(&made, "amount"), "30.00000000");
        let full = [("txid", text(&made, "txn_id")), ("full", "1")];
        let checkout = legacy.result("get_tx_info", &full).await["checkout"].take();
        assert_eq!((text(&checkout, "currency"), text(&checkout, "amountf")), ("ETH", "0.01"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_are_listed_newest_first_and_other_merchants_have_none_of_them() {
    with_stack(|stack| async move {
        let (mine, other) = (stack.merchant().await, stack.merchant().await);
        let legacy = Legacy::of(&stack, &mine).await;
        let stranger = Legacy::of(&stack, &other).await;
        let mut made = Vec::new();
        for _ in 0..3 {
            let one = legacy.result("create_transaction", &order(&[])).await;
            made.push(text(&one, "txn_id").to_owned());
        }
        made.reverse();
        assert_eq!(legacy.result("get_tx_ids", &[]).await, json!(made));
        let page = legacy.result("get_tx_ids", &[("limit", "1"), ("start", "1")]).await;
        assert_eq!(page, json!([made[1]]));
        let all = legacy.result("get_tx_ids", &[("all", "1"), ("limit", "1")]).await;
        assert_eq!(all, json!([{ "txid": made[0], "user_is": "seller" }]));
        let newer = legacy.result("get_tx_ids", &[("newer", "99999999999999")]).await;
        assert_eq!(newer, json!([]));
        assert_eq!(stranger.result("get_tx_ids", &[]).await, json!([]));
        stranger.refusal("get_tx_info", &[("txid", &made[0])], "Transaction not found").await;
        let ids = format!("{}|none|{}", made[0], made[1]);
        let several = legacy.result("get_tx_info_multi", &[("txid", &ids)]).await;
        assert_eq!(several[&made[0]]["error"], "ok");
        assert_eq!(several[&made[1]]["amountf"], "12.50000000");
        assert_eq!(several["none"], json!({ "error": "Transaction not found" }));
        let many = vec!["x"; 26].join("|");
        let said = "No more than 25 transactions can be looked up at once!";
        legacy.refusal("get_tx_info_multi", &[("txid", &many)], said).await;
        // An invoice of /v1 is found by its own id.
        let body =
            json!({ "price_amount": 20, "price_currency": "usd", "pay_currency": "usdtmatic" });
        let v1 = mine.client.post("/v1/payment", &body).await.json();
        let id = v1["payment_id"].as_str().unwrap();
        let info = legacy.result("get_tx_info", &[("txid", id), ("full", "1")]).await;
        assert_eq!(
            (&info["checkout"]["currency"], text(&info, "amountf")),
            (&json!("USD"), "20.00000000")
        );
        stranger.refusal("get_tx_info", &[("txid", id)], "Transaction not found").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rates_are_in_bitcoin_and_say_which_coins_the_merchant_takes() {
    with_stack(|stack| async move {
        let settings = gateway::merchant::settings::Settings {
            accepted: Some(vec!["usdtmatic@polygon".to_owned()]),
            ..Default::default()
        };
        let legacy = Legacy::of(&stack, &stack.merchant_with(settings).await).await;
        let rates = legacy.result("rates", &[("accepted", "1")]).await;
        assert_eq!(text(&rates["BTC"], "rate_btc"), "1.000000000000000000000000");
        assert_eq!(
            (&rates["BTC"]["accepted"], &rates["USDT.POL"]["accepted"]),
            (&json!(0), &json!(1))
        );
        assert_eq!(
            (&rates["USD"]["is_fiat"], &rates["ETH"]["can_convert"]),
            (&json!(1), &json!(0))
        );
        assert_eq!(rates["USDT.POL"]["capabilities"], json!(["payments"]));
        let short = legacy.result("rates", &[("short", "1")]).await;
        assert!(short["BTC"].get("name").is_none() && short["BTC"].get("accepted").is_none());
        let accepted = legacy.result("rates", &[("accepted", "2")]).await;
        assert_eq!(accepted.as_object().unwrap().keys().collect::<Vec<_>>(), ["USDT.POL"]);
        let refused = order(&[("currency2", "TRX")]);
        legacy.refusal("create_transaction", &refused, "Receiver does not accept that coin!").await;
        // Clients convert by way of bitcoin also where it is not sold.
        let without = "chains.bitcoin.source = \"off\"\n";
        let client = Client::new(stack.replica_within(Limits::default(), without).await);
        let legacy = Legacy { client, keys: legacy.keys };
        let rates = legacy.result("rates", &[("accepted", "1")]).await;
        assert_eq!(text(&rates["BTC"], "rate_btc"), "1.000000000000000000000000");
        assert_eq!(
            (&rates["BTC"]["accepted"], &rates["BTC"]["capabilities"]),
            (&json!(0), &json!([]))
        );
        let refused = order(&[("currency2", "BTC")]);
        legacy.refusal("create_transaction", &refused, "Receiver does not accept that coin!").await;
    })
    .await;
}
